from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.shared.row_schema import row_schema
from pytest_browsereval.graders.page_state import PAGE_CHECKS, read_page_check
from pytest_browsereval.graders.state_diff import read_state_check

ROW: dict[str, Any] = {"query_id": "mug", "query": "What does it cost?"}


@pytest.fixture(scope="module")
def check() -> Draft202012Validator:
    return Draft202012Validator(row_schema(builtin_registry()))


def test_rows_are_accepted(check: Draft202012Validator, subtests: pytest.Subtests) -> None:
    """A row, a list of rows and a file with ``tasks`` are all fine."""
    cases: list[dict[str, Any]] = [
        {"graders": ["answer", {"type": "page_state", "mode": "lenient"}], "answer": 12.5, "tags": None},
        {"checks": [{"text": "2 items"}, {"path": "cart", "equals": []}, {"acme/colour": "red"}]},
        {"graders": ["page_state"], "checks": [{"role": "heading", "count": 2, "weight": 0.5}]},
        {"graders": ["page_state"], "checks": [{"url": {"contains": "/order"}}, {"text": "a", "weight": 2}]},
        {"checks": [{"js": "1", "path": "a.b", "number": 1, "tolerance": 0.1}]},
        {
            "checks": [
                {"storage": "local:shop", "exists": True},
                {"path": "day", "date": "2025", "day_first": True},
            ]
        },
        {"graders": [{"type": "command", "command": ["judge"]}], "checks": [{"role": "x", "nam": 1}, {}]},
        {
            "graders": [
                {
                    "type": "combined",
                    "name": "both",
                    "graders": ["answer", {"type": "command", "command": ["x"]}],
                }
            ],
            "checks": [{"text": "a", "colour": 1}],
        },
        {"solution": [{"tool": "click", "target": "text=Buy"}, {"tool": "acme/press"}]},
        {"metadata": {"original_task_id": "1", "additional": {"ground_truth": "x"}}},
    ]
    for change in cases:
        with subtests.test(change=change):
            row = {**ROW, **change}
            for form in (row, [row, row], {"tasks": [row]}, {"$schema": "rows.schema.json", "tasks": [row]}):
                assert [error.message for error in check.iter_errors(form)] == []


def test_mistakes_are_refused(check: Draft202012Validator, subtests: pytest.Subtests) -> None:
    """In each of the forms that a file may have."""
    cases: list[dict[str, Any]] = [
        {"question": "What?"},
        {"query": 3},
        {"query": ""},
        {"queryId": "mug"},
        {"graders": ["answr"]},
        {"graders": [{"match": "number"}]},
        {"graders": [{"type": "answer", "matches": "number"}]},
        {"graders": "answer"},
        {"checks": [{}]},
        {"checks": [{"text": "a"}, {"role": "button", "nam": "x"}]},
        {"checks": [{"text": {"nope": "a"}}], "graders": ["page_state"]},
        {"checks": [{"text": "a", "url": "b"}], "graders": ["page_state", {"type": "answer"}]},
        {"checks": [{"text": "a", "weight": 0}]},
        {"checks": [{"text": "a", "weight": -1}]},
        {"checks": [{"path": "cart"}]},
        {"checks": [{"equals": 1}]},
        {"checks": ["2 items"]},
        {"checks": {"text": "2 items"}},
        {"solution": [{"target": "text=Buy"}]},
        {"tags": "smoke"},
        {"metadata": {"site": "shop"}},
        {"requires_reset": "no way"},
    ]
    for change in cases:
        with subtests.test(change=change):
            row = {**ROW, **change}
            for form in (row, [ROW, row], {"tasks": [row]}):
                assert not check.is_valid(form), form


def test_other_keys_beside_tasks_are_refused(check: Draft202012Validator) -> None:
    """As the reader refuses them."""
    assert not check.is_valid({"tasks": [ROW], "name": "shop"})
    assert not check.is_valid({"query": "What does it cost?"})


ANYTHING: list[Any] = [None, "", [], 1]
COMPARISONS: list[dict[str, Any]] = [
    *({"equals": value} for value in ANYTHING),
    *({"not_equals": value} for value in (None, 2)),
    *({"contains": value} for value in ("a", "", None, 0)),
    *({"regex": value} for value in ("^a", "", 1)),
    *({"one_of": value} for value in (["a"], [], "a")),
    *({"set_equals": value} for value in (["a"], [], "a")),
    *({kind: value} for kind in ("number", "min", "max") for value in (1, -0.5, "1", None, True)),
    *({"date": value} for value in ("2025-03-04", "2025")),
    *({"exists": value} for value in (True, False, 1, "yes")),
    *({"number": 1, "tolerance": value} for value in (0, 0.5, -1, "a")),
    *({"date": "2025-03-04", "day_first": value} for value in (True, "yes")),
    {"equals": 1, "tolerance": 1},
    {"number": 1, "day_first": True},
    {"equals": 1, "contains": "a"},
    {"tolerance": 1},
    {"equls": 1},
    {},
]
VALUES: dict[str, list[Any]] = {
    **{kind: ["a", "", None, 1, [], *COMPARISONS] for kind in ("url", "title", "text")},
    "role": ["button", "", "two words", 1, None],
    "js": ["1 + 1", "", " ", 1],
    "storage": ["local:a", "session:b", "local:", "cookie:a", "a", 1],
}
BESIDE_VALUES: list[dict[str, Any]] = [
    *({"weight": value} for value in (1, 0.5, 0, -1, "1", None)),
    *({"name": value} for value in ("a", None, 1)),
    *({"count": value} for value in (0, 2, -1, 1.5, "2", None)),
    *({"path": value} for value in ("a.b", None, 1)),
    {"nam": "a"},
    {"text": "a"},
    {"equals": 1},
]


def list_checks() -> list[dict[str, Any]]:
    """Return checks that are right and checks that are wrong in each way, one at a time."""
    found: list[dict[str, Any]] = []
    for kind, form in PAGE_CHECKS.items():
        base = {"equals": 1} if form.compares else {}
        found += ({kind: value, **base} for value in VALUES[kind])
        good = VALUES[kind][0]
        found += ({kind: good, **base, **more} for more in BESIDE_VALUES)
        found += ({kind: good, **comparison} for comparison in COMPARISONS)
    found += ({"path": "a", **comparison} for comparison in COMPARISONS)
    found += ({"path": value, "equals": 1} for value in ("a", "", " ", None, 1))
    found += (
        {"path": "a", "equals": 1, **more} for more in BESIDE_VALUES if not {"path", "text"} & more.keys()
    )
    return found


def can_be_read(check: dict[str, Any]) -> bool:
    try:
        (read_page_check if PAGE_CHECKS.keys() & check.keys() else read_state_check)(check)
    except ValueError:
        return False
    return True


def test_checks_are_those_that_the_graders_read(check: Draft202012Validator) -> None:
    """An editor marks what the graders refuse, and nothing else."""
    checks = list_checks()
    rows = [{**ROW, "graders": ["page_state"], "checks": [one]} for one in checks]
    readable = [can_be_read(one) for one in checks]
    assert sum(readable) > 60
    assert len(readable) - sum(readable) > 100
    differing = [
        (one, "read" if is_read else "refused")
        for one, row, is_read in zip(checks, rows, readable, strict=True)
        if check.is_valid(row) != is_read
    ]
    assert differing == []
