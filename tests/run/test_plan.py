from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.config import config_from
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.members import builtin_registry
from pytest_browsereval.run.plan import Plan

MakePlan = Callable[..., Plan]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakePlan:
    """Makes the plan of a config over the rows or lines given."""
    monkeypatch.chdir(tmp_path)
    registry = builtin_registry()

    def make(*rows: dict[str, Any] | str, **keys: Any) -> Plan:
        lines = [line if isinstance(line, str) else json.dumps(line) for line in rows]
        (tmp_path / "rows.jsonl").write_text("".join(f"{line}\n" for line in lines))
        value = {"agent": "noop", "dataset": "rows.jsonl", "graders": ["answer"], **keys}
        value = {key: given for key, given in value.items() if given is not None}
        return Plan(config_from(value, path=tmp_path / "eval.yaml", registry=registry), registry, {})

    return make


def row(query_id: str, **more: Any) -> dict[str, Any]:
    return {"query_id": query_id, "query": "q", "answer": "a", **more}


def names(plan: Plan, *only: str) -> list[str]:
    return [entry.name for entry in plan.entries(only or None)]


def test_rows_come_first_then_variants_then_trials(plan: MakePlan) -> None:
    """Names tell row, variant and trial, each only where there are several."""
    assert names(plan(row("a"), row("b c"))) == ["a", "b+20c"]
    assert names(plan(row("a"), trials=2)) == ["a[1]", "a[2]"]
    several = plan(row("a"), row("b"), agent=None, variants={"x": "noop", "y": "noop"}, trials=2)
    assert names(several)[:5] == ["a[x-1]", "a[x-2]", "a[y-1]", "a[y-2]", "b[x-1]"]


def test_named_rows_are_found_without_the_others(plan: MakePlan) -> None:
    """A row that is asked for by its name is found though another line is broken."""
    made = plan(row("a"), "broken", row("b c"))
    assert names(made, "b+20c") == ["b+20c"]
    assert made.find("b+20c").ref.line == 3
    with pytest.raises(DatasetError, match=r"rows.jsonl:2: not JSON"):
        names(made)


def test_a_limit_counts_rows_from_the_start(plan: MakePlan) -> None:
    """A row behind the limit is not found by its name either."""
    made = plan(row("a"), row("b"), row("c"))
    made.limit = 2
    assert names(made) == ["a", "b"]
    assert names(made, "c") == []
    assert names(made, "b") == ["b"]


def test_names_that_were_cut_are_found(plan: MakePlan) -> None:
    """An id too long for a name is found by its cut name."""
    made = plan(row("x" * 300), row("y" * 300))
    first, second = names(made)
    assert names(made, second) == [second]
    assert made.find(first).ref.query_id == "x" * 300


def test_dependencies_are_checked(plan: MakePlan) -> None:
    """A row may depend on a row that is not selected, not on one that is not there."""
    rows = [row("login"), row("buy", depends_on=["login"])]
    keep = {"dataset": [{"path": "rows.jsonl", "select": {"ids": ["buy"]}}]}
    made = plan(*rows, **keep)
    made.check(list(made.entries()))
    made = plan(*rows, row("pay", depends_on=["by"]))
    with pytest.raises(DatasetError, match=r"row 'pay': depends_on: no row 'by'\. Did you mean 'buy'\?"):
        made.check(list(made.entries()))


def test_bad_rows_are_told_once(plan: MakePlan) -> None:
    """Several variants and trials of a wrong row make one line; five are told, the others counted."""
    made = plan(*[row(f"r{n}", tags="x") for n in range(8)], trials=3)
    with pytest.raises(DatasetError) as caught:
        made.check(list(made.entries()))
    assert str(caught.value).splitlines() == [
        *[f"rows.jsonl:{line}: tags: expected a list, not 'x'." for line in range(1, 6)],
        "and 3 more",
    ]
