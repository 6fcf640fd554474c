"""Search for a Chromium to launch: candidates in order, and the message when none starts.

Finding is cheap (does the file exist?) and proving is a launch, so the launch that proves a candidate
is the one that is used. Nothing is remembered on disk.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.machine import describe_memory_limit, driver_folder
from pytest_browsereval.errors import ConfigError, ErrorSource, StopRun
from pytest_browsereval.redaction.known import beginning

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserType

VARIABLE = "BROWSEREVAL_BROWSER"
"""The environment variable that names a browser: a path, or a program on PATH."""

_CONFIG_KEY = "browser.binary"
_PLAYWRIGHT = "Playwright"
_PATH = "PATH"
_INSTALLED = "installed"

_SHELL_NAMES = ("headless-shell", "headless_shell")
_CHROMES = ("google-chrome", "google-chrome-stable", "chrome")
_CHROMIUMS = ("chromium", "chromium-browser")

_OMNIBOX = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")
"""The full browser opens two pop-up pages, with a renderer, for each window unless these are off:
a third of its CPU per context (3.3 against 2.2 s for 15 contexts)."""

_FEATURE_FILES = ("coreBundle.js", "server/chromium/chromiumSwitches.js")
_FEATURE_LIST = re.compile(r"\bdisabledFeatures = (?:\([^)]*\) => )?\[(.*?)\]\.filter", re.DOTALL)
_FEATURE = re.compile(r'^\s*"([A-Za-z0-9]+)"', re.MULTILINE)

_NO_DISPLAY = "no display to show a window on"
_SAID = re.compile(r"\[err\] (.+)")
_ENDED = re.compile(r"process did exit: ([^>\n]+)>")
_REASON_LENGTH = 240
_FEATURES_OFF = "--disable-features="


@dataclass(frozen=True)
class Candidate:
    """A browser that may start; nothing has been launched yet."""

    name: str
    source: str
    """Where it was found: a config key, a variable, ``PATH``, ``Playwright`` or ``installed``."""
    path: Path | None = None
    """None: Playwright knows where its own browsers are."""
    channel: str | None = None
    """What Playwright calls it, for one of its own browsers."""
    is_headless_shell: bool = False

    @property
    def is_named(self) -> bool:
        """True when someone asked for this very browser, so that no other may stand in."""
        return self.source in {_CONFIG_KEY, VARIABLE}

    def __str__(self) -> str:
        """Return what a message calls it."""
        return f"{self.name} ({self.source}{f': {self.path}' if self.path else ''})"


@dataclass(frozen=True)
class Binary(Candidate):
    """A browser that has been launched."""

    version: str = ""
    draws_text: bool = True
    """False: there is no font, and pages with text crash. Only ``features.shared.browser_binary`` looks."""

    def __str__(self) -> str:
        """Return what the header and the manifest call it."""
        return super().__str__().replace(self.name, f"{self.name} {self.version}", 1)


def candidates(explicit: str | Path | None = None, *, headed: bool = False) -> list[Candidate]:
    """Return the browsers to try, best first, without launching any.

    A named browser is the only candidate: a wrong name never falls back to another browser.
    Playwright's own are always listed; launching one that is not there fails within milliseconds.

    Args:
        explicit: the config's ``binary``; it beats the environment variable.
        headed: leave out headless shells, which cannot show a window.

    Raises:
        ConfigError: the named browser does not exist, cannot be executed, or cannot do what is asked.
    """
    if explicit is not None:
        return [_find_named(str(explicit), _CONFIG_KEY, headed=headed)]
    if named := os.environ.get(VARIABLE):
        return [_find_named(named, VARIABLE, headed=headed)]
    found: dict[Path | str | None, Candidate] = {}
    for candidate in _in_order():
        if not (headed and candidate.is_headless_shell):
            # The same browser may be found under several names.
            found.setdefault(candidate.path.resolve() if candidate.path else candidate.channel, candidate)
    return list(found.values())


def _in_order() -> Iterator[Candidate]:
    yield from _on_path("Chromium headless shell", ("chromium-headless-shell",), is_headless_shell=True)
    yield Candidate(
        "Chromium headless shell", _PLAYWRIGHT, channel="chromium-headless-shell", is_headless_shell=True
    )
    yield Candidate("Chromium", _PLAYWRIGHT, channel="chromium")
    # Before the system's Chromium: on Ubuntu that is a stub for a snap.
    yield from _on_path("Google Chrome", _CHROMES[:2])
    for name, path in _usual_places(sys.platform):
        if path.is_file():
            yield Candidate(name, _INSTALLED, path)
    yield from _on_path("Chromium", _CHROMIUMS)


def _on_path(name: str, programs: Sequence[str], *, is_headless_shell: bool = False) -> Iterator[Candidate]:
    for program in programs:
        if path := shutil.which(program):
            yield Candidate(name, _PATH, Path(path), is_headless_shell=is_headless_shell)


def _usual_places(system: str) -> Iterator[tuple[str, Path]]:
    """Yield where installers put Chrome and Chromium, whether or not they are there."""
    chrome, chromium = "Google Chrome", "Chromium"
    if system == "darwin":
        for applications in (Path("/Applications"), Path.home() / "Applications"):
            for name in (chrome, chromium):
                yield name, applications / f"{name}.app" / "Contents" / "MacOS" / name
    else:
        yield chrome, Path("/opt/google/chrome/chrome")


def _find_named(given: str, source: str, *, headed: bool) -> Candidate:
    found = shutil.which(os.fspath(Path(given).expanduser()))
    if found is None:
        raise ConfigError(
            f"{source} is {given!r}, which is not a program that can be executed. Allowed: the path of a "
            f"Chromium or Chrome, or the name of one on PATH. Run `browsereval doctor` to see what is "
            f"found when {source} is not set."
        )
    is_shell = any(mark in Path(found).name for mark in _SHELL_NAMES)
    if headed and is_shell:
        raise ConfigError(
            f"{source} is {given!r}, a headless shell, which cannot show a window. Allowed with "
            f"--eval-headed: a full Chromium or Chrome. Leave --eval-headed out, or name such a browser."
        )
    is_chrome = Path(found).name.lower().startswith(("google", "chrome"))
    name = "Chromium headless shell" if is_shell else "Google Chrome" if is_chrome else "Chromium"
    return Candidate(name, source, Path(found), is_headless_shell=is_shell)


@functools.cache
def playwright_features_off() -> tuple[str, ...]:
    """Return the features that Playwright itself switches off; empty when its list cannot be read.

    They have to be repeated: a second ``--disable-features`` replaces the first one.
    """
    folder = driver_folder()
    for name in _FEATURE_FILES if folder else ():
        file = Path(folder or "") / "package" / "lib" / name
        listed = _FEATURE_LIST.search(file.read_text(errors="replace")) if file.is_file() else None
        if listed:
            return tuple(_FEATURE.findall(listed.group(1)))
    return ()


def launch_arguments(candidate: Candidate, *, headed: bool = False, args: Sequence[str] = ()) -> list[str]:
    """Return the switches to add to Playwright's own.

    ``--no-sandbox`` is not among them: Playwright adds it unless it is told ``chromium_sandbox=True``.
    Where Playwright's list of features cannot be read, its own switches stay as they are; then the
    full browser costs more CPU, and ``browsereval doctor`` says so.

    Args:
        candidate: what is to be launched.
        headed: whether its windows are shown.
        args: the user's own switches; features that they switch off are added to the others.
    """
    switches = ["--disable-quic"]  # one protocol for what is recorded, blocked and counted
    if not headed:
        switches.append("--disable-gpu")  # the same pictures on every machine
    theirs = [switch for switch in args if switch.startswith(_FEATURES_OFF)]
    features = [name for switch in theirs for name in switch.removeprefix(_FEATURES_OFF).split(",")]
    if not candidate.is_headless_shell:
        # Only the full browser has an address bar.
        features += _OMNIBOX
    own = playwright_features_off() if features else ()  # reading Playwright's list takes 40 ms
    if own:
        switches.append(_FEATURES_OFF + ",".join(dict.fromkeys([*own, *features])))
        return [*switches, *(switch for switch in args if switch not in theirs)]
    return [*switches, *args]


def launch_options(candidate: Candidate, *, headed: bool = False, args: Sequence[str] = ()) -> dict[str, Any]:
    """Return the keyword arguments for Playwright's ``chromium.launch``."""
    where = {"executable_path": candidate.path} if candidate.path else {"channel": candidate.channel}
    return {"headless": not headed, "args": launch_arguments(candidate, headed=headed, args=args), **where}


