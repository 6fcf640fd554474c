from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.shared.row_schema import row_schema

COMMAND = {"type": "command", "command": ["judge"]}
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
        {"graders": [COMMAND], "checks": [{"role": "x", "nam": 1}, {}]},
        {
            "graders": [{"type": "combined", "graders": ["answer", COMMAND]}],
            "checks": [{"text": "a", "x": 1}],
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
        {"queryId": "mug"},
        {"graders": ["answr"]},
        {"graders": [{"type": "answer", "matches": "number"}]},
        {"checks": [{"text": "a", "weight": 0}]},
        {"checks": [{"path": "cart", "tolerance": "a lot"}]},
        {"checks": ["2 items"]},
        {"checks": {"text": "2 items"}},
        {"solution": [{"target": "text=Buy"}]},
        {"metadata": {"site": "shop"}},
        {"requires_reset": "no way"},
    ]
    for change in cases:
        with subtests.test(change=change):
            row = {**ROW, **change}
            for form in (row, [ROW, row], {"tasks": [row]}):
                assert not check.is_valid(form), form
    assert not check.is_valid({"tasks": [ROW], "name": "shop"})
    assert not check.is_valid({"query": "What does it cost?"})
