"""Browsers and drivers that are killed leave nothing in the folder for temporary files."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.hooks.small_evals import Evals, row
from tests.support import until

KILL = """
import os
import psutil

def solve(context):
    victim = {victim!r}
    if victim == "itself":
        os.kill(os.getpid(), 9)
    for process in psutil.Process().children(recursive=True):
        line = process.cmdline()
        is_browser = any("user-data-dir" in word for word in line) and not any("--type=" in w for w in line)
        if (victim == "browser" and is_browser) or (victim == "driver" and "run-driver" in line):
            process.kill()
    return "right"
"""
MINE = {"type": "function", "function": "mine:solve"}


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an empty folder for temporary files, with a path as short as usual."""
    folder = Path(tempfile.mkdtemp(prefix="t"))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    shutil.rmtree(folder)


def uses(process: psutil.Process, folder: Path) -> bool:
    try:
        return any(str(folder) in word for word in process.cmdline())
    except psutil.Error:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["browser", "driver", "nobody"])
def test_nothing_stays_of_what_was_killed(evals: Evals, temporary: Path, victim: str) -> None:
    """Profiles and artifacts go with the run, whoever has lost the process that would have removed them."""
    (evals.path / "mine.py").write_text(KILL.format(victim=victim))
    evals.write([row("a", says=None), row("b", says=None)], agent=MINE, browser="playwright")
    evals.run_process("-p", "no:cacheprovider")
    assert os.listdir(temporary) == []  # noqa: PTH208


@pytest.mark.slow
def test_the_next_start_removes_what_a_killed_run_has_left(evals: Evals, temporary: Path) -> None:
    """Nobody was left to remove it: the next run of anything does."""
    (evals.path / "mine.py").write_text(KILL.format(victim="itself"))
    evals.write([row("a", says=None)], agent=MINE, browser="playwright")
    evals.run_process("-p", "no:cacheprovider")
    left = [entry.name for entry in temporary.iterdir()]
    assert left
    assert all(name.startswith("browsereval-") for name in left)
    asyncio.run(until(lambda: not any(uses(process, temporary) for process in psutil.process_iter())))
    evals.write([row("a")])
    assert evals.run_process("-p", "no:cacheprovider").ret == 0
    assert os.listdir(temporary) == []  # noqa: PTH208
