"""A run to label, served, and a browser to label it in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.labelling.labels import LabelBook
from pytest_browsereval.features.labelling.server import LabellingServer
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.runs.run import StoredRun
from tests.labelled import folder_of, grade, graded, write_course, write_run
from tests.recorded import FAILED, PASSED

HOSTILE = '<script>document.title = "owned"</script><img src=x onerror="document.title=\'owned\'">'


@pytest.fixture
def book(tmp_path: Path) -> LabelBook:
    """Return Anna's book of three attempts; the second one is hostile in all its texts."""
    reasons: dict[str, Any] = {"reasoning": f"It is wrong. {HOSTILE}", "fingerprint": "j/1"}
    hostile: dict[str, Any] = {"query": HOSTILE, "final_answer": HOSTILE}
    attempts = [
        graded("a", grade("judge", FAILED, **reasons), query="Do a.", start_url="http://shop.test/"),
        graded("b", grade("judge", PASSED, **reasons), start_url="javascript:alert(1)", **hostile),
        graded("c", grade("judge", PASSED, **reasons), query="Do c.", final_answer=None),
    ]
    store = write_run(tmp_path / "run", *attempts)
    task = Task(query_id="a", query="Do a.", answer="29.90", checks=({"text": "in the cart"},))
    click = ("click", {"target": "e1"}, "Clicked.")
    write_course(folder_of(store, "a"), click, ("done", {}, "Done."), task=task)
    write_course(folder_of(store, "b"), (HOSTILE, {"target": HOSTILE}, f"Nothing {HOSTILE}"))
    return LabelBook(store.root / "labels.jsonl", StoredRun(store.root).attempts, "anna")


@pytest.fixture
def served(book: LabelBook) -> Iterator[LabellingServer]:
    """Return the server of the book, which is open."""
    with LabellingServer(book, "run") as server:
        yield server
