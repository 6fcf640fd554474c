"""Patterns that cannot hang the run."""

from __future__ import annotations

import pytest

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.graders import patterns
from pytest_browsereval.graders.patterns import check_pattern, has_match

EVIL = r"^(a+)+$"
BAIT = "a" * 40 + "!"


def test_both_ways_of_searching_agree(subtests: pytest.Subtests) -> None:
    """A pattern is found or not, whether it is searched for here or in a process of its own."""
    cases: list[tuple[str, str, bool]] = [
        ("mug", "a mug", True),
        ("^mug$", "a mug", False),
        (r"^Order #\d+$", "Order #17", True),
        (r"[?&]min=10(&|$)", "/?min=10&max=15", True),
        (r"[?&]min=10(&|$)", "/?min=100", False),
        (r"(\w+) \1", "say hello hello", True),
        (r"a*b*c*d", "x" * 5_000 + "aabbccd", True),
    ]
    for pattern, text, is_found in cases:
        with subtests.test(pattern=pattern, text=text, is_found=is_found):
            assert has_match(pattern, text) is is_found
            assert has_match(f"(?:{pattern})|(?:a+b+c+zzz)+", text) is is_found


def test_case() -> None:
    """Case counts unless it is told not to, in both ways of searching."""
    for pattern in ("mug", "(m+u+g+)+"):
        assert not has_match(pattern, "MUG")
        assert has_match(pattern, "MUG", ignore_case=True)


def test_a_pattern_that_would_never_end_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that takes exponential time is stopped; the grader errs and says what to write."""
    monkeypatch.setattr(patterns, "SEARCH_LIMIT_S", 0.3)
    with pytest.raises(Fault, match=r"\^\(a\+\)\+\$.*Write it without repetitions inside") as fault:
        has_match(EVIL, BAIT)
    assert fault.value.source is ErrorSource.GRADER


def test_text_beyond_the_limit_is_not_searched() -> None:
    """Only the first 100,000 characters count."""
    assert has_match("x$", "a" * 99_999 + "x")
    assert not has_match("x", "a" * 100_000 + "x")


def test_what_is_no_pattern(subtests: pytest.Subtests) -> None:
    """A wrong or ambiguous pattern is refused, with the pattern and what to do."""
    for pattern in ["(", "[a", "a{2,1}", "*", "(?P<n>a)(?P<n>b)", "[[a]", r"\y"]:
        with (
            subtests.test(pattern=pattern),
            pytest.raises(ValueError, match=r"is not a regular expression.*`contains`"),
        ):
            check_pattern(pattern)
