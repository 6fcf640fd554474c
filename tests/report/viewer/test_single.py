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
    assert (written.attempts, written.damaged, told) == (8, 1, "")
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
    """Pictures of attempts that passed are left out first; the page says how many, and where one would be."""
    failed, passed = (folder_of(store, name) / "screenshots" for name in ("buy", "find"))
    for folder in (failed, passed):
        folder.mkdir(exist_ok=True)
        for number in (7, 8):
            (folder / f"{number:03d}.png").write_bytes(bytes([number]) * 60_000)
    file = tmp_path / "page.html"
    _, told = write_single(store.root, file)
    whole = file.stat().st_size
    assert told == ""
    for most, missing in ((whole - 1, 1), (whole - 90_000, 2), (whole - 170_000, 3)):
        _, told = write_single(store.root, file, most)
        assert file.stat().st_size <= most
        assert told == f"Left out, to stay below {most / 1e6:g} MB: {missing} picture{'s' * (missing > 1)}."
    assert '"008.png":"data:image/png;base64,CAgI' in file.read_text()

    async def work(reader: Reader) -> None:
        await reader.open()
        assert told in await reader.text("#notes")

    look(file, work)
    with pytest.raises(UsageError, match="without any log or picture the page takes"):
        write_single(store.root, file, 10_000)


def test_the_command(store: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It tells what it left out; options that contradict each other are refused."""
    page = str(tmp_path / "page.html")
    run = str(store.root)
    assert main(["view", run, "--single-file", page]) == 0
    assert capsys.readouterr().out.splitlines() == ["8 attempts, 1 of them damaged", page]
    for words, told in (
        (["--max-mb", "3"], "--max-mb has no effect without --single-file FILE."),
        (["--single-file", page, "-o", "x.html"], "Leave one out."),
        (["--single-file", page, "--max-mb", "0.01"], "Type  --max-mb "),
        (["--single-file", str(tmp_path / "page.txt")], "name a file that ends in .html"),
    ):
        assert main(["view", run, *words]) == 4
        assert told in capsys.readouterr().err
