"""One portable page: opened where the run is not, with what fits, and what does not fit told."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.errors import UsageError
from pytest_browsereval.report.viewer.single import write_single
from pytest_browsereval.run.store import RunStore
from tests.labelled import folder_of
from tests.report.viewer.conftest import HOSTILE, Look, Reader

STEP = "#/buy/default/1/attempt-1/step-2"


def test_it_shows_everything_without_the_run(store: RunStore, tmp_path: Path, look: Look) -> None:
    """Steps, pictures, grades; the run's folder has gone, and no link leads to it."""
    file = tmp_path / "sent/page.html"
    file.parent.mkdir()
    written, told = write_single(store.root, file)
    assert (written.attempts, written.damaged, told) == (9, 1, "")
    store.root.rename(tmp_path / "gone")

    async def work(reader: Reader) -> None:
        await reader.open()
        assert await reader.text("#rate") == "50 %"
        await reader.open(STEP)
        pictures = reader.page.locator("#detail img")
        assert await pictures.count() > 0
        for picture in await pictures.all():
            await picture.evaluate("(image) => image.decode()")
        links = await reader.page.evaluate("[...document.querySelectorAll('a[href]')].map((a) => a.href)")
        assert [link for link in links if "tasks" in link or link.startswith("data:image")] == []
        assert await reader.page.title() != "owned"

    look(file, work)
    assert [path.name for path in file.parent.iterdir()] == ["page.html"]


def test_nothing_in_it_runs(store: RunStore, tmp_path: Path, look: Look) -> None:
    """Tasks, names, results and reasons that hold markup and ends of scripts."""
    file = tmp_path / "page.html"
    write_single(store.root, file)
    key = folder_of(store, HOSTILE).relative_to(store.root / "tasks").as_posix()

    async def work(reader: Reader) -> None:
        await reader.open(f"#/{key}/step-1")
        assert await reader.page.title() != "owned"
        assert await reader.page.locator("img[onerror]").count() == 0

    look(file, work)


def test_what_does_not_fit_is_told(store: RunStore, tmp_path: Path, look: Look) -> None:
    """Pictures of attempts that passed go first; the page says how many are missing, and where one was."""
    whole, small = tmp_path / "whole.html", tmp_path / "small.html"
    write_single(store.root, whole)
    size = whole.stat().st_size
    told = ""
    for share in (0.9, 0.6, 0.3):
        most = int(size * share)
        _, told = write_single(store.root, small, most)
        assert small.stat().st_size <= most
        assert told.startswith("Left out, to stay below ")
    with pytest.raises(UsageError, match="without any log or picture the page takes"):
        write_single(store.root, tmp_path / "none.html", 10_000)
    assert "message log" in told

    async def work(reader: Reader) -> None:
        await reader.open()
        assert told in await reader.text("#notes")

    look(small, work)


def test_the_command(store: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It tells what it left out; options that contradict each other are refused."""
    page = str(tmp_path / "page.html")
    run = str(store.root)
    assert main(["view", run, "--single-file", page]) == 0
    assert capsys.readouterr().out.splitlines() == ["9 attempts, 1 of them damaged", page]
    for words, told in (
        (["--max-mb", "3"], "--max-mb has no effect without --single-file FILE."),
        (["--single-file", page, "-o", "x.html"], "Leave one out."),
        (["--single-file", page, "--max-mb", "0.01"], "Type  --max-mb "),
        (["--single-file", str(tmp_path / "page.txt")], "name a file that ends in .html"),
    ):
        assert main(["view", run, *words]) == 4
        assert told in capsys.readouterr().err
