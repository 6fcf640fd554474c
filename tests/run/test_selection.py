"""Which trials a run is to have: noted once each, and unknown rather than guessed."""

from __future__ import annotations

from pathlib import Path

from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.selection import AT_ONCE, SELECTED_FILE, note_selected, read_selected
from pytest_browsereval.run.store import RunStore

A, B, C = TrialKey("a"), TrialKey("b", "kimi", 2), TrialKey("c\u2028\n")


def test_sessions_add_what_is_new(tmp_path: Path) -> None:
    """A trial that is selected again is not written again; ids may be anything, and thousands."""
    store = RunStore(tmp_path / "run")
    assert read_selected(store.run) == frozenset()
    note_selected(store, [A, B, A])
    store.write_manifest({})
    note_selected(RunStore(tmp_path / "run", worker="gw1"), [B, C])
    assert read_selected(store.run) == frozenset((A, B, C))
    size = (store.root / SELECTED_FILE).stat().st_size
    note_selected(store, [C, A])
    assert (store.root / SELECTED_FILE).stat().st_size == size
    many = [TrialKey(str(number)) for number in range(2 * AT_ONCE + 1)]
    note_selected(store, many)
    assert read_selected(store.run) == frozenset((A, B, C, *many))
