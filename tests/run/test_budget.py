from __future__ import annotations

import json
import time
from pathlib import Path

from pytest_browsereval.config.model import BudgetConfig
from pytest_browsereval.run.budget import LEDGER, Budget
from pytest_browsereval.run.store import RunStore


def budget(
    folder: Path, *, minutes: float | None = None, usd: float | None = None, began: float = 0
) -> Budget:
    config = BudgetConfig(max_minutes=minutes, max_cost_usd=usd)
    return Budget(config, RunStore(folder), began or time.time())


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
