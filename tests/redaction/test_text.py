"""Texts of JSON without secrets, and fit for UTF-8."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.redaction.text import redact_json, redact_line

SECRET = 'pässword "one" & two'


def without(text: str) -> str:
    for spelling in list_spellings([SECRET, "", "pässword"]):
        text = text.replace(spelling, "***")
    return text


def test_a_line_is_what_it_is_text_by_text(subtests: pytest.Subtests) -> None:
    """Looking at all texts at once finds what looking at each one finds, and takes out no more."""
    cases: list[Any] = [
        {"a": [1, 2.5, True, None, "ü\u2028\x7f\t"]},
        {"text": SECRET, SECRET: ["in a name"]},
        {"quoted": json.dumps(SECRET), "twice": json.dumps(json.dumps(SECRET)), "python": repr(SECRET)},
        {"lines": f"one\ntwo {SECRET}\nthree"},
        {"half": "\ud83d", "whole": "\ud83d\ude00", SECRET: "\udc00"},
        {"first": SECRET[:9], "second": SECRET[9:]},
    ]
    for value in cases:
        with subtests.test(value=value):
            line, changed = redact_line(value, without)
            expected = redact_json(value, without)
            assert line.endswith(b"\n")
            assert json.loads(line) == expected == (value if changed is None else changed)
            assert b"one" not in line or "one" in str(expected)
            plain = redact_json(value, str)
            written = json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"
            assert redact_line(value, str)[0].decode() == written
