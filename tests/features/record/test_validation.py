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
def test_what_refuses_a_row_and_what_is_named() -> None:
    """A step that fails, whether its check holds or not; a check that holds from the start is only named."""
    failed = "the recorded steps: step 2 of the solution failed: click"
    checks: list[JsonValue] = [{"text": "Bought"}, {"text": "Pay"}, {"text": "Lost", "not": True}]
    cases: list[tuple[str, list[JsonValue], str]] = [
        ("Pay", checks, ""),
        ("Gone", checks[:1], f"passes without all of {failed}"),
        ("Gone", [{"text": "Paid"}], f"does not pass with {failed}"),
    ]
    for second, shown, problem in cases:
        solution: list[JsonValue] = [{"tool": "click", "target": f"text={name}"} for name in ("Buy", second)]
        recorded = row(
            "buy", says=None, start_url=PAGE, graders=["page_state"], checks=shown, solution=solution
        )
        problems, notes, _ = prove_row(open_door(), recorded, {}, None)
        assert len(problems) == bool(problem)
        assert all(problem in one for one in problems)
        named = ['The check `text contains "Pay"` holds on the start page'] * (not problem)
        assert [note.partition(", before")[0] for note in notes] == named
