"""A file of labels that only ever grows."""

from __future__ import annotations

import json
import resource
import signal
from typing import Any

import pytest

from pytest_browsereval.features.labelling.labels import LabelBook, read_labels


def lines(book: LabelBook) -> list[dict[str, Any]]:
    return [json.loads(line) for line in book.path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_labels_are_appended(book: LabelBook) -> None:
    """Each change is a line that says all of the attempt; the last one counts, now and when opened again."""
    note = 'well\ndone "ß" \u2028'
    book.write(0, "pass", note)
    book.write(0, "fail")
    book.write(1, "unclear")
    book.write(1, None)
    assert [line.note for _, line in read_labels(book.path)] == [note, "", "", ""]
    written = lines(book)
    assert [line["label"] for line in written] == ["pass", "fail", "unclear", None]
    timestamp = written[0].pop("timestamp")
    assert timestamp.endswith("Z")
    assert written[0] == {
        "run": "run",
        "query_id": "a",
        "variant": "default",
        "trial": 1,
        "attempt": 1,
        "label": "pass",
        "labeller": "anna",
        "note": note,
    }
    again = LabelBook(book.path, book.attempts, "anna")
    for one in (book, again):
        assert one.done == 1
        last = [one.label(place) for place in range(3)]
        assert [label and label.label for label in last] == ["fail", None, None]


def test_other_people_are_left_alone(book: LabelBook) -> None:
    """Each labeller sees their own labels, no line of others is touched, also one without its end."""
    book.path.write_text('{"query_id": "a", "label": "pass", "labeller": "ben"}')
    book.write(0, "fail")
    ben = LabelBook(book.path, book.attempts, "ben")
    assert (ben.done, [one and one.label for one in map(ben.label, range(2))]) == (1, ["pass", None])
    ben.write(0, "unclear")
    written = [(line["labeller"], line["label"]) for line in lines(book)]
    assert written == [("ben", "pass"), ("anna", "fail"), ("ben", "unclear")]


def test_a_label_tells_that_the_grades_were_seen(book: LabelBook) -> None:
    """Once they were shown, every later label of that attempt says so; also after the book was closed."""
    book.write(0, "pass")
    book.show_grades(0)
    book.write(0, "fail")
    book.write(1, "fail")
    LabelBook(book.path, book.attempts, "anna").write(0, "pass")
    assert [line.get("saw_grades", False) for line in lines(book)] == [False, True, False, True]


def test_half_a_line_is_taken_back(book: LabelBook) -> None:
    """A full disk leaves no half line, which would make the file unreadable."""
    book.write(0, "pass")
    whole = book.path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, limits[1]))
    try:
        with pytest.raises(OSError, match="large"):
            book.write(1, "fail")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert book.path.read_bytes() == whole
    assert book.label(1) is None
