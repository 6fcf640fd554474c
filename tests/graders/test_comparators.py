"""The typed comparisons of checks."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.comparators import Reading, read_comparator, read_weight
from pytest_browsereval.model.grades import Verdict

READINGS = get_args(Reading)

TABLE: list[tuple[dict[str, Any], list[Any], list[Any], list[Any]]] = [
    # comparison, values for which it holds, those for which it holds in the lenient reading alone, others
    ({"equals": "Mug"}, ["Mug"], [" mug\u00a0"], ["Blue Mug"]),
    ({"equals": "5"}, [], [5], ["15"]),
    ({"equals": 5}, [5.0], ["5"], []),
    ({"equals": "5.00"}, [], [5], ["5"]),
    ({"equals": 1}, [], [], [True]),
    ({"equals": True}, [True], [], [1, "true"]),
    ({"equals": None}, [None], [], [""]),
    ({"equals": 0}, [], [], [None]),
    ({"equals": [1, "A"]}, [[1, "A"]], [["1", "a"]], []),
    ({"equals": [1, 2]}, [], [], [[2, 1], [1, 2, 3]]),
    ({"equals": {"a": [{"b": "X"}]}}, [{"a": [{"b": "X"}]}], [{"a": [{"b": "x"}]}], []),
    ({"equals": {"a": 1}}, [], [], [{"a": 1, "b": 2}]),
    ({"equals": "Trader Joe's"}, [], ["Trader Joe\u2019s"], []),
    ({"not_equals": "Mug"}, ["Cup"], [], ["Mug"]),
    ({"not_equals": None}, [1], [], []),
    ({"contains": "mug"}, ["a mug here"], [], ["smug"]),
    ({"contains": "Mug"}, [], ["a mug here"], []),
    ({"contains": "a b"}, [], ["a  b"], []),
    ({"contains": 5}, [[1, 5]], [], []),
    ({"contains": "5"}, [], [[15, 5]], ["15 items", [15]]),
    ({"contains": "a"}, [], [], [{"a": 1}, None]),
    ({"contains": "well-known"}, [], ["a well\u2011known\u00ad one"], []),
    ({"regex": "^Order [0-9]$"}, ["Order 7"], [], []),
    ({"regex": "^order [0-9]$"}, [], ["Order  7"], []),
    ({"regex": "^5$"}, [], [], ["15"]),
    ({"regex": "5"}, [], [], [5]),
    ({"one_of": ["red", "blue"]}, ["red"], ["Red"], ["reddish"]),
    ({"one_of": ["red", None]}, [None], [], []),
    ({"set_equals": ["a", "b"]}, [["b", "a", "a"]], [], [["a"]]),
    ({"set_equals": ["a", 1]}, [], [["A", "1"]], []),
    ({"set_equals": ["a"]}, [], [], [["a", "b"], "a"]),
    ({"set_equals": []}, [[]], [], []),
    ({"number": 59.98}, ["$59.98"], [], []),
    ({"number": 0.3}, [0.1 + 0.2], [], []),
    ({"number": 5}, [], [], [15, "15", "5 or 6"]),
    ({"number": 60, "tolerance": 0.02}, [59.98], [], []),
    ({"number": 60, "tolerance": 0.01}, [], [], [59.98]),
    ({"number": 1}, [], [], [True]),
    ({"number": 0}, [], [], [None]),
    ({"number": 1234.5}, ["1.234,50 €"], [], []),
    ({"date": "2025-03-04"}, ["March 4, 2025"], [], ["March 5, 2025", "soon"]),
    ({"date": "2025-04-03", "day_first": True}, ["03/04/2025"], [], []),
    ({"date": "2025-04-03", "day_first": False}, [], [], ["03/04/2025"]),
    ({"date": "2025-04-03"}, ["03.04.2025"], [], []),
    ({"min": 3}, [3], [], ["2.9"]),
    ({"max": 3}, ["3"], [], [3.01, "many"]),
    ({"exists": True}, [0, []], [], [None]),
    ({"exists": False}, [None], [], [""]),
]


def test_every_comparison_in_both_readings(subtests: pytest.Subtests) -> None:
    """Every comparison holds in the readings that the table says; what fails has a reason."""
    for check, both, lenient, neither in TABLE:
        cases = [(one, (True, True)) for one in both] + [(one, (False, True)) for one in lenient]
        for actual, holds in [*cases, *((one, (False, False)) for one in neither)]:
            with subtests.test(check=check, actual=actual, holds=holds):
                comparator = read_comparator(check)
                found = [comparator.criterion("it", actual, reading) for reading in READINGS]
                assert tuple(one.verdict is Verdict.PASSED for one in found) == holds
                assert tuple(not one.reason for one in found) == holds
    other = read_comparator({"not_equals": "Mug"})
    assert [bool(other.problem("mug", reading)) for reading in READINGS] == [False, True]


def test_what_can_be_read_in_two_ways() -> None:
    """A value that is right in the less usual reading alone is neither right nor wrong."""
    for check, actual in (
        ({"number": 1234}, "1.234"),
        ({"number": 1.234}, "1,234"),
        ({"number": 1200}, "1.2k"),
        ({"min": 1000}, "1.234 €"),
        ({"max": 2}, "1,234"),
        ({"date": "2025-04-03"}, "03/04/2025"),
    ):
        with pytest.raises(
            GraderFault, match=r"cannot tell whether .* holds: .* is one of two (numbers|dates)"
        ):
            read_comparator(check).problem(actual)


def test_reasons(subtests: pytest.Subtests) -> None:
    """Reasons name what is, what should be and what is missing."""
    cases: list[tuple[dict[str, Any], Any, str]] = [
        ({"set_equals": ["a", "b"]}, ["b", "c"], 'the list lacks ["a"] and also has ["c"]'),
        ({"number": 5, "tolerance": 0.5}, 7, "it is 7, not 5 within 0.5"),
        ({"number": 5}, "5 km", '"5 km" cannot be read as a number with certainty'),
        ({"min": 3}, 2, "it is 2, less than 3"),
        ({"date": "2025-03-04"}, "2025-03-05", '"2025-03-05" is not "2025-03-04": the day is 5, not 4'),
        ({"exists": True}, None, "it does not exist, or is null"),
        ({"contains": "mug"}, None, 'there is no value where contains "mug" is expected'),
        ({"contains": "mug"}, [], 'none of its 0 items is "mug"'),
    ]
    for check, actual, reason in cases:
        with subtests.test(check=check, actual=actual, reason=reason):
            assert read_comparator(check).problem(actual) == reason


def test_wrong_comparisons_are_refused(subtests: pytest.Subtests) -> None:
    """An unknown, missing, double or wrongly typed comparison is refused with what to write."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "has 0 comparisons.*Write exactly one of: equals"),
        ({"equals": 1, "min": 2}, "has 2 comparisons: equals, min"),
        ({"equal": 1}, r"unknown key 'equal'. Did you mean 'equals'\? A check compares by one of"),
        ({"equals": 1, "tolerance": 1}, "'tolerance' belongs to 'number'"),
        ({"number": 1, "day_first": True}, "'day_first' belongs to 'date'"),
        ({"number": "5"}, "'number' is \"5\"; write a number"),
        ({"number": True}, "'number' is true; write a number"),
        ({"number": 5, "tolerance": -1}, "'tolerance' is -1.0; write a number from 0 on"),
        ({"number": 5, "tolerance": "1"}, "'tolerance' is \"1\"; write a number"),
        ({"min": None}, "'min' is null; write a number"),
        ({"regex": 5}, "'regex' is 5; write a string"),
        ({"regex": "("}, "'\\(' is not a regular expression"),
        ({"one_of": []}, r"'one_of' is \[\]; write a list"),
        ({"one_of": "a"}, "'one_of' is \"a\"; write a list"),
        ({"set_equals": "a"}, "'set_equals' is \"a\"; write a list"),
        ({"contains": ""}, "'contains' is \"\"; write a string"),
        ({"exists": "yes"}, "'exists' is \"yes\"; write true or false"),
        ({"date": "soon"}, '"soon" cannot be read as a date; write one such as "2025-03-04"'),
        ({"date": "5"}, '"5" cannot be read as a date'),
        ({"date": "2025-03-04", "day_first": "yes"}, "'day_first' is \"yes\"; write true or false"),
    ]
    for check, message in cases:
        with subtests.test(check=check, message=message), pytest.raises(ValueError, match=message):
            read_comparator(check)


def test_wrong_weights_are_refused(subtests: pytest.Subtests) -> None:
    """A weight is a number above 0."""
    cases: list[Any] = [0, -1, True, "2", None, 10**400]
    for weight in cases:
        with subtests.test(weight=weight), pytest.raises(ValueError, match=r"'weight' is .*; write a number"):
            read_weight({"weight": weight})
