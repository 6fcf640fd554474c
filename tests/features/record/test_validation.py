"""Recorded rows are tried before they are written, by a pytest of their own."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.record.validation import prove_row
from tests.hooks.small_evals import row

PAGE = (
    "data:text/html,<button onclick='out.textContent=`Bought`'>Buy</button><button>Pay</button><p id=out></p>"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "check", "problem"),
    [
        ("Pay", "Bought", ""),
        ("Gone", "Bought", "passes without all of the recorded steps: step 2 of the solution failed: click"),
        ("Gone", "Paid", "does not pass with the recorded steps: step 2 of the solution failed: click"),
    ],
)
def test_a_step_that_fails_refuses_a_row(second: str, check: str, problem: str) -> None:
    """Its check may hold by then or not: a solution has to pass with all of its steps."""
    solution: list[JsonValue] = [{"tool": "click", "target": f"text={name}"} for name in ("Buy", second)]
    recorded = row("buy", says=None, start_url=PAGE, graders=["page_state"], checks=[{"text": check}])
    problems = prove_row(open_door(), {**recorded, "solution": solution}, {}, None).problems
    assert len(problems) == bool(problem)
    assert all(problem in one for one in problems)


@pytest.mark.slow
def test_a_check_that_holds_from_the_start_is_named() -> None:
    """What must not happen is not: it never has at the start."""
    checks: list[JsonValue] = [{"text": "Bought"}, {"text": "Pay"}, {"text": "Lost", "not": True}]
    solution: list[JsonValue] = [{"tool": "click", "target": "text=Buy"}]
    recorded = row("buy", says=None, start_url=PAGE, graders=["page_state"], checks=checks, solution=solution)
    problems, notes, _ = prove_row(open_door(), recorded, {}, None)
    assert problems == []
    assert len(notes) == 1
    assert notes[0].startswith('The check `text contains "Pay"` holds on the start page')
