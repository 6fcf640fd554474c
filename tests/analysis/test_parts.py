"""Whether a run has a result of each of its trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.analysis.parts import lacking
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from tests.labelled import write_run
from tests.recorded import attempt


def lacks(store: RunStore) -> str | None:
    """Return what the rule says that is missed."""
    rule = lacking(StoredRun(store.root))
    return None if rule is None else rule.message


@pytest.mark.parametrize(
    ("selected", "skipped", "message"),
    [(1, 0, None), (3, 2, None), (3, 0, "2 of the run's 3 trials have no result")],
)
def test_trials_without_a_result(tmp_path: Path, selected: int, skipped: int, message: str | None) -> None:
    """They are missed, but for those that a fixture or a mark has skipped."""
    store = write_run(tmp_path / "run", attempt("a"))
    store.write_summary({"selected": selected, "skipped": skipped})
    assert lacks(store) == message


def test_a_run_that_was_ended(tmp_path: Path) -> None:
    """Nobody knows what it lacks, unless its manifest says how many trials there were to be."""
    store = write_run(tmp_path / "run", attempt("a"))
    (store.root / "summary.json").unlink(missing_ok=True)
    ended = "the run was ended before its summary.json was written"
    assert lacks(store) == f"{ended}: the number of missing trials is unknown"
    store.write_manifest({"selected": 2})
    assert lacks(RunStore(store.root)) == f"{ended}: 1 of the run's 2 trials have no result"
