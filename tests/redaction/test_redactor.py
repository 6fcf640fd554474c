"""What others have left of a secret beside a cut is taken out with it."""

from __future__ import annotations

import pytest

from pytest_browsereval.redaction.redactor import Redactor

KEY = "sk-4711-0815-qwertz"


def test_parts_beside_the_mark_of_a_cut_are_redacted(subtests: pytest.Subtests) -> None:
    """A page, or pytest, has cut the text before anybody else had it."""
    for mark in ["…", "..."]:
        for size in range(6, len(KEY)):
            with subtests.test(mark=mark, size=size):
                text = f"token={KEY[:size]}{mark}{KEY[-size:]} and {KEY}"
                assert Redactor([KEY]).redact(text) == f"token=[redacted]{mark}[redacted] and [redacted]"


def test_other_texts_beside_a_mark_stay() -> None:
    """Words of fewer characters are no parts, and other ones neither."""
    for text in (
        "sk-47... wait",
        "wait ...wertz",
        "qwertz...",
        "...",
        "sk-471x...",
        "-4711-…",
        "0815-q…",
        "…4711-0 ",
    ):
        assert Redactor([KEY]).redact(text) == text
