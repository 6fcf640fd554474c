"""Parts of a run: a whole one is not made of some of them unless somebody says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.analysis.parts import lacking
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.merge.merge import merge_runs
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from tests.features.merge.test_merge import part
from tests.recorded import FAILED, attempt

ROWS = {1: "ab", 2: "cd", 3: "ef"}


def shard(folder: Path, number: int, *, rows: str | None = None, **more: Any) -> RunStore:
    """Write a third of a run."""
    parts = Parts(**{"of": 3, "have": (number,), "trials": (2, 2, 2), **more})
    attempts = [attempt(name) for name in (ROWS[number] if rows is None else rows)]
    store = part(folder, *attempts, selected=2, shards=parts.as_json(), config={"gate": {"min_pass_rate": 1}})
    (folder / "tasks").mkdir(exist_ok=True)
    return store


@pytest.fixture
def thirds(tmp_path: Path) -> list[Path]:
    """Return the folders of all three parts."""
    return [shard(tmp_path / str(number), number).root for number in ROWS]


def test_a_lost_part_is_missed(
    thirds: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine that dies leaves no folder: without it the others would meet a gate of all."""
    given, whole = [*map(str, thirds[:2])], str(tmp_path / "whole")
    assert main(["merge", *given, "-o", whole]) == 4
    told = capsys.readouterr().err
    assert "missing: shard 3/3 (2 trials or more). Run what is missing" in told
    assert f"browsereval merge --partial {given[0]} {given[1]} -o {whole}" in told
    assert not Path(whole).exists()
    with pytest.raises(UsageError, match=r"one run cannot be merged alone"):
        merge_runs(thirds[:1], tmp_path / "whole")


def test_a_partial_run_meets_no_gate(
    thirds: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And says which part it lacks, until that comes."""
    given, some = [*map(str, thirds[:2])], str(tmp_path / "some")
    assert main(["merge", "--partial", *given, "-o", some]) == 0
    assert "2 not run" in capsys.readouterr().out
    assert main(["gate", some]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "NOT MET complete: 2 of the run's 6 trials have no result; shard 3/3 was missing when" in told
    assert main(["merge", some, str(thirds[2]), "-o", str(tmp_path / "whole")]) == 0
    assert StoredRun(tmp_path / "whole").count_selected() == 6
    assert main(["gate", str(tmp_path / "whole")]) == 0


def test_several_parts_are_missing(tmp_path: Path) -> None:
    """All of them are named; a run that is no part stands for none of them."""
    one, other = shard(tmp_path / "1", 1), part(tmp_path / "x", attempt("x"), selected=1)
    other_manifest = {**one.run.read_manifest(), "shards": None}
    (other.root / "manifest.json").unlink()
    other.write_manifest(other_manifest)
    with pytest.raises(UsageError, match=r"missing: shards 2/3, 3/3 \(4 trials"):
        merge_runs([one.root, other.root], tmp_path / "whole")
    assert merge_runs([one.root, other.root], tmp_path / "whole", is_partial=True).selected == 7


def test_a_part_without_rows_leaves_no_run(tmp_path: Path) -> None:
    """A selection that has none of its rows: nothing is missing then."""
    runs = [shard(tmp_path / str(number), number, trials=(2, 2, 0)).root for number in (1, 2)]
    assert merge_runs(runs, tmp_path / "whole").selected == 4
    assert merge_runs(runs, tmp_path / "again", is_partial=True).selected == 4


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"of": 2, "trials": (3, 3)}, "one into 3 parts with .*, the other into 2 parts with 3, 3 trials"),
        ({"trials": (2, 1, 2)}, "with 2, 2, 2 trials, the other into 3 parts with 2, 1, 2 trials. Run all"),
        ({"by": "abcd"}, r"with 2, 2, 2 trials \(division abcd\)\. Run all parts with the same N"),
    ],
)
def test_unlike_divisions_are_refused(tmp_path: Path, more: dict[str, Any], told: str) -> None:
    """They would lack rows or have some twice, whether or not all numbers are there."""
    runs = [shard(tmp_path / "1", 1), shard(tmp_path / "2", 2, **more), shard(tmp_path / "3", 3)]
    for is_partial in (False, True):
        with pytest.raises(UsageError, match=told):
            merge_runs([run.root for run in runs], tmp_path / "whole", is_partial=is_partial)


def test_a_part_that_is_there_twice(thirds: list[Path], tmp_path: Path) -> None:
    """One that died and left nothing, or a copy, takes nothing away; other results are refused."""
    for name, rows in (("dead", ""), ("copy", "a")):
        again = shard(tmp_path / name, 1, rows=rows)
        assert merge_runs([*thirds, again.root], tmp_path / f"whole-{name}").selected == 6
        store = RunStore(tmp_path / f"whole-{name}")
        assert lacking(StoredRun(store.root)) is None
    other = part(tmp_path / "other", attempt("a", FAILED), selected=2, **StoredRun(thirds[0]).read_manifest())
    with pytest.raises(UsageError, match=r"different results .*: a \(1, other\)\. Parts"):
        merge_runs([*thirds, other.root], tmp_path / "no")
