"""How far all parts of a run are, as ``browsereval ray`` shows it."""

from __future__ import annotations

import io
import sys

import pytest

from pytest_browsereval.features.ray.part import PartState
from pytest_browsereval.features.ray.progress import Progress, describe


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others print meanwhile stays above it, without what a terminal would obey."""
    monkeypatch.setenv("COLUMNS", "40")
    screen = Screen()
    progress = Progress(2, screen)
    progress.show({}, 0, 1, 1)
    progress.show({}, 0, 1, 1)
    with progress.others():
        sys.stdout.write("\x1b[33m(raylet)\x1b[0m a node is gone\x1b]0;owned\x07\n    [state-dump] a log")
        progress.show({}, 1, 0, 1)
    assert screen.getvalue() == (
        "\r0 parts done, 1 running, 1 waiting · 0…"
        "\r\x1b[K(raylet) a node is gone ]0;owned \n"
        "\r1 part done, 0 running, 1 waiting · 0 …\n"
    )


def test_a_log_has_a_line_now_and_then() -> None:
    """The first at once; the next one waits."""
    log = io.StringIO()
    progress = Progress(2, log)
    progress.show({}, 0, 1, 1)
    progress.show({}, 1, 1, 1)
    assert log.getvalue() == "0 parts done, 1 running, 1 waiting · 0 trials · 1 node\n"


def test_the_line_says_how_far_all_is() -> None:
    """Counts of parts, and what is known of the trials so far."""
    states = {1: PartState(5, 4, 5, 1.25), 2: PartState(3, 1, 2, 0.5, is_cost_known=False)}
    text = describe(states, 64, 12, 8, 3)
    assert text == "12 parts done, 8 running, 44 waiting · 8 trials, 71.4% passed · $1.75+ · 3 nodes"
    assert len(text) <= 80
    assert describe({}, 1, 0, 0, 1) == "0 parts done, 0 running, 1 waiting · 0 trials · 1 node"
