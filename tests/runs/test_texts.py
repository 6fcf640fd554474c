"""Long texts of a record, in files of the attempt's folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.runs.texts import LONGEST, put_back, take_out


def test_long_texts_come_back_as_they_were(tmp_path: Path) -> None:
    """At any depth, with two that are the same; a text of the longest length stays in the line."""
    long = "é" * (LONGEST + 1)
    record = {"answer": long, "errors": [{"message": "x" * LONGEST}, {"message": long}], "cost": None}
    short, texts = take_out(record)
    assert list(texts.values()) == [long]
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert json.loads(put_back(json.dumps(short).encode(), tmp_path)) == record


def test_a_place_that_a_record_does_not_have_is_an_error(tmp_path: Path) -> None:
    """Not a crash: a program may have written the line."""
    for place in (["gone"], ["errors", 3], ["cost", "a"]):
        line = {"long_texts": [[*place, "text-1.txt"]], "errors": [], "cost": None}
        with pytest.raises(UsageError, match=r"its line has no place for|cannot be read"):
            put_back(json.dumps(line).encode(), tmp_path)
