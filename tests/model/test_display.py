"""Text made fit for a terminal: one line, of a known width."""

from __future__ import annotations

import pytest

from pytest_browsereval.model.display import (
    MOST_NAMES,
    digits_apart,
    fit,
    format_count,
    list_names,
    natural,
    one_line,
    percent,
    plain,
    printable,
    width_of,
    wrap_text,
)


def test_a_line_is_printable_and_short() -> None:
    """Control characters, line ends and direction marks become blanks; a long text ends with a mark."""
    assert one_line("a\x1b[1m\tb\r\n\u2028\u202ec\x00\x9b") == "a [1m b    c  "
    assert one_line("x" * 200) == "x" * 200
    assert one_line("x" * 201) == "x" * 199 + "…"
    assert one_line("カート", 2) == "カ…"


def test_text_keeps_its_lines() -> None:
    """Further lines are indented, so that they cannot look like lines of ours; the rest is counted."""
    assert printable("one\ntask  x\x1b") == "one\n  task  x "
    assert printable("\n".join("abcd"), most_lines=2) == "a\n  b\n  … 2 more lines"


def test_width_is_what_terminals_take(subtests: pytest.Subtests) -> None:
    """Wide characters take two columns, combining ones none."""
    for text, width in [("abc", 3), ("カート", 6), ("🛒", 2), ("e\u0301", 1), ("", 0), ("→…✓", 3)]:
        with subtests.test(text=text, width=width):
            assert width_of(text) == width


def test_a_column_is_filled_exactly(subtests: pytest.Subtests) -> None:
    """Any text takes the given columns; a text that fits is not cut."""
    for text in ["", "abc", "abcdef", "abcdefg", "カート", "カートカ", "aカカカ", "e\u0301" * 9]:
        for mark in ["…", "..."]:
            with subtests.test(text=text, mark=mark):
                made = fit(text, 6, mark)
                assert width_of(made) == 6
                assert made.startswith(text) if width_of(text) <= 6 else mark in made


@pytest.mark.parametrize("width", [10, 20, 80])
def test_lines_are_broken_where_they_must(width: int) -> None:
    """Each line fits, nothing is lost, and words stay whole if there is room."""
    text = "gate must_pass: カートカートカートカートカート failed because " + "x" * 100 + " of this"
    lines = list(wrap_text(text, width))
    assert max(map(width_of, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert list(wrap_text("one two three", width=10)) == ["one two", "  three"]
    assert list(wrap_text("", 10)) == []


def test_only_all_is_a_hundred_percent() -> None:
    """Shares close to 0 or 1 are not written as 0 or 1."""
    shares = (0, 1e-12, 0.0004, 0.0006, 0.5, 0.95, 0.9996, 1 - 1e-12, 1)
    told = ("0.0%", "0.0%", "0.1%", "0.1%", "50.0%", "95.0%", "99.9%", "100.0%", "100.0%")
    assert tuple(map(percent, shares)) == told


def test_a_list_of_many_names_is_cut() -> None:
    """The first names are listed, each on one line, and the others are counted."""
    assert list(list_names(["a\nb", "c"])) == ["a b", "c"]
    told = list(list_names([f"r{number}" for number in range(MOST_NAMES + 3)]))
    assert told[-2:] == [f"r{MOST_NAMES - 1}", "and 3 more"]


def test_a_number_has_its_noun() -> None:
    """One thing has a singular; large numbers have commas."""
    assert format_count(1, "row") == "1 row"
    assert format_count(0, "row") == "0 rows"
    assert format_count(1_200, "copy", "copies") == "1,200 copies"


def test_numbers_in_names_sort_as_numbers() -> None:
    """Their length and leading zeros do not matter."""
    names = ["add-10", "add-9", "b", "add-02", "add", "10", "9", "add-1x2", "add-1x10", "9" * 5_000]
    assert sorted(names, key=natural) == [
        *("9", "10", "9" * 5_000),
        *("add", "add-1x2", "add-1x10", "add-02", "add-9", "add-10", "b"),
    ]


def test_a_value_never_reads_like_the_bound_that_it_misses() -> None:
    """Values have as many digits as needed; equal values need no more."""
    assert digits_apart(0.9, 0.5) == 1
    assert digits_apart(0.9, 0.9) == digits_apart(0.3, 0.1 + 0.2) == 1
    digits = digits_apart(0.9, 0.89996)
    assert (percent(0.89996, digits), percent(0.9, digits)) == ("89.996%", "90.000%")
    digits = digits_apart(0.6, 0.5999, write=plain, least=2)
    assert (plain(0.5999, digits), digits) == ("0.5999", 4)
    assert digits_apart(0.9, 0.89996, 0.5) == 3
    assert percent(0.00001, 1) == "0.1%"
    assert percent(0.00001, 4) == "0.0010%"
