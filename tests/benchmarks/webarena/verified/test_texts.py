"""How WebArena-Verified reads values of each kind, and when two of them are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_browsereval.benchmarks.webarena.verified import texts
from pytest_browsereval.benchmarks.webarena.verified.texts import Pattern

READ: list[tuple[Callable[[Any], Any], Any, Any]] = [
    (texts.read_text, " Blue Mug ", "blue mug"),
    (texts.read_text, 0, ""),
    (texts.read_list, "pens, ink,,cups ", ("cups", "ink", "pens")),
    (texts.read_json, '{"b": 1, "a": [2,3]}', '{"a":[2,3],"b":1}'),
    (texts.read_empty, "n / a", None),
    (texts.read_empty, "", None),
    (texts.read_markdown, "#  Title  \r\n\n\n\n* one\n+ two", "# Title\n\n- one\n- two"),
    (texts.read_markdown, "[a  \n link](  http://x.test/ )", "[a link](http://x.test/)"),
]


def test_a_value_has_one_spelling(subtests: pytest.Subtests) -> None:
    """Blanks, order, line ends and marks that say nothing are made alike."""
    for read, value, expected in READ:
        with subtests.test(read=read, value=value, expected=expected):
            assert read(value) == expected


def test_a_value_of_another_kind_is_refused(subtests: pytest.Subtests) -> None:
    """What is not of the kind is an error, never an empty value that equals another one."""
    cases: list[tuple[Callable[[Any], Any], Any]] = [
        *((texts.read_list, " , "), (texts.read_list, None), (texts.read_json, 3), (texts.read_json, "{")),
        *((texts.read_empty, 0), (texts.read_empty, "something")),
        *((texts.read_markdown, ""), (texts.read_markdown, ["# a"])),
    ]
    for read, value in cases:
        with subtests.test(read=read, value=value), pytest.raises(ValueError, match=r"\S"):
            read(value)


def test_texts_are_compared_without_punctuation_around_them() -> None:
    """A pattern has to match the whole text, in any case of its letters; names have words in any order."""
    assert texts.same_text("blue mug.", "blue mug")
    assert not texts.same_text("blue mug", "red mug")
    assert texts.same_text(Pattern("^blue .*$"), "BLUE MUG")
    assert not texts.same_text(Pattern("^blue$"), "blue mug")
    assert texts.same_name("Ann Lee", "lee, ANN")
    assert texts.same_name("", "")
    assert not texts.same_name("Ann Lee", "Bob Ray")
    assert not texts.same_name("!?", "!?")  # names without a word
