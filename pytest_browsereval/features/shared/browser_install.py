"""Installs a browser: takes what is there, else Playwright's download, else the system's package."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_browsereval.browsers.binary import VARIABLE, Binary
from pytest_browsereval.browsers.machine import driver_trouble
from pytest_browsereval.errors import ErrorSource, Fault, StopRun
from pytest_browsereval.features.shared.browser_binary import find_binary
from pytest_browsereval.features.shared.process import run_attached

_SHELL = "chromium-headless-shell"
"""Both Playwright's name and Debian's."""
_DRIVER_LIBRARY = "libatomic1"
_FONTS = "fonts-liberation"

_NO_ROOT = "If you cannot become root, use a container, with this project's Dockerfile for example."

_DOWNLOAD_S = 600.0
_APT_S = 1200.0
_LOCK_WAIT = ("-o", "DPkg::Lock::Timeout=120")

_STACK_LINE = re.compile(r"\s+at |\s+\w+: '?-?\w+'?,?$|\s*[{}]\s*$")
_LINES_SHOWN = 6


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

    def as_root(self, *words: str) -> str:
        """Return a line to type here, with ``sudo`` where it is needed."""
        return shlex.join(words if self.is_root else ("sudo", *words))


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


@dataclass
class _Installation:
    """One try to get a browser: what it says to the user, and what went wrong on the way."""

    say: Callable[[str], None]
    machine: Machine
    failures: list[str] = field(default_factory=list)
    unproved: str = ""
    lists_are_fresh: bool = False

    @property
    def may_use_apt(self) -> bool:
        """True where packages can be installed without asking for a password."""
        return self.machine.is_debian and self.machine.is_root

    def run(self, command: list[str], limit_s: float) -> bool:
        """Run a command; its output is kept for the final message if it fails."""
        line = shlex.join(command)
        self.say(f"running  {line}")
        # Nothing else goes on in the meantime, and so it may block.
        code, output = run_attached(command, limit_s, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        if code != 0:
            ended = f"exit code {code}" if code is not None else f"not done after {limit_s:g} s"
            self.failures += [f"  {line}", f"    {ended}", *_telling_lines(output)]
        return code == 0

    def apt_install(self, *packages: str) -> bool:
        """Install packages of the system without what they merely recommend."""
        if not self.lists_are_fresh:
            # An update that fails (a broken third-party source, say) may still leave lists that will do.
            self.lists_are_fresh = self.run(["apt-get", "update", *_LOCK_WAIT], _APT_S)
        command = ["apt-get", "install", "-y", "--no-install-recommends", *_LOCK_WAIT, *packages]
        return self.run(command, _APT_S)

    async def prove(self) -> Binary | None:
        """Return the browser that now starts, if one does and can draw text."""
        try:
            binary = await find_binary()
            if not binary.draws_text and self.may_use_apt and self.apt_install(_FONTS):
                binary = await find_binary()
        except StopRun as fault:
            self.unproved = str(fault)
            return None
        self.unproved = "" if binary.draws_text else f"{binary} starts, but has no font to draw text with."
        return None if self.unproved else binary


async def install_browser(say: Callable[[str], None]) -> Binary:
    """Return a browser that starts on this machine, installing one if there is none.

    Doing it again changes nothing: a browser that starts is all that is asked for.

    Args:
        say: called with each line about what is being done.

    Raises:
        ConfigError: the environment names a browser that is not there.
        Fault: source *browser*; no browser could be had, and the message has the commands to type.
    """
    work = _Installation(say, this_machine())
    if work.may_use_apt and await driver_trouble() is not None:
        work.apt_install(_DRIVER_LIBRARY)
    if trouble := await driver_trouble():
        raise Fault(ErrorSource.BROWSER, _without_driver(work, trouble))
    if os.environ.get(VARIABLE):
        return await find_binary()  # nothing that is installed could stand in for a named browser
    say("looking for a browser that works")
    if (binary := await work.prove()) is not None:
        return binary
    for step in (_download, _install_from_system):
        if step(work) and (binary := await work.prove()) is not None:
            return binary
    raise Fault(ErrorSource.BROWSER, _by_hand(work))


def _download(work: _Installation) -> bool:
    return work.run([sys.executable, "-m", "playwright", "install", _SHELL], _DOWNLOAD_S)


def _install_from_system(work: _Installation) -> bool:
    if not work.may_use_apt:
        return False
    if work.machine.is_ubuntu:  # its chromium packages only fetch a snap; libraries are what it can give
        return work.run([sys.executable, "-m", "playwright", "install-deps", _SHELL], _APT_S)
    return work.apt_install(_SHELL) or work.apt_install("chromium")


def _telling_lines(output: str) -> list[str]:
    lines = [line for line in output.splitlines() if line.strip() and not _STACK_LINE.match(line)]
    return [f"    {line.strip()}" for line in lines[-_LINES_SHOWN:]]


def _by_hand(work: _Installation) -> str:
    state = [line for line in work.unproved.splitlines() if "install-browser" not in line]
    remedy = ["Run one of these, then `browsereval doctor`:", *ways(work.machine)]
    return "\n".join(["No browser could be installed.", *state, *_tried(work), *remedy, *_no_root(work)])


def _without_driver(work: _Installation, trouble: str) -> str:
    """Return all that has to be typed where Playwright's driver does not start, so that nobody stops twice.

    No browser can be tried without the driver: what one would need is named with it.
    """
    if not work.machine.is_debian or "shared librar" not in trouble:
        return "\n".join([trouble, *work.failures])
    remedy = "Run this, then `browsereval install-browser`. It installs library, browser and font:"
    whole = [trouble.partition(" Type:")[0], *_tried(work), remedy, ways(work.machine)[0], *_no_root(work)]
    return "\n".join(whole)


def _tried(work: _Installation) -> list[str]:
    return ["What was tried:", *work.failures] if work.failures else []


def _no_root(work: _Installation) -> list[str]:
    return [_NO_ROOT] if work.machine.is_debian and not work.machine.is_root else []


def ways(machine: Machine) -> list[str]:
    """Return the commands that bring a browser onto a machine like this, each on a line of its own."""
    playwright = [sys.executable, "-m", "playwright"]
    download = "  " + shlex.join([*playwright, "install", _SHELL])
    named = f"  export {VARIABLE}=/path/of/chrome     (any Chromium or Chrome that is already installed)"
    if machine.is_ubuntu:
        update = machine.as_root("apt-get", "update")
        driver = f"{update} && {machine.as_root('apt-get', 'install', '-y', _DRIVER_LIBRARY)}"
        libraries = machine.as_root(*playwright, "install-deps", _SHELL)
        note = "  (Ubuntu's own chromium packages are stubs for a snap, which often cannot be driven)"
        return [f"  {driver} && {libraries} && {download.strip()}", named, note]
    if machine.is_debian:
        packages = (_SHELL, _DRIVER_LIBRARY, _FONTS)
        install = machine.as_root("apt-get", "install", "-y", "--no-install-recommends", *packages)
        return [f"  {machine.as_root('apt-get', 'update')} && {install}", download, named]
    if machine.system == "darwin":
        return [download, "  brew install --cask google-chrome", named]
    return [download, named]
