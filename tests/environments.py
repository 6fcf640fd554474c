"""Virtual environments with packages of PyPI, for tests of what others have published."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

INSTALL_LIMIT_S = 600
PATIENT = ("--retries=10", "--timeout=60")
"""The network may be slow, and hang up now and then."""


def make_environment(folder: Path, *packages: str, alone: tuple[str, ...] = ()) -> Path:
    """Make an environment and return its interpreter.

    Args:
        folder: what is in it is deleted first.
        packages: names with versions, or options of pip, installed with what they need.
        alone: names with versions, installed without what they need.

    Raises:
        subprocess.CalledProcessError: a package cannot be installed.
    """
    venv.create(folder, clear=True)  # without pip, which takes seconds: that of this environment does
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    for options, names in ((), packages), (("--no-deps",), alone):
        if names:
            install(python, *options, *names)
    return python


def install(python: Path, *words: str) -> None:
    """Install with uv, in a tenth of pip's time; with pip where uv is missing or fails."""
    # uv does not read pip's settings, such as another index.
    start = [sys.executable, "-m"]
    if find_spec("uv"):
        command = [*start, "uv", "pip", "install", "--quiet", "--python", str(python), *words]
        if subprocess.run(command, check=False, timeout=INSTALL_LIMIT_S).returncode == 0:
            return
    command = [*start, "pip", "--python", str(python), "install", "--quiet", *PATIENT, *words]
    subprocess.run(command, check=True, timeout=INSTALL_LIMIT_S)
