"""Budget of a whole run: once it is used up, the remaining trials are skipped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from pytest_browsereval.config.model import BudgetConfig
from pytest_browsereval.errors import BrowserEvalError, OverBudget
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run_files import open_written, parse_lines

_ROUNDING = 1e-9
"""Ten times 0.1 is not 1 to a computer."""

LEDGER = "spent.jsonl"
"""In the run folder: what each attempt cost, a line each, in the order in which they ended."""


class SharedPayments(Protocol):
    """What parts of a run pay that are run on other machines."""

    session: str
    """Whose payments are in the run folder as well: a line there names its session."""

    def note(self, attempt: str, cost_usd: float | None) -> None:
        """Let the others know what an attempt cost; does not wait for it."""

    async def read(self) -> tuple[Mapping[str, float | None], Mapping[str, float | None]]:
        """Return what others know by now, and what this process has paid is known to them.

        Returns:
            what earlier sessions of this part have paid, by attempt; what each other part has paid, by its
            name. None is a cost that is not known.

        Raises:
            BrowserEvalError: it cannot be read.
        """


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
        self._shared: SharedPayments | None = None
        self._paid_now: dict[str, float | None] = {}
        """What is known of each attempt of this session, where others are let know."""
        self._earlier: Mapping[str, float | None] = {}
        self._others: Mapping[str, float | None] = {}
        self._problem = ""

    def share(self, payments: SharedPayments) -> None:
        """Have the budget hold for all parts of the run, before anything is paid."""
        if self._config.max_cost_usd is not None:
            self._shared = payments

    async def update(self) -> None:
        """Learn what other parts have paid by now; to be called before an attempt begins."""
        if self._shared is None:
            return
        try:
            self._earlier, self._others = await self._shared.read()
            self._problem = ""
        except BrowserEvalError as error:
            self._problem = str(error)

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
        if self._problem:
            return (
                f"budget.max_cost_usd is ${money:g}, and what other parts spend is not known: {self._problem}"
            )
        self._catch_up()
        spent = 0.0
        for name, cost_usd in self._list_payments():
            if cost_usd is None:
                return (
                    f"budget.max_cost_usd is ${money:g}, and what {name} cost is not known: a model has no "
                    "price (write prices into its block), or a program reports no usage"
                )
            spent += cost_usd
        if spent < money - _ROUNDING:
            return ""
        by_others = sum(filter(None, self._others.values()))
        beside = f", ${by_others:.4f} of it by other parts" if by_others else ""
        return f"budget.max_cost_usd is ${money:g}, and ${spent:.4f} is spent{beside}"

    def check(self) -> None:
        """Refuse an attempt that is not begun yet.

        Raises:
            OverBudget: the budget is used up.
            OSError: the ledger cannot be read.
        """
        if why := self.over():
            raise OverBudget(why)

    def note_payment(self, folder: Path, cost_usd: float | None) -> None:
        """Note what an attempt cost, whatever came of it.

        Args:
            folder: the attempt's.
            cost_usd: None if it is not known.

        Raises:
            OSError: the ledger cannot be written.
        """
        if self._config.max_cost_usd is not None:
            # A test by hand has a run of its own, and pays from the budget of its config.
            name = Path(os.path.relpath(folder, self._store.root)).as_posix()
            line = {"attempt": name, "cost_usd": cost_usd}
            if self._shared is not None:
                line["session"] = self._shared.session
                self._shared.note(name, cost_usd)
            self._store.append(LEDGER, line)

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

    def _list_payments(self) -> Iterable[tuple[str, float | None]]:
        """Yield all payments once, by attempt or part: earlier ones may be known from here and from there."""
        yield from self._paid_now.items()
        yield from self._others.items()
        for name in self._paid.keys() | self._earlier.keys():
            here, there = self._paid.get(name, 0.0), self._earlier.get(name, 0.0)
            yield name, None if here is None or there is None else max(here, there)

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
        session = None if self._shared is None else self._shared.session
        for name, cost_usd, of in parse_lines(whole, _take_payment):
            paid = self._paid_now if session is not None and of == session else self._paid
            paid[name] = add_payment(paid, name, cost_usd)


def add_payment(paid: Mapping[str, float | None], name: str, cost_usd: float | None) -> float | None:
    """Return what has been paid for something in all; None if a part of it is not known."""
    before = paid.get(name, 0.0)
    return None if cost_usd is None or before is None else before + cost_usd


def _take_payment(line: Any) -> tuple[str, float | None, str | None]:
    cost_usd = line["cost_usd"]
    return str(line["attempt"]), None if cost_usd is None else float(cost_usd), line.get("session")
