"""Reading text, numbers, dates and lists."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import jmespath
import pytest

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.graders import values
from pytest_browsereval.graders.lists import split_items
from pytest_browsereval.graders.numbers import read_number
from pytest_browsereval.graders.values import has_token, look_up

HELD = {
    "5": ("5", "I found 5.", "5, maybe", "(5)", "2-5", "5%", "from 3 to 5"),
    "$5": ("it costs $5 now",),
    "12.50": ("it costs 12.50.",),
    "mug": ("one mug, please", "a blue mug"),
    "C++": ("in C++ it is",),
    "-5": ("it is -5",),
    "東京": ("東京都に行く",),
    "ไทย": ("ประเทศไทยแลนด์",),
}
NOT_HELD = {
    "5": ("15", "51", "5.25", "1.5", "5,000", "1,5", "-5", "\N{MINUS SIGN}5", "5th"),
    "$5": ("$50", "$5.99"),
    "mug": ("smug", "mugs", "mug_2"),
    "Ärger": ("Verärgert Ärgernis",),
    "": ("anything",),
    "absent": ("",),
}


def test_tokens(subtests: pytest.Subtests) -> None:
    """A text holds whole words and numbers: "5" is not in "15". Scripts without blanks have no borders."""
    for table, is_held in ((HELD, True), (NOT_HELD, False)):
        for needle, texts in table.items():
            for text in texts:
                with subtests.test(needle=needle, text=text):
                    assert has_token(needle, text) is is_held


NUMBERS_READ: dict[str, tuple[Any, ...]] = {
    "5": (5, "5", " 5 ", "+5.0", "5%"),
    "-5": ("-5", "\N{MINUS SIGN}5", "-$5", "$-5"),
    "2.5": (2.5,),
    "0.5": (".5",),
    "1234.5": ("1,234.50", "$1,234.50"),
    "12345678": ("12,345,678",),
    "12": ("US$ 12", "EUR 12"),
    "12.5": ("12.50 \N{EURO SIGN}", "12.50\u00a0EUR"),
    "1000": ("1e3",),
    str(10**30): (10**30,),
}


def test_numbers_that_are_read(subtests: pytest.Subtests) -> None:
    """Signs, groups of thousands, one currency, a percent sign and an exponent are read."""
    for number, spellings in NUMBERS_READ.items():
        for value in spellings:
            with subtests.test(value=value, number=number):
                assert read_number(value) == Decimal(number)


def test_what_is_not_surely_a_number(subtests: pytest.Subtests) -> None:
    """What could be read in two ways, or is not a number at all, is not read."""
    cases: list[Any] = [
        *(True, None, [], {}, float("nan"), float("inf")),
        *("", " ", "abc", "1 234", "1.2.3", "1.2k", "5 km", "5 6", "5'11", "1\u00a05", "v2", "3rd"),
        *("about 5", "--5", "-$-5", "$5 USD 3", "5-6", "0x10", "1e999", "\u00b2", "5\u00b2", "9" * 100),
    ]
    for value in cases:
        with subtests.test(value=value):
            assert read_number(value) is None


@pytest.mark.parametrize("text", ["[" * 100_000, "a and " * 20_000, "1," * 50_000])
def test_hostile_lists_are_read(text: str) -> None:
    """Long or deeply nested answers are read like all others."""
    assert split_items(text, []) != []


def test_a_path_cannot_blow_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step doubles what the one before has selected; a busy machine needs long for so much."""
    monkeypatch.setattr(values, "EVALUATION_LIMIT_S", 60.0)
    assert look_up("[@, @]" + " | [@, @]" * 3, 1)[0] == [[[[1, 1], [1, 1]], [[1, 1], [1, 1]]]] * 2
    found, problem = look_up("[@, @]" + " | [@, @]" * 60, 1)
    assert found is None
    assert "selects more than 500000 values" in problem


NUMBERS = f"`{list(range(200))}`"


@pytest.mark.parametrize(
    "path",
    [
        f"map(&map(&map(&map(&@, {NUMBERS}), {NUMBERS}), {NUMBERS}), {NUMBERS})",
        f"[?{NUMBERS}[?{NUMBERS}[?{NUMBERS}[?{NUMBERS}[?@ == `-1`]]]]]",
        "to_string(@)" + " | to_array(@) | to_string(@)" * 60,
        "[@, @][]" + " | [@, @][]" * 60,
        "[@, @]" + " | [@, @]" * 30 + " | to_string(@)",
    ],
)
def test_a_path_ends(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes too long, or too much memory, is stopped: the grader errs and says which path it is."""
    monkeypatch.setattr(values, "EVALUATION_LIMIT_S", 0.5)
    with pytest.raises(Fault, match=r"the path .* (took more than|cannot be looked up|MemoryError)") as fault:
        look_up(path, [['"'], 0, 1])
    assert fault.value.source is ErrorSource.GRADER


@pytest.mark.parametrize("path", ["[?a > `1`].b", "length([*].a)", "[*].[a, b]", "sort_by(@, &a)[*].b", "a"])
def test_both_ways_of_looking_up_agree(path: str) -> None:
    """A path finds the same, whether it is looked up here or in a process of its own."""
    state: Any = [{"a": 2, "b": "é"}, {"a": 1, "b": None}]
    found = look_up(path, state)
    assert found == look_up(f"[[@], {path}] | [1]", state)
    assert found == (jmespath.search(path, state), "")
