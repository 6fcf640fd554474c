"""The items of one process: which come behind one, and no work that grows with what still waits."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from pytest_browsereval.hooks.share import Share


def many(pytester: pytest.Pytester, count: int) -> list[pytest.Item]:
    pytester.makeini("[pytest]\naddopts = -p no:asyncio -p no:playwright")
    return pytester.getitems(
        f"import pytest\n@pytest.mark.parametrize('n', range({count}))\ndef test_it(n): pass"
    )


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


def test_looking_ahead_does_not_look_at_all_that_waits(pytester: pytest.Pytester) -> None:
    """The items behind one are found without a walk over all of them."""
    items, steps = many(pytester, 1000), {}
    config: Any = SimpleNamespace()
    for count in (100, 1000):
        share, own = Share(config, lambda: None), items[:count]
        share.take(own)

        def look(own: list[pytest.Item] = own, share: Share = share) -> None:
            for place, item in enumerate(own):
                assert [*itertools.islice(share.behind(item), 3)] == own[place + 1 : place + 4]

        steps[count] = lines_run(look) / count
    assert steps[1000] < 1.5 * steps[100]


def test_an_item_that_comes_up_again_has_the_same_behind_it(pytester: pytest.Pytester) -> None:
    """Plug-ins that run items again, also earlier ones, find each item's place; an unknown one has none."""
    items = many(pytester, 6)
    config: Any = SimpleNamespace()
    share = Share(config, lambda: None)
    share.take(items[:5])
    for place in (3, 3, 1, 4, 0):
        assert [*share.behind(items[place])] == items[place + 1 : 5]
    assert [*share.behind(items[5])] == []
