from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_browsereval.builtins import builtin_registry
from pytest_browsereval.config import row_schema

ROW: dict[str, Any] = {"query_id": "mug", "query": "What does it cost?"}


@pytest.fixture(scope="module")
def check() -> Draft202012Validator:
    return Draft202012Validator(row_schema(builtin_registry()))


@pytest.mark.parametrize(
    "change",
    [
        {"graders": ["answer", {"type": "page_state", "mode": "lenient"}], "answer": 12.5, "tags": None},
        {"checks": [{"text": "2 items"}, {"path": "cart", "equals": []}, {"acme/colour": "red"}]},
        {"solution": [{"tool": "click", "target": "text=Buy"}, {"tool": "acme/press"}]},
        {"metadata": {"original_task_id": "1", "additional": {"ground_truth": "x"}}},
    ],
    ids=json.dumps,
)
def test_rows_are_accepted(check: Draft202012Validator, change: dict[str, Any]) -> None:
    """A row, a list of rows and a file with ``tasks`` are all fine."""
    row = {**ROW, **change}
    for form in (row, [row, row], {"tasks": [row]}, {"$schema": "rows.schema.json", "tasks": [row]}):
        assert [error.message for error in check.iter_errors(form)] == []


@pytest.mark.parametrize(
    "change",
    [
        {"question": "What?"},
        {"query": 3},
        {"query": ""},
        {"queryId": "mug"},
        {"graders": ["answr"]},
        {"graders": [{"match": "number"}]},
        {"graders": [{"type": "answer", "matches": "number"}]},
        {"graders": "answer"},
        {"checks": ["2 items"]},
        {"checks": {"text": "2 items"}},
        {"solution": [{"target": "text=Buy"}]},
        {"tags": "smoke"},
        {"metadata": {"site": "shop"}},
        {"requires_reset": "no way"},
    ],
    ids=json.dumps,
)
def test_mistakes_are_refused(check: Draft202012Validator, change: dict[str, Any]) -> None:
    """In each of the forms that a file may have."""
    row = {**ROW, **change}
    for form in (row, [ROW, row], {"tasks": [row]}):
        assert not check.is_valid(form), form


def test_other_keys_beside_tasks_are_refused(check: Draft202012Validator) -> None:
    """As the reader refuses them."""
    assert not check.is_valid({"tasks": [ROW], "name": "shop"})
    assert not check.is_valid({"query": "What does it cost?"})
