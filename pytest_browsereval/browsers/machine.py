"""Checks of this machine: its system, and whether Playwright's own Node can start."""

from __future__ import annotations

import asyncio
import functools
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_MISSING_LIBRARY = re.compile(r"error while loading shared libraries: ([^\s:]+):")

_USUAL_LIBRARY = "libatomic.so.1"
"""What Playwright's Node needs and a bare Debian does not have; all else comes with apt itself."""

_NODE_PATIENCE_S = 30.0


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


def describe_memory_limit() -> str:
    """Return a sentence about a limit of address space, of which browsers and Node reserve much; else ""."""
    try:
        import resource
    except ImportError:  # Windows has none
        return ""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return ""
    return (
        f"The address space of a process is limited to {limit >> 20} MiB. Type `ulimit -v unlimited` first."
    )


@functools.cache
def driver_folder() -> Path | None:
    """Return the folder of Playwright's driver, found without importing Playwright."""
    spec = find_spec("playwright")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "driver"


def driver_node() -> str:
    """Return the Node that Playwright starts its driver with."""
    # Playwright reads the variable too, so the same Node is tried.
    return os.environ.get("PLAYWRIGHT_NODEJS_PATH", str((driver_folder() or Path()) / "node"))


async def driver_trouble(node: str | None = None) -> str | None:
    """Return why Playwright's driver cannot start and what to type, or None when it can.

    Playwright itself only says that a connection was closed. The usual cause is a bare Debian or
    Ubuntu, which lacks ``libatomic.so.1``.

    Args:
        node: the Node to try; Playwright's own by default.
    """
    node, machine = node or driver_node(), this_machine()

    def ask() -> subprocess.CompletedProcess[bytes]:
        command, limit_s = [node, "--version"], _NODE_PATIENCE_S
        return subprocess.run(  # noqa: S603 Playwright's
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False
        )

    try:
        done = await asyncio.to_thread(ask)
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        why = said[-1] if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    if not why:
        return None
    remedy = shlex.join([sys.executable, "-m", "pip", "install", "--force-reinstall", "playwright"])
    if missing := _MISSING_LIBRARY.search(why):
        library = missing.group(1)
        why = f"misses the shared library {library!r}"
        # A bare machine lacks more than this: the command installs all of it, or names it in one go.
        remedy = f"the command that installs the package of your system with {library} in it"
        if machine.is_debian and library == _USUAL_LIBRARY:
            remedy = "browsereval install-browser"
    return (
        f"Playwright's driver cannot start: its Node {node!r} {why}. "
        f"No browser can be driven without it. Type:\n  {remedy}"
    )
