"""The runners that we compare with, each in an environment of its own, made when it is first asked for.

They lie in ``benchmarks/.environments`` and are kept. Remove that folder to have them made anew.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".environments"
INSTALL_LIMIT_S = 900
NEEDS: dict[str, tuple[str, ...]] = {
    "pytest-playwright": (
        f"playwright=={version('playwright')}",  # the driver that ours has
        f"pytest=={version('pytest')}",
        "pytest-playwright==0.10.0",
        "pytest-xdist==3.8.0",
    ),
    "browsergym": ("browsergym-miniwob==0.14.3",),  # this brings Playwright 1.44, which it insists on
}
"""What is installed, by the name of the environment; the versions that the figures are of."""


class NotMeasured(Exception):
    """A runner cannot be measured here; the text says why."""


def python_of(name: str) -> Path:
    """Return the interpreter of an environment, which is made unless it is there already.

    Raises:
        NotMeasured: it cannot be made.
    """
    folder = FOLDER / name
    python = folder / "bin" / "python"
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two benchmarks may want it at once
        made_of = folder / "made_of.txt"
        wanted = "\n".join((sys.version, *NEEDS[name]))
        if not made_of.is_file() or made_of.read_text(encoding="utf-8") != wanted:
            _make(folder, python, NEEDS[name])
            made_of.write_text(wanted, encoding="utf-8")
    return python


def _make(folder: Path, python: Path, needs: tuple[str, ...]) -> None:
    print(f"Installing {', '.join(needs)} into {folder} ...", file=sys.stderr, flush=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needs]
    try:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_LIMIT_S)
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout or "no reason given").strip().splitlines()[-1:]
        raise NotMeasured(f"{', '.join(needs)} cannot be installed: {' '.join(last)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMeasured(f"{', '.join(needs)} cannot be installed: {error}") from error


def versions(python: Path, *names: str) -> dict[str, str]:
    """Return the versions of packages in an environment."""
    script = "import sys\nfrom importlib.metadata import version\nprint(*map(version, sys.argv[1:]))"
    done = subprocess.run([python, "-c", script, *names], check=True, capture_output=True, text=True)
    return dict(zip(names, done.stdout.split(), strict=True))
