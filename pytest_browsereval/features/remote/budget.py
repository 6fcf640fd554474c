"""The budget of a run at a URL: what each part has paid lies there, where all parts read it.

An object for the payments of a process, written anew with each payment; its name has the sum, so that one
listing tells what all have spent::

    RUN/spent/3-of-8/SESSION-gw0-0000-017-2430000      17 payments in its first series, 2.43 dollars
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pytest

from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import FORM, Part, read_json
from pytest_browsereval.features.remote.threads import run_apart, start_apart
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.budget import add_payment
from pytest_browsereval.run.shards import Shard, read_shard

SPENT = "spent"
SERIES = 100
"""Payments in one object at most: each payment writes it anew."""

UNSENT = "browsereval_unsent_payments"
"""Under which a worker reports why payments could not be sent."""

_MICRO = 1_000_000
_UNKNOWN = "unknown"
_NAME = re.compile(r"(\d+-of-\d+)/([0-9a-f]{16})-([a-z]+\d*)-(\d{4,})-(\d{3,})-(\d+|unknown)")

Payments = dict[str, float | None]


class Ledger:
    """What the parts of a run have paid, as a process of one of them sees it.

    Args:
        bucket: at the URL of the run.
        part: the part's name, such as ``3-of-8``.
        session: 16 hex digits, the same for all processes of a session.
        process: its name in the session.
    """

    def __init__(self, bucket: Bucket, part: str, session: str, process: str) -> None:
        self.session = session
        self._bucket = bucket
        self._part = part
        self._process = process
        self._noted: list[tuple[str, float | None]] = []
        self._posted = 0
        self._last: tuple[int, str] | None = None
        """Series and path of the object that was written last."""
        self._posting = threading.Lock()
        self._known: dict[str, Payments] = {}
        """Payments by object, of earlier sessions of this part."""

    def note(self, attempt: str, cost_usd: float | None) -> None:
        """Let the others know what an attempt cost; does not wait for it."""
        self._noted.append((attempt, cost_usd))
        start_apart(self.post)  # an error is met again by whoever reads next

    async def read(self) -> tuple[Payments, Payments]:
        """Return what earlier sessions of this part have paid, by attempt, and each other part, by its name.

        Raises:
            RemoteError: the store cannot be used.
        """
        return await asyncio.wrap_future(start_apart(self._exchange))

    def post(self) -> None:
        """Write down what is not there yet.

        Raises:
            RemoteError: it cannot be written.
        """
        with self._posting:
            while self._posted < len(self._noted):
                series = self._posted // SERIES
                payments = self._noted[series * SERIES : (series + 1) * SERIES]
                total: Payments = {}
                for _, cost_usd in payments:
                    total[""] = add_payment(total, "", cost_usd)
                money = _UNKNOWN if total[""] is None else round(total[""] * _MICRO)
                name = f"{self.session}-{self._process}-{series:04}-{len(payments):03}-{money}"
                path = f"{SPENT}/{self._part}/{name}"
                self._bucket.put(path, json.dumps({"form": FORM, "payments": payments}).encode())
                self._posted = series * SERIES + len(payments)
                if self._last is not None and self._last[0] == series:
                    with suppress(RemoteError):  # the one with more payments counts
                        self._bucket.delete(self._last[1])
                self._last = series, path

    def _exchange(self) -> tuple[Payments, Payments]:
        self.post()
        while True:
            with suppress(FileNotFoundError):  # a process has written one anew just now
                return self._look()

    def _look(self) -> tuple[Payments, Payments]:
        earlier: Payments = {}
        others: Payments = {}
        for path, part, session, cost_usd in self._list():
            if part != self._part:
                others[part] = add_payment(others, part, cost_usd)
            elif session != self.session:
                for name, paid in self._read_payments(path).items():
                    earlier[name] = add_payment(earlier, name, paid)
        return earlier, others

    def _list(self) -> list[tuple[str, str, str, float | None]]:
        """Return path, part, session and sum of each object that counts."""
        newest: dict[tuple[str, ...], tuple[int, str, str]] = {}
        for path in self._bucket.list_all(SPENT):
            match = _NAME.fullmatch(path)
            if match is None:
                raise RemoteError(
                    f"{self._bucket.url}/{SPENT}/{path} is not a payment that this version knows."
                )
            *key, count, money = match.groups()
            newest[tuple(key)] = max(newest.get(tuple(key), (0, "", "")), (int(count), path, money))
        return [
            (path, key[0], key[1], None if money == _UNKNOWN else int(money) / _MICRO)
            for key, (_, path, money) in newest.items()
        ]

    def _read_payments(self, path: str) -> Payments:
        if path not in self._known:
            place = f"{SPENT}/{path}"
            content = self._bucket.get(place)
            if content is None:
                raise FileNotFoundError(place)
            payments: Payments = {}
            try:
                for name, cost_usd in read_json(content, f"{self._bucket.url}/{place}")["payments"]:
                    payments[str(name)] = add_payment(
                        payments, str(name), None if cost_usd is None else float(cost_usd)
                    )
            except (KeyError, TypeError, ValueError):
                raise RemoteError(f"{self._bucket.url}/{place} is damaged.") from None
            self._known[path] = payments
        return self._known[path]


class SharedBudget:
    """Has ``budget.max_cost_usd`` hold for all parts of a run at a URL.

    Args:
        session: the eval session.
        url: of the folder of all runs.
        name: of the runs of this session there; None for their ids.
    """

    def __init__(self, session: EvalSession, url: str, name: str | None) -> None:
        self._session = session
        self._url = url
        self._name = name
        self._ledgers: list[Ledger] = []
        self._unsent: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Let attempts read what others have paid, and the others know what they pay."""
        for active_run in dict.fromkeys(self._session.runs.values()):
            if active_run.config.budget.max_cost_usd is not None and not session.config.option.collectonly:
                self._ledgers.append(self._open(active_run, session.config))
                active_run.budget.share(self._ledgers[-1])
        try:
            return (yield)
        finally:
            for ledger in self._ledgers:
                try:
                    run_apart(ledger.post)
                except RemoteError as error:
                    self._unsent.append(str(error))
            if self._session.is_worker:
                session.config.workeroutput[UNSENT] = self._unsent  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker could not send."""
        self._unsent += getattr(node, "workeroutput", {}).get(UNSENT, [])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Warn that other parts do not know of all payments."""
        for problem in dict.fromkeys(self._unsent):
            line = f"payments of this part were not sent, so others may exceed the budget: {problem}"
            terminalreporter.write_line(line, red=True)

    def _open(self, active_run: ActiveRun, config: pytest.Config) -> Ledger:
        given = config.getoption("eval_shard", None)
        shard = Shard(1, 1) if given is None else read_shard(given)
        name = active_run.store.root.resolve().name if self._name is None else self._name
        bucket = Bucket.open(
            f"{self._url.rstrip('/')}/{safe_folder(active_run.config.name)}/{name}", is_written=True
        )
        mark = f"{self._session.run_id} {self._session.began!r}"
        session = hashlib.blake2b(mark.encode(), digest_size=8).hexdigest()
        return Ledger(bucket, Part(bucket, shard).name, session, self._session.worker)
