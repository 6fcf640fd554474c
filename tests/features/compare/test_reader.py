"""The baseline that is read by a process of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.compare import reader
from pytest_browsereval.features.outcomes import read_outcomes
from tests.features.compare.test_compare import run
from tests.recorded import ERRORED, FAILED, PASSED, attempt

GATE = ("--eval-set", "gate.max_drop=0.1", "--baseline", "b")


@pytest.fixture(autouse=True)
def _runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two runs, which count as large ones."""
    monkeypatch.chdir(tmp_path)
    verdicts = (PASSED, FAILED, ERRORED, PASSED)
    for name, first in (("a", FAILED), ("b", PASSED)):
        under = attempt("1.under.review", FAILED, attack="review")
        run(Path(name), *(attempt(str(n), one) for n, one in enumerate((first, *verdicts))), under)
    monkeypatch.setattr(reader, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)


def fail(_: Path) -> NoReturn:
    """Raise: the process was to read it."""
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize("command", [("compare", "a", "b"), ("gate", "a", *GATE)])
def test_a_process_reads_the_same(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report is that of one process, which does not read the baseline too."""
    monkeypatch.setattr(reader, "WORTH_A_PROCESS", 1 << 40)
    code, report = main(command), capsys.readouterr().out
    monkeypatch.setattr(reader, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr(reader, "read_run", fail)
    assert (main(command), capsys.readouterr().out) == (code, report)


def test_what_goes_over_is_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each field of each trial, and the manifest, in several pieces."""
    monkeypatch.setattr(reader, "AT_ONCE", 2)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=written))
    reader.main(Path("a"))
    other, run = read_outcomes(Path("b")), read_outcomes(Path("a"))
    written.seek(0)
    found = reader.read_packed(written, Path("a"), other)
    assert found == run
    assert [one.query_id for one in found.trials] == [one.query_id for one in other.trials]
    # Equal texts of two runs are kept once.
    pairs = zip(found.trials, other.trials, strict=True)
    assert all(one.query_id is two.query_id and one.row_hash is two.row_hash for one, two in pairs)


@pytest.mark.parametrize("size", [0, 7, 8, 100, -1])
def test_a_process_that_is_cut_off_comes_to_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever that was."""
    monkeypatch.setattr(reader, "AT_ONCE", 2)
    written = io.BytesIO()
    reader.write_packed(run := read_outcomes(Path("a")), written)
    cut = io.BytesIO(written.getvalue()[:size])
    with pytest.raises((EOFError, ValueError, TypeError, LookupError)):
        reader.read_packed(cut, Path("a"), run)


def test_a_damaged_baseline_is_told_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    """A process that comes to nothing leaves the reading to this one."""
    next(Path("b").rglob("metadata.json")).write_text("{")
    assert main(["compare", "a", "b"]) == 4
    assert "metadata.json is damaged" in capsys.readouterr().err


def test_the_process_ends_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes on reading where the other run is refused."""
    begun: list[Any] = []
    original: Any = subprocess.Popen

    def begin(*args: Any, **keys: Any) -> Any:
        begun.append(original(*args, **keys))
        return begun[-1]

    monkeypatch.setattr(subprocess, "Popen", begin)
    with pytest.raises(UsageError, match="refused"), reader.read_beside(Path("b")):
        raise UsageError("refused")
    assert [process.poll() is not None for process in begun] == [True]
