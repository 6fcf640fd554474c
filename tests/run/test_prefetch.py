"""Prefetching from a cold disk: all is looked at, readers find the same, and no process is left."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.run import prefetch
from pytest_browsereval.run.store import RunStore, TrialKey
from tests.hooks.conftest import evals
from tests.hooks.small_evals import Evals, row
from tests.recorded import attempt
from tests.support import PATIENCE_S

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
ROWS = 40

__all__ = ["evals"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run with an index of two files."""
    for worker in ("gw0", "gw1"):
        store = RunStore(tmp_path / "run", worker=worker)
        for number in range(ROWS):
            folder = store.begin_attempt(TrialKey(f"{worker}-{number}"), "n")
            metadata = attempt(query_id=f"{worker}-{number}", attempt=folder.number)
            (folder.path / "metadata.json").write_text(metadata.model_dump_json())
            folder.finish()
    return tmp_path / "run"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[psutil.Process]]:
    """Have every run count as a large one on a cold disk; return the programs that are started for them."""
    monkeypatch.setattr(prefetch, "WORTH_FORKS", 1)
    monkeypatch.setattr(prefetch, "_COLD_S", 0.0)
    found: list[psutil.Process] = []
    start = subprocess.Popen.__init__

    def started(self: Any, *args: Any, **options: Any) -> None:
        start(self, *args, **options)
        if prefetch.__file__ in self.args:
            found.append(psutil.Process(self.pid))

    monkeypatch.setattr(subprocess.Popen, "__init__", started)
    yield found
    assert not psutil.wait_procs(found, PATIENCE_S)[1]


def test_a_reader_finds_the_same(run: Path, started: list[psutil.Process]) -> None:
    """The program changes nothing of what is read; what it is not asked for, it does not begin."""
    expected = list(RunStore(run).attempts())
    assert not started
    with prefetch.prefetch_attempts(str(run)) as is_ahead:
        assert is_ahead
        found = list(RunStore(run).digests())
    assert [folder for folder, _ in found] == [folder for folder, _ in expected]
    assert len(found) == 2 * ROWS
    assert len(started) == 1  # the reader has its own block in that of the command


def test_a_record_that_has_changed_is_read_anew(run: Path, started: list[psutil.Process]) -> None:
    """Also where others have looked at it first."""
    folder, metadata = next(RunStore(run).attempts())
    changed = metadata.model_copy(update={"reason": "something else"})
    (folder / "metadata.json").write_text(changed.model_dump_json())
    assert dict(RunStore(run).digests())[folder].reason == "something else"
    assert len(started) == 1


@pytest.mark.parametrize("block", [1, 50, 333, 1 << 16])
def test_each_attempt_is_prefetched_once(run: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Wherever the parts begin that forks read, in the middle of a line for example."""
    looked: list[bytes] = []
    monkeypatch.setattr(prefetch, "BLOCK", block)
    monkeypatch.setattr(prefetch, "_look", lambda _, folders: looked.extend(folders))
    for number in range(prefetch.FORKS):
        prefetch._prefetch_part(str(run), number)
    folders = [folder.relative_to(run).as_posix().encode() for folder in RunStore(run).folders()]
    assert sorted(looked) == sorted(folders)


def test_the_program_runs_by_itself(run: Path) -> None:
    """It needs nothing of this package, and says nothing."""
    words = [sys.executable, "-I", "-S", prefetch.__file__, str(run)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_cannot_fork_does_all_itself(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on processes leaves no attempt on the disk."""
    looked: list[bytes] = []

    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(prefetch, "_look", lambda _, folders: looked.extend(folders))
    monkeypatch.setattr(os, "fork", refuse)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    prefetch._main(str(run))
    assert len(looked) == 2 * ROWS


@pytest.mark.parametrize(("least", "code"), [(0.5, 0), (1.0, 1)])
def test_a_gate_decides_the_same(
    evals: Evals, started: list[psutil.Process], monkeypatch: pytest.MonkeyPatch, least: float, code: int
) -> None:
    """The command starts one program for the run that it was given, and ends as it does without it."""
    evals.write_rows(row("a"), row("b"), row("c", answer="wrong"))
    evals.write_config()
    folder = evals.run("shop.eval.yaml").folder
    words = ["gate", str(folder), "--eval-set", f"gate.min_pass_rate={least}"]
    monkeypatch.setattr(sys, "argv", ["browsereval", *words])
    monkeypatch.setattr(gc, "set_threshold", lambda _: None)
    before = len(started)
    assert main() == code
    assert len(started) == before + 1
    monkeypatch.setattr(prefetch, "WORTH_FORKS", 1 << 30)
    assert main() == code
    assert len(started) == before + 1


def test_what_hangs_ends_with_the_reader(run: Path, started: list[psutil.Process]) -> None:
    """A fork that waits for ever, for a pipe in the place of a file for example, is left by nobody."""
    os.mkfifo(run / "summary.json")
    forks: list[psutil.Process] = []

    def read() -> None:
        with prefetch.prefetch_attempts(str(run)):
            while not forks:
                forks.extend(started[0].children())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read()
    assert not psutil.wait_procs(forks, PATIENCE_S)[1]


@pytest.mark.parametrize("lacking", ["no index", "few attempts", "no run", "not a folder", "a URL"])
def test_nothing_is_started_for_less(
    run: Path, started: list[psutil.Process], monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    """A small run, and what is no run at all, are read without it."""
    given = str(run)
    match lacking:
        case "no index":
            (run / "index").rename(run / "elsewhere")
        case "few attempts":
            monkeypatch.setattr(prefetch, "WORTH_FORKS", 1 << 20)
        case "no run":
            given = f"{run}-none"
        case "not a folder":
            given = __file__
        case _:
            given = "s3://bucket/evals"
    with prefetch.prefetch_attempts(given) as is_ahead:
        assert not is_ahead
    monkeypatch.undo()
    assert not started


def test_a_run_in_memory_needs_no_help(run: Path, started: list[psutil.Process]) -> None:
    """Whether the disk is cold is found out by a few attempts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefetch, "_COLD_S", PATIENCE_S)
        assert len(list(RunStore(run).digests())) == 2 * ROWS
    assert not started
