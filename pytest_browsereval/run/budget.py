"""Budget of a whole run: once it is used up, the remaining trials are skipped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_browsereval.config.model import BudgetConfig
from pytest_browsereval.errors import OverBudget
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run_files import open_written, parse_lines

_ROUNDING = 1e-9
"""Ten times 0.1 is not 1 to a computer."""

UNKNOWN_COST = "cost is not known"

LEDGER = "spent.jsonl"
"""In the run folder: what each attempt cost, a line each, in the order in which they ended."""


class Budget:
    """What the processes of a run have used together.

    Args:
        config: how much they may use.
        store: the run, whose folder has the ledger that all of them write.
        began: when the session began, in seconds since 1970.
    """

    def __init__(self, config: BudgetConfig, store: RunStore, began: float) -> None:
        self._config = config
        self._store = store
        self._began = began
        self._read_bytes = 0
        self._paid: dict[str, float | None] = {}
        """What is known of each attempt."""

    def over(self) -> str:
        """Return why no further attempt may begin; "" if one may.

        Raises:
            OSError: the ledger cannot be read.
        """
        minutes, money = self._config.max_minutes, self._config.max_cost_usd
        if minutes is not None and time.time() - self._began > minutes * 60:
            return f"budget.max_minutes is {minutes:g}"
        if money is None:
            return ""
        self._catch_up()
        spent = 0.0
        for name, cost_usd in self._paid.items():
            if cost_usd is None:
                return (
                    f"budget.max_cost_usd is ${money:g}, and what {name} {UNKNOWN_COST}: a model has no "
                    "price (write prices into its block), or a program reports no usage"
                )
            spent += cost_usd
        if spent < money - _ROUNDING:
            return ""
        return f"budget.max_cost_usd is ${money:g}, and ${spent:.4f} is spent"

    def check(self) -> None:
        """Refuse an attempt that is not begun yet.

        Raises:
            OverBudget: the budget is used up.
            OSError: the ledger cannot be read.
        """
        if why := self.over():
            raise OverBudget(why)

    def note_payment(self, folder: Path, cost_usd: float | None) -> None:
        """Note what an attempt cost, no matter what came of it.

        Args:
            folder: the attempt's.
            cost_usd: None if it is not known.

        Raises:
            OSError: the ledger cannot be written.
        """
        if self._config.max_cost_usd is not None:
            # A hand-written test has a run of its own, and pays from the budget of its config.
            name = Path(os.path.relpath(folder, self._store.root)).as_posix()
            self._store.append(LEDGER, {"attempt": name, "cost_usd": cost_usd})

    def note_earlier_payments(self, attempts: Iterable[tuple[Path, float | None]]) -> None:
        """Note what earlier sessions have paid and not written down: without a budget, or for grading again.

        Args:
            attempts: folders with what each has cost by now.

        Raises:
            OSError: the ledger cannot be read or written.
        """
        if self._config.max_cost_usd is None:
            return
        self._catch_up()
        for folder, cost_usd in attempts:
            name = folder.relative_to(self._store.root).as_posix()
            before = self._paid.get(name, 0.0)
            if name not in self._paid or (before is None) != (cost_usd is None):
                self.note_payment(folder, cost_usd)
            elif before is not None and cost_usd is not None and cost_usd - before > _ROUNDING:
                self.note_payment(folder, cost_usd - before)

    def _catch_up(self) -> None:
        """Read what has been written since; a line that is being written is left for the next time."""
        try:
            with open_written(str(self._store.root / LEDGER)) as file:
                file.seek(self._read_bytes)
                fresh = file.read()
        except FileNotFoundError:
            return
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        for name, cost_usd in parse_lines(whole, _take_payment):
            before = self._paid.get(name, 0.0)
            self._paid[name] = None if cost_usd is None or before is None else before + cost_usd


def _take_payment(line: Any) -> tuple[str, float | None]:
    cost_usd = line["cost_usd"]
    return str(line["attempt"]), None if cost_usd is None else float(cost_usd)
