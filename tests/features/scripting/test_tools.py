from __future__ import annotations

import json

import pytest

from pytest_browsereval.features.scripting.tools import MAX_LENGTH
from tests.support import PATIENCE_S, Visits


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 1", 2),
        ("({a: [1, null], b: 'ü'})", {"a": [1, None], "b": "ü"}),
        ("() => document.title", "Page"),
        ("new Promise((go) => setTimeout(() => go('later'), 20))", "later"),
        ("undefined", None),
        ("let a = 2; a * 2", 4),
    ],
)
def test_a_result_is_json(visit: Visits, expression: str, value: object) -> None:
    """Expressions, functions and promises all give their value."""
    assert json.loads(visit().output("evaluate", expression=expression)) == value


def test_what_json_lacks_is_shown_as_text(visit: Visits) -> None:
    """Dates, and what goes round in circles, do not break a call."""
    opened = visit()
    assert "2020-01-02" in opened.output("evaluate", expression="new Date('2020-01-02T00:00:00Z')")
    assert opened.call("evaluate", expression="window.a = {}; a.a = a").output


def test_a_script_that_fails_says_why(visit: Visits) -> None:
    """The page's own error, without the stack."""
    opened = visit()
    assert opened.refusal("evaluate", expression="nothing.x") == "ReferenceError: nothing is not defined"
    assert "SyntaxError" in opened.refusal("evaluate", expression="if (")


def test_a_long_result_is_cut(visit: Visits) -> None:
    """It says how long it was."""
    text = visit().output("evaluate", expression="'x'.repeat(50000)")
    assert text.endswith(f"[Cut after {MAX_LENGTH} of 50002 characters. Return less.]")


@pytest.mark.slow
def test_a_script_that_never_ends_is_given_up(visit: Visits) -> None:
    """A promise that nobody keeps ends with the limit; the window works on."""
    opened = visit()
    opened.limit(action_s=1.0)
    assert (
        opened.refusal("evaluate", expression="new Promise(() => {})") == "The script did not end within 2 s."
    )
    opened.limit(action_s=PATIENCE_S)
    assert opened.output("evaluate", expression="1") == "1"
