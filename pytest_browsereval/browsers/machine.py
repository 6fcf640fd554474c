"""Checks of this machine: its system, and whether Playwright's own Node can start."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

_MISSING_LIBRARY = re.compile(r"error while loading shared libraries: ([^\s:]+):")

_USUAL_LIBRARY = "libatomic.so.1"
"""What Playwright's Node needs and a bare Debian does not have; all else comes with apt itself."""

_NODE_PATIENCE_S = 30.0


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
    node = node or driver_node()

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
        why = f"lacks the shared library {library!r}"
        # A bare machine lacks more than this: the command installs all of it, or names it in one go.
        remedy = f"the command that installs your system's package with {library}"
        if shutil.which("apt-get") and library == _USUAL_LIBRARY:
            remedy = "browsereval install-browser"
    return (
        f"Playwright's driver cannot start: its Node {node!r} {why}. "
        f"No browser can be driven without it. Type:\n  {remedy}"
    )
