"""Values of fields of the final page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.features.way_checks.conftest import Shop

STEPS: tuple[dict[str, Any], ...] = (
    {"tool": "fill", "target": "label=Name", "text": "Ada"},
    {"tool": "select_option", "target": "label=Country", "value": "France"},
    {"tool": "check", "target": "label=Newsletter"},
    {"tool": "check", "target": "label=Express"},
    {"tool": "fill", "target": "[aria-label=Note]", "text": "Ring twice"},
    {"tool": "fill", "target": "label=Password", "text": "hunter2-and-more"},
)
HOLD: tuple[dict[str, Any], ...] = (
    {"field": "Name", "equals": "Ada"},
    {"field": "Name", "regex": "^A"},
    {"field": "Country", "equals": "France"},
    {"field": "Country", "equals": "fr"},
    {"field": "Country", "not_equals": "de"},
    {"field": "Sizes", "equals": []},
    {"field": "Newsletter", "equals": True},
    {"field": "Express", "equals": True},
    {"field": "Shipping", "equals": "Express"},
    {"field": "Note", "equals": "Ring twice"},
    {"field": "Dark mode", "equals": True},
    {"field": "Search", "equals": ""},
    {"field": "Gone", "equals": "new"},
    {"field": "Nobody", "exists": False},
)
BREAK: tuple[tuple[dict[str, Any], str], ...] = (
    ({"field": "Name", "equals": "Bob"}, 'it is "Ada", not "Bob"'),
    ({"field": "Newsletter", "equals": False}, "it is true, not false"),
    ({"field": "Country", "not_equals": "fr"}, 'it is "fr", which it must not be'),
    ({"field": "Nme", "equals": "Ada"}, "the page has no field named 'Nme'"),
    ({"field": "Nme", "equals": "Ada", "not": True}, "the page has no field named 'Nme'"),
)


def test_fields_have_values(shop: Shop, subtests: pytest.Subtests) -> None:
    """Of each kind; what differs says how, and what is not there passes by nothing."""
    checks = [*HOLD, *(check for check, _ in BREAK)]
    run = shop.play(shop.row("form", *STEPS, checks=checks, start_url="{shop}/form"))
    criteria = run.attempt("form").grader_results["page_state"].criteria
    for check, criterion in zip(HOLD, criteria, strict=False):
        with subtests.test(str(check)):
            assert criterion.verdict == "passed", criterion.reason
    for (check, why), criterion in zip(BREAK, criteria[len(HOLD) :], strict=True):
        with subtests.test(str(check)):
            assert (criterion.verdict, criterion.reason) == ("failed", why)


def test_a_password_and_several_fields_of_a_name_err(shop: Shop) -> None:
    """The one is not read, and of the others nobody knows which is meant."""
    table = {"password": "Password", "twice": "Twice"}
    rows = [
        shop.row(name, *STEPS, checks=[{"field": field, "equals": "1"}], start_url="{shop}/form")
        for name, field in table.items()
    ]
    run = shop.play(*rows)
    found = {name: run.attempt(name) for name in table}
    assert {one.verdict for one in found.values()} == {"errored"}
    assert {one.error_source for one in found.values()} == {"grader"}
    assert "is for a password, which is not read" in found["password"].reason
    assert 'several fields named \'Twice\': "1" and "2". Check one by js' in found["twice"].reason
    evidence = [file.read_text() for file in shop.evals.run_folder().glob("tasks/**/evidence.json")]
    assert len(evidence) == 2
    assert not any("hunter2" in text for text in evidence)