async def launch_first(
    chromium: BrowserType,
    tried_in_order: Sequence[Candidate],
    *,
    headed: bool = False,
    args: Sequence[str] = (),
    context: Mapping[str, Any] | None = None,
    **more: Any,
) -> tuple[Browser, Binary]:
    """Launch the candidates one after another and return the first that starts, still running.

    Args:
        chromium: ``playwright.chromium`` of a driver that runs.
        tried_in_order: from :func:`candidates`.
        headed: show the window.
        args: the user's own switches.
        context: launch it with a temporary profile whose context has these options of Playwright's,
            which is the one that other programs see; None leaves it to make contexts.
        more: further arguments of Playwright's ``launch``.

    Raises:
        StopRun: source *browser*; none starts, and the message says why not and what to type.
    """
    from playwright.async_api import Error  # takes 0.2 s

    tried: list[tuple[Candidate, str]] = []
    for candidate in tried_in_order:
        options = {**more, **launch_options(candidate, headed=headed, args=args)}
        try:
            browser = await _launch(chromium, context, options)
        except Error as error:
            tried.append((candidate, reason(str(error))))
        else:
            return browser, Binary(**vars(candidate), version=browser.version)
    raise StopRun(ErrorSource.BROWSER, no_browser_message(tried))


async def _launch(
    chromium: BrowserType, context: Mapping[str, Any] | None, options: dict[str, Any]
) -> Browser:
    if context is None:
        return await chromium.launch(**options)
    persistent = await chromium.launch_persistent_context("", **options, **context)
    assert persistent.browser is not None  # noqa: S101 only that of an Android device is None
    return persistent.browser


