"""``--eval-shard``: of the rows of each eval only those of one part of the run."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.names import is_by_hand
from pytest_browsereval.hooks.order import relations_of
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.run.relations import groups
from pytest_browsereval.run.shards import Parts, Shard


class Sharding:
    """Deselects rows and hand-written tests of the other shards; ordinary tests belong to the first.

    Args:
        session: the eval session.
        shard: which part this session runs.
    """

    def __init__(self, session: EvalSession, shard: Shard) -> None:
        self._session = session
        self._shard = shard

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Divide the rows before anything else selects, and leave those of other parts out after it.

        So the parts do not depend on what is selected, and each of them knows how much the others have.
        """
        by_hand = _shards_by_hand([item for item in items if is_by_hand(item)], self._shard.of)
        rows: defaultdict[ActiveRun, list[EvalItem]] = defaultdict(list)
        for item in items:
            if isinstance(item, EvalItem):
                rows[item.active_run].append(item)
        try:
            shards = {active_run: self._shards(active_run, of) for active_run, of in rows.items()}
        except UsageError as error:
            self._session.problems.append(error)  # raised by a worker, it would be an internal error
            yield
            return
        yield
        for active_run, found in shards.items():
            active_run.divide(self._parts(active_run, found, items))
        numbers = {item: by_hand.get(item) or self._shard_of(item, shards) for item in items}
        others = [item for item in items if numbers[item] != self._shard.number]
        if others:
            config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if numbers[item] == self._shard.number]

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        """Say why nothing has run: a part without a row is as it should be."""
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            shard = self._shard
            terminalreporter.write_line(
                f"shard {shard} has none of the selected rows (exit code {int(exitstatus)}). "
                "`browsereval merge` does not need it."
            )

    def _shards(self, active_run: ActiveRun, items: Sequence[EvalItem]) -> dict[str, int]:
        """Return the part of each row.

        Raises:
            UsageError: the run that is resumed has divided its rows otherwise.
        """
        found = _row_groups(active_run, items)
        numbers = shards_of(found, self._shard.of)
        shards = {query_id: number for ids, number in zip(found, numbers, strict=True) for query_id in ids}
        before = Parts.of_run(active_run.store.run.read_manifest()) if active_run.trials.has_earlier else None
        if before is not None and before.by != division_of(shards):
            raise UsageError(
                f"the rows of the run {active_run.store.root.name} were divided differently. Write the "
                "--eval-limit that it was begun with."
            )
        return shards

    def _parts(self, active_run: ActiveRun, shards: dict[str, int], items: Iterable[pytest.Item]) -> Parts:
        selected = (i for i in items if isinstance(i, EvalItem) and i.active_run is active_run)
        counts = Counter(shards[item.entry.ref.query_id] for item in selected)
        trials = tuple(counts[number] for number in range(1, self._shard.of + 1))
        return Parts(self._shard.of, (self._shard.number,), trials, division_of(shards))

    def _shard_of(self, item: pytest.Item, shards: dict[ActiveRun, dict[str, int]]) -> int:
        return shards[item.active_run][item.entry.ref.query_id] if isinstance(item, EvalItem) else 1


def _row_groups(active_run: ActiveRun, items: Sequence[EvalItem]) -> list[list[str]]:
    """Return the ids of rows, together where they rest on each other, of all variants and trials."""
    first = {item.entry.ref.query_id: item for item in items}
    if not active_run.plan.relates:
        return [[query_id] for query_id in first]
    ids = list(first)
    return [
        [ids[place] for place in group]
        for group in groups([relations_of(first[query_id]) for query_id in ids])
    ]


def _shards_by_hand(items: Sequence[pytest.Item], of: int) -> dict[pytest.Item, int]:
    """Return the part of each hand-written test: that of its row, so that a row is in one part everywhere."""
    specs = {item: getattr(item, "callspec", None) for item in items}
    entries = {item: spec and spec.params.get("eval_task") for item, spec in specs.items()}
    rows = {item: one.ref.query_id for item, one in entries.items() if isinstance(one, Entry)}
    others = {item: item.nodeid for item in items if item not in rows}
    found: dict[pytest.Item, int] = {}
    for names in (rows, others):
        ids = list(dict.fromkeys(names.values()))
        numbers = dict(zip(ids, shards_of([[one] for one in ids], of), strict=True))
        found |= {item: numbers[name] for item, name in names.items()}
    return found


# -- which rows each part has, the same on every machine


def division_of(shards: Mapping[str, int]) -> str:
    """Return 16 hex digits over which row is in which part: two machines must agree on it.

    Args:
        shards: the part of each row, by its id.
    """
    lines = "".join(f"{query_id}\0{shard}\n" for query_id, shard in sorted(shards.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def shards_of(groups: Sequence[Sequence[str]], of: int) -> list[int]:
    """Return the number of the shard of each group of rows that belong together, from 1.

    The largest group goes first, each to the shard that has least so far (Graham 1969), so that shards are
    even in number.

    Args:
        groups: ids of rows; no id is in two of them.
        of: how many shards there are.
    """
    found, loads = [0] * len(groups), [0] * of
    for place in sorted(range(len(groups)), key=lambda place: (-len(groups[place]), min(groups[place]))):
        least = min(range(of), key=lambda shard: (loads[shard], shard))
        found[place], loads[least] = least + 1, loads[least] + len(groups[place])
    return found
