"""Rows come after those that they depend on, each trial once; the controller learns their groups."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pytest

from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.share import Share
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.relations import ALONE, Relations

Trial = tuple[ActiveRun, TrialKey]
"""A trial of one of several evals."""


class Order:
    """Moves items up that others wait for; all else stays in its order."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, Any, Any]:
        """Do so after everything else that selects, shuffles or sorts."""
        result = yield
        # A second item of a trial (`--keep-duplicates`) would run a failed row again.
        seen: dict[ActiveRun, set[str]] = {}
        once: list[pytest.Item] = []
        repeated: list[EvalItem] = []
        for item in items:
            if isinstance(item, EvalItem):
                names = seen.setdefault(item.active_run, set())
                if item.name in names:
                    repeated.append(item)
                    continue
                names.add(item.name)
            once.append(item)
        if repeated:
            items[:] = once
            config.hook.pytest_deselected(items=repeated)
        if any(relations_of(item).depends_on for item in find_related(items)):
            items[:] = in_order(items)
        return result


def relations_of(item: pytest.Item) -> Relations:
    """Return what an item's row has to do with others; nothing for an ordinary test."""
    return item.active_run.plan.relations(item.entry) if isinstance(item, EvalItem) else ALONE


def find_related(items: Sequence[pytest.Item]) -> list[EvalItem]:
    """Return the items whose rows may have to do with others: none of most evals."""
    rows = [item for item in items if isinstance(item, EvalItem)]
    relating = {one for one in {item.active_run for item in rows} if one.plan.relates}
    return [item for item in rows if item.active_run in relating] if relating else []


def needs_of(item: pytest.Item) -> Iterator[Trial]:
    """Yield the keys of the trials that an item's trial depends on."""
    if isinstance(item, EvalItem):
        for query_id in relations_of(item).depends_on:
            yield item.active_run, TrialKey(query_id, item.entry.variant, item.entry.trial)


def key_of(item: EvalItem) -> Trial:
    """Return the key of an item's trial."""
    return item.active_run, item.entry.key


def in_order(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the items, each after those that it depends on; a ring, which is refused later, is left."""
    by_key = {key_of(item): item for item in items if isinstance(item, EvalItem)}
    placed: dict[pytest.Item, None] = {}
    for item in items:
        pending, begun = [item], set[pytest.Item]()
        while pending:
            top = pending[-1]
            begun.add(top)
            wanted = (by_key[key] for key in needs_of(top) if key in by_key) if top not in placed else ()
            before = next((other for other in wanted if other not in placed and other not in begun), None)
            if before is None:
                placed[pending.pop()] = None
            else:
                pending.append(before)
    return list(placed)


class Groups:
    """Tells the controller which groups items are in, for ``--dist loadgroup``.

    xdist 3.8 has workers write ``@group`` after ids for that, into an attribute that pytest 9.1 and later do
    not read: each test would be a group of its own, without a word.

    Args:
        share: has the way to the controller.
    """

    def __init__(self, share: Share) -> None:
        self._share = share

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Do so before xdist sends the ids."""
        groups = [(item.nodeid, "_".join(sorted(list_groups(item)))) for item in items]
        if named := [[node_id, group] for node_id, group in groups if group]:
            self._share.send(named)


def list_groups(item: pytest.Item) -> set[str]:
    """Return the names of the groups that an item is in, by ``xdist_group``."""
    marks = item.iter_markers("xdist_group")
    return {str(mark.args[0] if mark.args else mark.kwargs.get("name", "default")) for mark in marks}
