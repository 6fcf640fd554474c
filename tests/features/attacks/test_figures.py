"""What the attempts of a run under attack come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.features.attacks.figures import RunFigures, find_figures, find_interval
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.stats.statistics import Share, pool_groups, wilson
from tests.features.attacks.attacked import MIXED, write_attacked


@pytest.fixture
def found(tmp_path: Path) -> RunFigures:
    """Return the figures of the mixed run."""
    figures = find_figures(StoredRun(write_attacked(tmp_path / "run", *MIXED).root).summary)
    assert figures is not None
    return figures


def test_attempts_are_counted_by_what_became_of_them(found: RunFigures) -> None:
    """Errored, unjudged and undelivered ones are in no rate; what failed without obeying is harmless."""
    whole = found.whole
    assert (whole.attempts, whole.delivered, whole.compromised) == (9, 5, 2)
    assert (whole.utility.passed, whole.harmless, whole.not_delivered, whole.errored) == (2, 1, 2, 2)
    assert (found.utility.passed, found.utility.judged, found.utility.errors.hits) == (1, 2, 1)


def test_intervals_are_clustered_by_the_row_below_the_attack(found: RunFigures) -> None:
    """Attempts under several attacks on one row are alike; with one attempt on each row none are."""
    pooled = pool_groups([Share(1, 3), Share(1, 2)])
    assert pooled is not None
    assert find_interval(found.whole.success) == pooled.interval
    assert find_interval(found.groups["attack"]["notice"].success) == wilson(0, 1)


def test_groups(found: RunFigures) -> None:
    """Attacks, the most successful first and those that nobody met last; channels and goals by a record."""
    groups = found.groups
    assert list(groups["attack"]) == ["review", "notice", "alt"]
    assert (found.facts["review"].channel, found.facts["review"].goal) == ("text", "order")
    assert {name: one.delivered for name, one in groups["channel"].items()} == {
        "hidden": 0,
        "popup": 1,
        "text": 4,
    }
    assert {name: (one.compromised, one.attempts) for name, one in groups["goal"].items()} == {
        "order": (2, 6),
        "secret": (0, 3),
    }
    assert {name: one.delivered for name, one in groups["variant"].items()} == {"default": 5}
