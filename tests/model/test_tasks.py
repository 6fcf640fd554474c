"""What a row is told apart by."""

from __future__ import annotations

import pytest

from pytest_browsereval.model.tasks import JUDGED_BY, OTHER_KEYS, SITUATION, Task

OTHER_VALUES = {
    "query": "Buy two",
    "start_url": "http://shop.example/",
    "setup_script": "localStorage.clear()",
    "ready": {"text": "Welcome"},
    "sites": ["shop"],
    "files": ["cv.pdf"],
    "context": {"locale": "de-DE"},
    "clock": "2026-03-01T09:00",
    "graders": ["answer"],
    "answer": "2",
    "rubric": {"items": []},
    "checks": [{"text": "Thank you"}],
    "effects": "nothing",
    "milestones": [{"name": "cart", "check": {"text": "Cart"}}],
    "evals": [{"kind": "exact"}],
    "revision": 2,
}


def test_each_key_of_a_row_is_known_to_change_results_or_not() -> None:
    """A key in no list would be in no hash: an edited row would keep its old results."""
    assert sorted([*SITUATION, *JUDGED_BY, *OTHER_KEYS]) == sorted(Task.model_fields)


@pytest.mark.parametrize("key", [*SITUATION, *JUDGED_BY])
def test_an_edited_row_has_another_hash(key: str) -> None:
    """Each key that the agent works by, or that it is judged by."""
    row = {"query_id": "a", "query": "Buy one"}
    edited = {**row, key: OTHER_VALUES[key]}
    assert Task.model_validate(row).content_hash() != Task.model_validate(edited).content_hash()


def test_the_rest_of_a_row_may_change() -> None:
    """Tags and solutions change nothing of what was done and judged."""
    row = {"query_id": "a", "query": "Buy one"}
    more = {"tags": ["smoke"], "solution": [{"tool": "finish", "answer": "1"}], "level": 3, "dataset": "shop"}
    assert Task.model_validate(row).content_hash() == Task.model_validate({**row, **more}).content_hash()
