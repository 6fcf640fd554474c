"""Installs a browser: takes what is there, else Playwright's download, else the system's packages."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_browsereval.browsers.binary import VARIABLE, Binary
from pytest_browsereval.errors import ErrorSource, Fault, StopRun
from pytest_browsereval.features.shared.browser_binary import find_binary
from pytest_browsereval.features.shared.process import run_attached

_SHELL = "chromium-headless-shell"
"""Both Playwright's name and Debian's."""
_DRIVER_LIBRARY = "libatomic1"
_FONTS = "fonts-liberation"
_NO_ROOT = "If you cannot become root, use a container, with this project's Dockerfile for example."
_LIMIT_S = 1200.0
"""For one command."""
_STACK_LINE = re.compile(r"\s+at |\s+\w+: '?-?\w+'?,?$|\s*[{}]\s*$")
_LINES_SHOWN = 6

Way = Sequence[Sequence[str]]
"""Commands that bring a browser, one after the other."""


@dataclass(frozen=True)
class Machine:
    """The facts that decide how a browser gets onto this machine."""

    system: str
    """As in ``sys.platform``: ``linux``, ``darwin``."""
    is_debian: bool
    """It has apt-get and is Debian or one of its children."""
    is_ubuntu: bool
    """A child of Debian whose ``chromium`` packages are stubs for a snap."""
    is_root: bool


def this_machine() -> Machine:
    """Return the facts about the machine that this process runs on."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    names = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    return Machine(
        system=sys.platform,
        is_debian=bool(names & {"debian", "ubuntu"}) and shutil.which("apt-get") is not None,
        is_ubuntu="ubuntu" in names,
        is_root=hasattr(os, "geteuid") and os.geteuid() == 0,
    )


def list_ways(machine: Machine) -> list[Way]:
    """Return how a browser comes onto a machine like this, with what it and Playwright's driver need."""
    playwright = (sys.executable, "-m", "playwright")
    download = (*playwright, "install", _SHELL)
    update, install = ("apt-get", "update"), ("apt-get", "install", "-y", "--no-install-recommends")
    if machine.is_ubuntu:  # its chromium packages only fetch a snap; libraries are what it can give
        libraries = (*playwright, "install-deps", _SHELL)
        return [[update, (*install, _DRIVER_LIBRARY), libraries, download], [download]]
    if machine.is_debian:
        packages = [(*install, _DRIVER_LIBRARY, _FONTS, browser) for browser in (_SHELL, "chromium")]
        return [*([update, one] for one in packages), [download]]
    return [[download]]


def _needs_root(command: Sequence[str]) -> bool:
    return "apt-get" in command or "install-deps" in command


def describe_ways(machine: Machine) -> list[str]:
    """Return the same as lines to type, with ``sudo`` where it is needed, and what else there is."""
    lines = [
        " && ".join(
            shlex.join(("sudo", *one) if _needs_root(one) and not machine.is_root else one) for one in way
        )
        for way in list_ways(machine)
    ]
    if machine.system == "darwin":
        lines.append("brew install --cask google-chrome")
    lines.append(f"export {VARIABLE}=/path/of/chrome     (any Chromium or Chrome that is already installed)")
    return [f"  {line}" for line in lines]


async def install_browser(say: Callable[[str], None]) -> Binary:
    """Return a browser that starts on this machine, installing one if there is none.

    Doing it again changes nothing: a browser that starts is all that is asked for.

    Args:
        say: called with each line about what is being done.

    Raises:
        ConfigError: the environment names a browser that is not there.
        Fault: source *browser*; no browser could be had, and the message has the commands to type.
    """
    if os.environ.get(VARIABLE):
        return await find_binary()  # nothing that is installed could stand in for a named browser
    say("looking for a browser that works")
    machine, failures = this_machine(), list[str]()
    binary, why = await _prove()
    for way in sorted(list_ways(machine), key=lambda way: any(map(_needs_root, way))):
        if binary is None and (machine.is_root or not any(map(_needs_root, way))):
            failures += _run(way, say)
            binary, why = await _prove()
    if binary is not None:
        return binary
    state = why.partition(" Type:\n  browsereval")[0].splitlines()
    lacks_driver = "driver cannot start" in why  # then only packages help
    message = [
        "No browser could be installed.",
        *(line for line in state if "install-browser" not in line),
        *(["What was tried:", *failures] if failures else []),
        "Run one of these, then `browsereval doctor`:",
        *describe_ways(machine)[: 1 if lacks_driver else None],
        *([_NO_ROOT] if machine.is_debian and not machine.is_root else []),
    ]
    raise Fault(ErrorSource.BROWSER, "\n".join(message))


async def _prove() -> tuple[Binary | None, str]:
    """Return the browser that starts and can draw text, or why there is none."""
    try:
        binary = await find_binary()
    except StopRun as fault:
        return None, str(fault)
    is_usable = binary.draws_text
    return (binary, "") if is_usable else (None, f"{binary} starts, but has no font to draw text with.")


def _run(way: Way, say: Callable[[str], None]) -> list[str]:
    """Run commands up to one that fails, and return what is to be said of that.

    An update that fails, for a source that is gone, may still leave lists that will do.
    """
    failures: list[str] = []
    for command in way:
        line = shlex.join(command)
        say(f"running  {line}")
        waits = ["-o", "DPkg::Lock::Timeout=120"] if command[0] == "apt-get" else []
        # Nothing else goes on in the meantime, and so it may block.
        environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        code, output = run_attached([command[0], *waits, *command[1:]], _LIMIT_S, env=environ)
        if code != 0:
            ended = f"exit code {code}" if code is not None else f"not done after {_LIMIT_S:g} s"
            lines = [one.strip() for one in output.splitlines() if one.strip() and not _STACK_LINE.match(one)]
            failures += [f"  {line}", *(f"    {one}" for one in (ended, *lines[-_LINES_SHOWN:]))]
            if command[-1] != "update":
                break
    return failures
