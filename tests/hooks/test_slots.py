"""Slots of xdist workers: each in order, each item once, and no work that grows with what still waits."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from pytest_browsereval.hooks.partition import Partition
from pytest_browsereval.hooks.xdist import QUEUED, SlotScheduling


class Node:
    """What xdist's controller knows a worker by."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.sent: list[int] = []

    def send_runtest_some(self, places: list[int]) -> None:
        self.sent += places

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def config(pytester: pytest.Pytester) -> pytest.Config:
    return pytester.parseconfig("-p", "xdist", "--tx=2*popen", "--dist=load")


def scheduled(config: pytest.Config, count: int) -> tuple[SlotScheduling, list[Node], dict[str, int]]:
    """Return a scheduler of two workers that have collected so many items, what was sent first included."""
    slots = {"gw0": 0, "gw1": 1}
    scheduling = SlotScheduling(config, None, slots, {})
    nodes = [Node(name) for name in slots]
    for node in nodes:
        scheduling.add_node(node)
        scheduling.add_node_collection(node, [f"item {n}" for n in range(count)])
    scheduling.schedule()
    return scheduling, nodes, slots


def finish_all(scheduling: SlotScheduling, nodes: list[Node]) -> None:
    """Have every worker finish what it is sent, in turn."""
    for place in itertools.count():
        mine = [node for node in nodes if place < len(node.sent)]
        if not mine:
            return
        for node in mine:
            scheduling.mark_test_complete(node, node.sent[place])


def lines_run(call: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs, each turn of a loop counted."""
    count, before = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def test_a_slot_is_sent_in_order_and_once(config: pytest.Config) -> None:
    """Each worker gets every second item, a few at a time, and ends after its last one."""
    scheduling, nodes, _ = scheduled(config, 21)
    assert [node.sent for node in nodes] == [[0, 2, 4], [1, 3, 5]]
    assert not any(node.shutting_down for node in nodes)
    finish_all(scheduling, nodes)
    assert [node.sent for node in nodes] == [[*range(0, 21, 2)], [*range(1, 21, 2)]]
    assert all(node.shutting_down for node in nodes)
    assert not scheduling.has_pending


def test_a_replacement_takes_a_dead_workers_slot_over_in_order(config: pytest.Config) -> None:
    """What was queued in the dead worker and the item that is run again come before what was not sent yet."""
    scheduling, (dead, other), slots = scheduled(config, 20)
    scheduling.mark_test_complete(dead, 0)
    assert scheduling.remove_node(dead) == "item 2"
    scheduling.mark_test_pending("item 2")
    assert other.sent == [1, 3, 5]
    slots["gw2"] = slots.pop("gw0")
    replacement = Node("gw2")
    scheduling.add_node(replacement)
    scheduling.add_node_collection(replacement, [f"item {n}" for n in range(20)])
    scheduling.schedule()
    finish_all(scheduling, [replacement, other])
    assert replacement.sent == [*range(2, 20, 2)]
    assert other.sent == [*range(1, 20, 2)]


def test_topping_up_does_not_look_at_all_that_waits(config: pytest.Config) -> None:
    """Handing an item to a worker takes as many steps with 2,000 items as with 200."""
    steps = {}
    for count in (200, 2000):
        scheduling, nodes, _ = scheduled(config, count)
        steps[count] = lines_run(lambda s=scheduling, n=nodes: finish_all(s, n)) / count  # type: ignore[misc]
        assert sum(len(node.sent) for node in nodes) == count
    assert steps[2000] < 1.5 * steps[200]


WORKER = {"workercount": 2, "browsereval_dist": "load", "browsereval_slot": 1}


def many(pytester: pytest.Pytester, count: int) -> list[pytest.Item]:
    pytester.makeini("[pytest]\naddopts = -p no:asyncio -p no:playwright")
    return pytester.getitems(
        f"import pytest\n@pytest.mark.parametrize('n', range({count}))\ndef test_it(n): pass"
    )


@pytest.mark.parametrize("given", [{}, WORKER], ids=["one process", "a worker"])
def test_looking_ahead_does_not_look_at_all_that_waits(
    pytester: pytest.Pytester, given: dict[str, Any]
) -> None:
    """The items behind one are of the same slot and in order, and finding them takes no walk over all."""
    items, steps = many(pytester, 1000), {}
    config: Any = SimpleNamespace(workerinput=given) if given else SimpleNamespace()
    for count in (100, 1000):
        partition = Partition(config)
        partition.take(items[:count])
        own = items[1:count:2] if given else items[:count]

        def look(own: list[pytest.Item] = own, partition: Partition = partition) -> None:
            for place, item in enumerate(own):
                found = [*itertools.islice(partition.behind(item), QUEUED)]
                assert found == own[place + 1 : place + 1 + QUEUED]

        steps[count] = lines_run(look) / count
    assert steps[1000] < 1.5 * steps[100]


def test_an_item_that_comes_up_again_has_the_same_behind_it(pytester: pytest.Pytester) -> None:
    """Plug-ins that run items again, also earlier ones, find each item's place; an unknown one has none."""
    items = many(pytester, 6)
    config: Any = SimpleNamespace()
    partition = Partition(config)
    partition.take(items[:5])
    for place in (3, 3, 1, 4, 0):
        assert [*partition.behind(items[place])] == items[place + 1 : 5]
    assert [*partition.behind(items[5])] == []
