from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from pytest_browsereval.config.model import BudgetConfig
from pytest_browsereval.errors import OverBudget
from pytest_browsereval.run.budget import LEDGER, Budget
from pytest_browsereval.run.store import RunStore


def budget(
    folder: Path, *, minutes: float | None = None, usd: float | None = None, began: float = 0
) -> Budget:
    config = BudgetConfig(max_minutes=minutes, max_cost_usd=usd)
    return Budget(config, RunStore(folder), began or time.time())


def test_without_limits_nothing_is_written(tmp_path: Path) -> None:
    """A run without a budget has no ledger."""
    free = budget(tmp_path)
    free.note_payment(tmp_path / "tasks/a", 5.0)
    free.check()
    assert list(tmp_path.iterdir()) == []


def test_all_processes_pay_into_one_ledger(tmp_path: Path) -> None:
    """What one of them has spent, the others know; the limit itself is used up."""
    one, other = budget(tmp_path, usd=1.0), budget(tmp_path, usd=1.0)
    one.note_payment(tmp_path / "tasks/a", 0.4)
    other.check()
    other.note_payment(tmp_path / "tasks/b", 0.6)
    for each in (one, other, budget(tmp_path, usd=1.0)):
        with pytest.raises(OverBudget, match=r"max_cost_usd is \$1, and \$1.0000 is spent"):
            each.check()
    assert budget(tmp_path, usd=1.01).over() == ""


def test_an_unknown_cost_is_no_cost_of_nothing(tmp_path: Path) -> None:
    """Whoever sets a limit of money must know what was spent."""
    one = budget(tmp_path, usd=1.0)
    one.note_payment(tmp_path / "tasks/a", None)
    assert "what tasks/a cost is not known" in one.over()


def test_a_line_that_is_being_written_is_read_later(tmp_path: Path) -> None:
    """Another process may be in the middle of it."""
    one = budget(tmp_path, usd=1.0)
    line = json.dumps({"attempt": "tasks/a", "cost_usd": 2.0}) + "\n"
    (tmp_path / LEDGER).write_text(line[:20])
    assert one.over() == ""
    (tmp_path / LEDGER).write_text(line)
    assert one.over()


def test_earlier_sessions_are_counted_once(tmp_path: Path) -> None:
    """Also those that had no budget and wrote no ledger."""
    one = budget(tmp_path, usd=1.0)
    one.note_payment(tmp_path / "tasks/a", 0.3)
    before = [(tmp_path / "tasks/a", 0.3), (tmp_path / "tasks/b", 0.3)]
    for _ in range(3):
        budget(tmp_path, usd=1.0).note_earlier_payments(before)
    assert one.over() == ""
    assert [json.loads(line)["attempt"] for line in (tmp_path / LEDGER).read_text().splitlines()] == [
        "tasks/a",
        "tasks/b",
    ]


def test_minutes_are_those_of_the_session(tmp_path: Path) -> None:
    """They begin when the session does, in each of its processes."""
    assert budget(tmp_path, minutes=60).over() == ""
    assert budget(tmp_path, minutes=60, began=time.time() - 3601).over() == "budget.max_minutes is 60"


def test_a_line_that_was_cut_is_mended(tmp_path: Path) -> None:
    """By a full disk or a loss of power; the attempt's own record says what it cost."""
    one = budget(tmp_path, usd=1.0)
    one.note_payment(tmp_path / "tasks/a", 0.3)
    with (tmp_path / LEDGER).open("a") as file:
        file.write('{"attempt": "tasks/b", "co')
    again = budget(tmp_path, usd=1.0)
    again.note_earlier_payments([(tmp_path / "tasks/a", 0.3), (tmp_path / "tasks/b", 0.8)])
    assert "$1.1000 is spent" in again.over()
    assert "$1.1000 is spent" in one.over()


def test_what_grading_again_has_cost_is_counted(tmp_path: Path) -> None:
    """The record of an attempt has more than was noted of it."""
    one = budget(tmp_path, usd=1.0)
    one.note_payment(tmp_path / "tasks/a", 0.4)
    for _ in range(2):
        budget(tmp_path, usd=1.0).note_earlier_payments([(tmp_path / "tasks/a", 0.9)])
    assert one.over() == ""
    one.note_payment(tmp_path / "tasks/b", 0.1)
    assert "$1.0000 is spent" in one.over()
