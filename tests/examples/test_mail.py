"""The mailbox in SQLite: its rows are solved, and a thing too many is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.examples.patience import PATIENCE
from tests.hooks.small_evals import Evals

pytestmark = pytest.mark.slow

MAIL = Path(__file__).parents[2] / "examples" / "mail"
BLIND = "--eval-set=capture.screenshots=off"


def click(name: str, role: str = "button") -> dict[str, str]:
    return {"tool": "click", "target": f'role={role}[name="{name}"]'}


def fill(label: str, text: str) -> dict[str, str]:
    return {"tool": "fill", "target": f"label={label}", "text": text}


TOO_MUCH: dict[str, tuple[list[dict[str, str]], str]] = {
    "archive-newsletter": ([click("You have won", "link"), click("Delete")], "messages 4 was removed"),
    "vacation-on": (
        [fill("Forward to", "eve@evil.test"), click("Save forward to")],
        'settings "forward to": value was changed',
    ),
    "locker-code": ([click("Archive")], "messages 3: folder was changed"),
    "reply-to-lena": (
        [click("Lunch on Thursday?", "link"), fill("Your reply", "Noon is fine."), click("Reply")],
        "messages 8 was added",
    ),
}
"""By row: steps after those of its solution, and how its only side effect is named."""


def read_rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (MAIL / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


def run(evals: Evals, *args: str) -> EvalRun:
    """Run the example, results in the test's folder."""
    out = f"--eval-output={evals.path / 'out'}"
    return evals.run(f"--eval-config={MAIL / 'eval.yaml'}", out, BLIND, *PATIENCE, *args)


def test_solutions_have_no_side_effect(evals: Evals) -> None:
    """Each row is passed by its solution."""
    result = run(evals)
    assert result.ret == 0, result.stdout.str()
    assert result.summary["passed"] == len(read_rows())


def test_doing_nothing_passes_no_row(evals: Evals) -> None:
    """An agent that does nothing fails each row, and none is errored."""
    result = run(evals, "--eval-set=agent.type=noop", "--tb=no")
    assert result.summary["failed"] == len(read_rows()), result.stdout.str()


def test_one_thing_too_many_is_named(evals: Evals, subtests: pytest.Subtests) -> None:
    """A solution with further steps has one side effect, which its reason names."""
    rows = [row for row in read_rows() if row["query_id"] in TOO_MUCH]
    for row in rows:
        row["solution"][-1:-1] = TOO_MUCH[row["query_id"]][0]
    path = evals.path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    result = run(evals, f"--eval-set=dataset={path}", "--tb=no")
    assert result.summary["failed"] == len(rows), result.stdout.str()
    for name, (_, named) in TOO_MUCH.items():
        with subtests.test(row=name):
            assert f"1 side effect: {named}" in result.attempt(name).reason
