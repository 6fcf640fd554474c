"""Attempts as the viewer reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.shared.viewer.attempts import iter_attempts, read_lines
from pytest_browsereval.runs.run import StoredRun
from tests.labelled import folder_of, graded, write_run


def pipe(file: Path) -> None:
    os.mkfifo(file)


def link(file: Path) -> None:
    elsewhere = file.parents[2] / f"elsewhere-{file.name}"
    elsewhere.write_text("what nobody is to see")
    file.symlink_to(elsewhere)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("put", [pipe, link])
def test_what_a_program_has_put_in_place_of_a_file_is_not_read(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    """A pipe would hold the reader for ever, and a link would show a file from anywhere."""
    store = write_run(tmp_path / "run", graded("a"), graded("b"))
    folder = folder_of(store, "a")
    (lines,) = (store.root / "attempts").iterdir()
    for file in (lines, folder / "messages.jsonl"):
        file.unlink()
        put(file)
    found = {Path(one.folder): one for one in iter_attempts(StoredRun(store.root, open_door()))}
    assert found[folder].metadata is None
    assert "cannot be read" in found[folder].problem
    assert read_lines(str(folder / "messages.jsonl"), 1_000) == ("", 0)