def reason(error: str) -> str:
    """Return the line of Playwright's launch error that says why a browser did not start."""
    if "executable doesn't exist" in error.lower() or "is not found at" in error:
        return "not installed"
    if "XServer" in error or "X server" in error or "platform failed to initialize" in error:
        return _NO_DISPLAY
    said: list[str] = [line for line in _SAID.findall(error) if "dbus" not in line]
    # A browser that lacks a library says so among warnings of all kinds.
    telling = [line for line in said if "error while loading shared libraries" in line]
    ended: list[str] = _ENDED.findall(error)
    lines = [*telling, *said, *ended, *error.splitlines(), "no reason given"]
    return beginning(lines[0].removeprefix("BrowserType.launch: "), _REASON_LENGTH)


def no_browser_message(tried: Sequence[tuple[Candidate, str]]) -> str:
    """Return what to say when no candidate started.

    Args:
        tried: every candidate with the reason why it did not start.
    """
    head = "No Chromium starts on this machine:"
    remedy = f"Run `browsereval install-browser` or set {VARIABLE} to the path of a Chromium or Chrome."
    if len(tried) == 1 and tried[0][0].is_named:
        source = tried[0][0].source
        head = "The configured browser does not start:"
        remedy = f"Name another one in {source}, or leave {source} out to search for one."
    if any(why == _NO_DISPLAY for _, why in tried):
        remedy += " Without a display, leave --eval-headed out or type xvfb-run before the command."
    remedy = describe_memory_limit() or remedy
    return "\n".join([head, *(f"  {candidate}: {why}" for candidate, why in tried), remedy])
