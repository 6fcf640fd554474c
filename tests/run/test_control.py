"""What is wanted of a run, as each of its processes reads it before an attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.run.control import CONTROL, Control, ControlState
from pytest_browsereval.run.store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "run")


def test_it_is_for_one_session(store: RunStore) -> None:
    """What was wanted of an earlier session does not stop one that goes on with the run."""
    Control(store, "s1").write_state(ControlState(stopped=True))
    assert Control(store, "s1").read_state() == ControlState(stopped=True)
    assert Control(store, "s2").read_state() == ControlState()
    assert Control(store).read_state() == ControlState()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"session": "s1"}', '{"session": "s1", "paused": 1}'])
def test_a_damaged_file_wants_nothing(store: RunStore, content: str) -> None:
    """A run goes on whatever somebody has made of the file."""
    store.root.mkdir()
    (store.root / CONTROL).write_text(content)
    assert Control(store, "s1").read_state() == ControlState()
