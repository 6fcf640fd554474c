"""``browsereval view``: where the page goes, and what is refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from tests.labelled import grade, graded, write_run
from tests.recorded import spoil_line


def test_the_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told how many attempts it shows; details that an earlier, longer page has left are gone."""
    store = write_run(tmp_path / "run", graded("a", grade("x")), graded("b", grade("x")))
    spoil_line(store.root, "b")
    (store.root / "index.files").mkdir()
    for name in ("0002.js", "mine.js"):
        (store.root / "index.files" / name).write_text("")
    assert main(["view", str(store.root)]) == 0
    page = store.root / "index.html"
    assert capsys.readouterr().out == f"2 attempts, 1 of them damaged\n{page}\n"
    assert sorted(file.name for file in (store.root / "index.files").iterdir()) == ["0001.js", "mine.js"]


def test_places_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    """Nothing is written for them, nor for a folder that is no run."""
    store = write_run(tmp_path / "run", graded("a", grade("x")))
    (tmp_path / "folder.html").mkdir()
    before = sorted(tmp_path.rglob("*"))
    cases = {
        "page.txt": "name a file that ends in .html",
        "nowhere/page.html": "does not exist. Make it first",
        "folder.html": "is a folder: name a file in it",
    }
    for place, told in cases.items():
        with subtests.test(place):
            assert main(["view", str(store.root), "-o", str(tmp_path / place)]) == 4
            assert told in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
    assert main(["view", str(tmp_path)]) == 4
    assert "is not a run folder: it has no `tasks/`" in capsys.readouterr().err
