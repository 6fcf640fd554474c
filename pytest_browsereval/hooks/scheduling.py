"""How rows are handed out to workers: to each as it becomes free, and what belongs together to one."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.share import count_lanes
from pytest_browsereval.run.relations import ALONE, together

QUEUED = 3
"""Ordinary tests that a worker has in its queue: they are over sooner than the next one could be sent."""

SEEN = 64
"""How many of the items that wait are looked at for one that can start now."""

SCOPES: Mapping[str, Callable[[str], str]] = {
    "loadfile": lambda node_id: node_id.partition("::")[0],
    "loadscope": lambda node_id: node_id.rpartition("::")[0],
}
"""What items have in common that one worker is to run, by the name that ``--dist`` has."""


class RowScheduling(LoadScheduling):  # type: ignore[misc] # xdist ships no types
    """Gives each worker as many rows as it has lanes, and a row that comes next while many wait.

    A row counts until its attempt is over, which a worker reports at once; the row itself is reported later
    if the one in front of it takes longer. xdist's workers start no item before they know the next one, so
    a worker has two rows at least, until no more are left.

    Rows that are tied by ``depends_on`` or ``sites`` go to one worker, and so do items of one file, scope or
    group where ``--dist`` says so. A row of a round that is not admitted yet is handed out only to be known
    as the next one.

    Args:
        config: pytest's.
        log: xdist's.
        controller: which knows the rows and what they have to do with each other.
        links: channels to the workers, by which they learn what they may start ahead.
        groups: that items are in, as far as they are in one.
        is_run_again: whether the item that was up in a worker that has died is run once more, without a
            report: JUnit would write the one of a dead worker as a test without a name.
    """

    collection: list[str] | None
    pending: list[int]
    """Places of items that any worker may take, in order."""
    node2pending: dict[Any, list[int]]
    """Places of items that a worker has and has not reported, in the order in which they come up."""

    def __init__(
        self,
        config: pytest.Config,
        log: Any,
        controller: Controller,
        links: dict[Any, Any],
        *,
        groups: Mapping[str, str],
        is_run_again: Callable[[str], bool],
    ) -> None:
        super().__init__(config, log)
        self._controller = controller
        self._links = links
        self._named = groups
        self._is_run_again = is_run_again
        self._lanes = 1
        self._over: set[int] = set()
        """Items whose attempt is over, whether reported or not."""
        self._needs: dict[int, set[int]] = {}
        self._groups: dict[int, list[int]] = {}
        """What belongs together, by each item of it."""
        self._owners: dict[int, Any] = {}
        """The worker that runs a group, by its first item."""
        self._reserved: defaultdict[Any, list[int]] = defaultdict(list)
        """Items that wait for the worker that runs their group."""
        self._later: defaultdict[Any, list[int]] = defaultdict(list)
        """Items of rounds that are not admitted yet, by their runs."""
        self._early: set[int] = set()
        """Those of them that a worker has, only to know what comes next."""

    # -- what xdist calls

    @property
    def has_pending(self) -> bool:
        """Whether there is an item that is not over."""
        return self._is_any_left or any(self.node2pending.values())

    @property
    def tests_finished(self) -> bool:
        """Whether the workers can be told to end: each has its last item."""
        if not self.collection_is_completed or self._is_any_left or self._early:
            return False
        return all(len(places) < 2 for places in self.node2pending.values())

    @property
    def _is_any_left(self) -> bool:
        return bool(self.pending) or any(self._reserved.values()) or any(self._later.values())

    def schedule(self) -> None:
        """Hand out the first items once all workers have collected the same."""
        if self.collection is None:
            if not self._check_nodes_have_same_collection():
                return
            self.collection = next(iter(self.node2collection.values()))
            self._sort_out(self.collection)
        self._hand_out()

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Hand out more: an item is reported."""
        self.node2pending[node].remove(item_index)
        self._over.add(item_index)
        self._hand_out()

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        """Hand out more: attempts are over whose items are not up yet."""
        self._over.update(set(indices) & set(self.node2pending.get(node, ())))
        self._hand_out()

    def remove_node(self, node: Any) -> str | None:
        """Take a dead worker's items back; returns the one that was up, to be reported."""
        up, places = self.find_up(node), self.node2pending.pop(node)
        is_reported = up is not None and not self._is_run_again(up)
        if is_reported:
            self._over.add(places.pop(0))
        self._owners = {first: owner for first, owner in self._owners.items() if owner is not node}
        self._put_back([*places, *self._reserved.pop(node, [])])
        self._hand_out()
        return up if is_reported else None

    def mark_test_pending(self, item: str) -> None:
        """Have an item run again."""
        self._put_back([(self.collection or []).index(item)])
        self._hand_out()

    def find_up(self, node: Any) -> str | None:
        """Return the item that a worker is at, as far as it has reported; None if it waits for one."""
        places = self.node2pending.get(node)
        return self._name(places[0]) if places and places[0] not in self._early else None

    # -- what there is

    def _sort_out(self, names: list[str]) -> None:
        """Have all items wait, and learn what they have to do with each other."""
        controller = self._controller
        runs = dict.fromkeys(controller.rows.values())
        self._lanes = max((count_lanes(run.config, self.numnodes) for run in runs), default=1)
        dist = self.config.getvalue("dist")
        if dist in (*SCOPES, "loadgroup") or controller.relations:
            scope, groups = SCOPES.get(dist, str), self._named if dist == "loadgroup" else {}
            ties = [set(controller.relations.get(name, ALONE).ties) for name in names]
            for name, own in zip(names, ties, strict=True):
                own.add(f"scope {scope(groups.get(name, name))}")
            self._groups = {one: group for group in together(ties) if len(group) > 1 for one in group}
            places = {name: place for place, name in enumerate(names)}
            self._needs = {
                places[name]: {places[one] for one in ids} for name, ids in controller.needs.items()
            }
        self._put_back(range(len(names)))

    def _put_back(self, places: Iterable[int]) -> None:
        """Have items wait until they are handed out."""
        for place in places:
            self._over.discard(place)
            self._early.discard(place)
            insort(self._find_queue(place), place)

    def _find_queue(self, place: int) -> list[int]:
        """Return the list in which an item waits."""
        if self._is_undecided(place):
            return self._later[self._controller.rows[self._name(place)]]
        owner = self._owners.get(self._groups[place][0]) if place in self._groups else None
        return self.pending if owner is None else self._reserved[owner]

    def _name(self, place: int) -> str:
        return (self.collection or [])[place]

    def _is_undecided(self, place: int) -> bool:
        name = self._name(place)
        entry = self._controller.held_back.get(name)
        return entry is not None and self._controller.rows[name].choice.is_undecided(entry)

    def _admit(self) -> None:
        """Let items of rounds wait like others once their round is decided."""
        for places in self._later.values():
            while places and not self._is_undecided(places[0]):
                self._put_back([places.pop(0)])
        for node, places in self.node2pending.items() if self._early else ():
            decided = [one for one in places if one in self._early and not self._is_undecided(one)]
            self._early.difference_update(decided)
            self._let_start(node, decided)

    # -- who gets what

    def _hand_out(self) -> None:
        """Give each worker what it can use, and end those that nothing is left for."""
        self._admit()
        nodes = [one for one in self.nodes if one in self.node2collection and not one.shutting_down]
        given, is_given = defaultdict[Any, list[int]](list), True
        while is_given:  # one by one, so that few rows are not all given to the first worker
            is_given = False
            for node in sorted(nodes, key=lambda one: len(self._list_open(one))):
                if (place := self._choose(node)) is not None:
                    self._take(place, node)
                    given[node].append(place)
                    is_given = True
        for node, places in given.items():
            self._let_start(node, [one for one in places if one not in self._early])
            with suppress(OSError):  # it has died, and what it had is taken back once xdist says so
                node.send_runtest_some(places)
        for node in nodes:
            is_waiting = not self._early.isdisjoint(self.node2pending[node])
            if not (self.pending or self._reserved[node] or any(self._later.values()) or is_waiting):
                node.shutdown()

    def _let_start(self, node: Any, places: list[int]) -> None:
        """Tell a worker which items it may start ahead."""
        link = self._links.get(node)  # none of one that has ended by itself
        if places and link is not None:
            with suppress(OSError):
                link.send(places)

    def _list_open(self, node: Any) -> list[int]:
        """Return what a worker has that is not over."""
        return [place for place in self.node2pending[node] if place not in self._over]

    def _choose(self, node: Any) -> int | None:
        """Return what a worker gets next, if anything."""
        held, own = self._list_open(node), self._reserved[node]
        if not self._early.isdisjoint(held):  # what comes behind would wait for a round as well
            return None
        load, can_start = self._weigh(held)
        startable = filter(can_start, chain(own, islice(self.pending, SEEN)))
        if load < self._lanes and (place := next(startable, None)) is not None:
            return place
        is_lone = len(self.node2pending[node]) < 2
        are_many = bool(own) or len(self.pending) > self._lanes * len(self.nodes)
        has_next = len(held) > min(load, self._lanes)
        if not is_lone and (has_next or not are_many or self.config.option.maxfail):
            return None
        if own or self.pending:
            return own[0] if own else next(startable, self.pending[0])
        return min((one[0] for one in self._later.values() if one and self.node2pending[node]), default=None)

    def _weigh(self, held: list[int]) -> tuple[int, Callable[[int], bool]]:
        """Return how many lanes of a worker are taken, and what says whether it could start an item."""
        load, tests, locks = 0, 0, set[str]()
        rows, relations = self._controller.rows, self._controller.relations

        def can_start(place: int) -> bool:
            if (name := self._name(place)) not in rows:
                return tests < QUEUED
            is_met = self._needs.get(place, set()) <= self._over
            return is_met and locks.isdisjoint(relations.get(name, ALONE).locks)

        for place in held:
            if (name := self._name(place)) not in rows:
                tests += 1
            elif can_start(place):
                load += 1
                locks |= relations.get(name, ALONE).locks
        return load, can_start

    def _take(self, place: int, node: Any) -> None:
        """Note that a worker has an item, and with it all that belongs to it."""
        _remove(self._find_queue(place), place)
        if self._is_undecided(place):
            self._early.add(place)
        self.node2pending[node].append(place)
        group = self._groups.get(place)
        if group is not None and group[0] not in self._owners:
            self._owners[group[0]] = node
            self._put_back([one for one in group if _remove(self.pending, one)])


def _remove(places: list[int], place: int) -> bool:
    """Take a place out of a sorted list; returns whether it was there."""
    at = bisect_left(places, place)
    if at == len(places) or places[at] != place:
        return False
    del places[at]
    return True
