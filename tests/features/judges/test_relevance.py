from __future__ import annotations

import pytest

from pytest_browsereval.features.judges.relevance import (
    Matched,
    Use,
    pick_best,
    pick_by_criterion,
    take_turns,
)


def test_the_best_pictures(subtests: pytest.Subtests) -> None:
    """From 3 on, ten at most; fewer than three are joined by the five best; in the order of their numbers."""
    cases: list[tuple[dict[int, int], list[int]]] = [
        ({1: 5, 2: 3, 3: 2, 4: 4}, [1, 2, 4]),
        (dict.fromkeys(range(1, 31), 3), list(range(21, 31))),  # among equals the later ones
        ({n: 5 if n <= 10 else 4 for n in range(1, 31)}, list(range(1, 11))),
        (dict.fromkeys(range(1, 12), 1), [7, 8, 9, 10, 11]),  # none is kept: the five best of all
        ({1: 5, 2: 5, **dict.fromkeys(range(3, 12), 2)}, [1, 2, 9, 10, 11]),  # two are kept
        ({1: 2, 2: 1}, [1, 2]),
    ]
    for ratings, expected in cases:
        with subtests.test(ratings=ratings, expected=expected):
            assert pick_best(ratings, keep=3, most=10) == expected


def test_the_best_pictures_of_each_criterion() -> None:
    """Best first, no more than asked for, none below the limit; ids of no criterion are passed over."""
    matches = [
        Matched(picture=n, shows=".", criteria=tuple(Use(id=key, rating=rating) for key, rating in uses))
        for n, uses in enumerate([[("C1", 3), ("C9", 5)], [("C1", 5)], [("C2", 2)], [("C1", 3)], []], start=1)
    ]
    assert pick_by_criterion(matches, ["C1", "C2"], keep=3, most=2) == {"C1": [2, 4], "C2": []}


def test_turns_share_a_limit() -> None:
    """Each ranking gives its first before any gives its second; nothing is taken twice."""
    assert take_turns([[9], [1, 2, 3], [], [1, 5]], 4) == [9, 1, 2, 5]
    assert take_turns([], 4) == []
