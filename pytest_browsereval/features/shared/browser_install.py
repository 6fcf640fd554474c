"""Installs a browser: takes what is there, else Playwright's download, else the system's package."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_browsereval.browsers.binary import VARIABLE, Binary
from pytest_browsereval.browsers.machine import driver_trouble
from pytest_browsereval.errors import ErrorSource, Fault, StopRun
from pytest_browsereval.features.shared.browser_binary import find_binary

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
    has_sudo: bool = True

    def as_root(self, *words: str) -> str:
        """Return a line to type here, with ``sudo`` where it is needed and there is one."""
        return shlex.join(words if self.is_root or not self.has_sudo else ("sudo", *words))

    def apt_get(self, *arguments: str) -> str:
        """Return the apt-get line to type here."""
        return self.as_root("apt-get", *arguments)


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
        has_sudo=shutil.which("sudo") is not None,
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

    async def run(self, command: list[str], limit_s: float) -> bool:
        """Run a command; its output is kept for the final message if it fails."""
        line = shlex.join(command)
        self.say(f"running  {line}")
        code, output = await _run(command, limit_s)
        if code != 0:
            ended = f"exit code {code}" if code is not None else f"not done after {limit_s:g} s"
            self.failures += [f"  {line}", f"    {ended}", *_telling_lines(output)]
        return code == 0

    async def apt_install(self, *packages: str) -> bool:
        """Install packages of the system without what they merely recommend."""
        if not self.lists_are_fresh:
            # An update that fails (a broken third-party source, say) may still leave lists that will do.
            self.lists_are_fresh = await self.run(["apt-get", "update", *_LOCK_WAIT], _APT_S)
        command = ["apt-get", "install", "-y", "--no-install-recommends", *_LOCK_WAIT, *packages]
        return await self.run(command, _APT_S)

    async def prove(self) -> Binary | None:
        """Return the browser that now starts, if one does and can draw text."""
        try:
            binary = await find_binary()
            if not binary.draws_text and self.may_use_apt and await self.apt_install(_FONTS):
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
        await work.apt_install(_DRIVER_LIBRARY)
    if trouble := await driver_trouble():
        raise Fault(ErrorSource.BROWSER, _without_driver(work, trouble))
    if os.environ.get(VARIABLE):
        return await find_binary()  # nothing that is installed could stand in for a named browser
    for step in (_nothing, _download, _from_system):
        if await step(work) and (binary := await work.prove()) is not None:
            return binary
    raise Fault(ErrorSource.BROWSER, _by_hand(work))


async def _nothing(work: _Installation) -> bool:
    work.say("looking for a browser that works")
    return True


async def _download(work: _Installation) -> bool:
    return await work.run([sys.executable, "-m", "playwright", "install", _SHELL], _DOWNLOAD_S)


async def _from_system(work: _Installation) -> bool:
    if not work.may_use_apt:
        return False
    if work.machine.is_ubuntu:  # its chromium packages only fetch a snap; libraries are what it can give
        command = [sys.executable, "-m", "playwright", "install-deps", _SHELL]
        return await work.run(command, _APT_S)
    return await work.apt_install(_SHELL) or await work.apt_install("chromium")


async def _run(command: list[str], limit_s: float) -> tuple[int | None, str]:
    """Return the exit code (None: not done in time) and the output; nothing of it is left running."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        # A group of its own, which is ended as a whole: apt and others start more of them.
        start_new_session=True,
    )
    output = b""
    try:
        output, _ = await asyncio.wait_for(process.communicate(), limit_s)
    except TimeoutError:
        return None, ""
    finally:
        if process.returncode is None:
            _end(process)
            await process.wait()
    return process.returncode, output.decode(errors="replace")


def _telling_lines(output: str) -> list[str]:
    lines = [line for line in output.splitlines() if line.strip() and not _STACK_LINE.match(line)]
    return [f"    {line.strip()}" for line in lines[-_LINES_SHOWN:]]


def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGTERM)


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
        driver = f"{machine.apt_get('update')} && {machine.apt_get('install', '-y', _DRIVER_LIBRARY)}"
        libraries = machine.as_root(*playwright, "install-deps", _SHELL)
        note = "  (Ubuntu's own chromium packages are stubs for a snap, which often cannot be driven)"
        return [f"  {driver} && {libraries} && {download.strip()}", named, note]
    if machine.is_debian:
        packages = (_SHELL, _DRIVER_LIBRARY, _FONTS)
        install = machine.apt_get("install", "-y", "--no-install-recommends", *packages)
        return [f"  {machine.apt_get('update')} && {install}", download, named]
    if machine.system == "darwin":
        return [download, "  brew install --cask google-chrome", named]
    return [download, named]
