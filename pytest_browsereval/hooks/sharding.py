"""``--eval-shard``: of the rows of each eval only those of one part of the run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.order import relations_of
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.run.evaluation import Evaluation
from pytest_browsereval.run.finding import run_folder
from pytest_browsereval.run.relations import groups
from pytest_browsereval.run.shards import Shard, read_shard, shards_of
from pytest_browsereval.run.store import RunStore


def shard_of(text: str) -> Shard:
    """Return the shard that the command line names.

    Raises:
        pytest.UsageError: it is none.
    """
    try:
        return read_shard(text)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


class Sharding:
    """Deselects the rows of the other shards; ordinary tests belong to the first.

    Args:
        session: the eval session.
        shard: which part this session runs.
    """

    def __init__(self, session: EvalSession, shard: Shard) -> None:
        self._session = session
        self._shard = shard

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Do so before anything else selects: the shards do not depend on what each of them selects.

        Raises:
            pytest.UsageError: the run that durations are taken from cannot be read.
        """
        rows: defaultdict[Evaluation, list[EvalItem]] = defaultdict(list)
        for item in items:
            if isinstance(item, EvalItem):
                rows[item.evaluation].append(item)
        try:
            kept = {item for evaluation, of in rows.items() for item in self._kept(evaluation, of)}
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        others = [item for item in items if not self._is_kept(item, kept)]
        if others:
            config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if self._is_kept(item, kept)]

    def _is_kept(self, item: pytest.Item, kept: set[EvalItem]) -> bool:
        return item in kept if isinstance(item, EvalItem) else self._shard.number == 1

    def _kept(self, evaluation: Evaluation, items: Sequence[EvalItem]) -> list[EvalItem]:
        found = _row_groups(evaluation, items)
        shards = shards_of(found, self._shard.of, self._seconds(evaluation))
        mine = {
            query_id
            for ids, shard in zip(found, shards, strict=True)
            if shard == self._shard.number
            for query_id in ids
        }
        return [item for item in items if item.entry.ref.query_id in mine]

    def _seconds(self, evaluation: Evaluation) -> dict[str, float]:
        """Return how long each row took in the run that the command line names."""
        given = self._session.config.getoption("eval_shard_by")
        if given is None:
            return {}
        base = self._session.config.invocation_params.dir
        folder = run_folder(evaluation.config, given, base, before=self._session.run_id)
        found: defaultdict[str, float] = defaultdict(float)
        for _, data in RunStore(folder).digests():
            found[data.query_id] += (data.total_duration_ms or 0) / 1000
        return dict(found)


def _row_groups(evaluation: Evaluation, items: Sequence[EvalItem]) -> list[list[str]]:
    """Return the ids of rows, together where they rest on each other, whatever their variants and trials."""
    first = {item.entry.ref.query_id: item for item in items}
    if not evaluation.plan.may_relate(len(items)):
        return [[query_id] for query_id in first]
    ids = list(first)
    return [
        [ids[place] for place in group]
        for group in groups([relations_of(first[query_id]) for query_id in ids])
    ]
