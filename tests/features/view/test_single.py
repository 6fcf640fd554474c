"""One portable page: opened where the run is not, with what fits, and what does not fit told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.gates import write_gate
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from pytest_browsereval.features.view.single import write_single
from pytest_browsereval.model.messages import UserMessage
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run.store import RunStore
from tests.features.shared.viewer.conftest import HOSTILE, Look, Reader, write_log
from tests.labelled import folder_of, grade, graded, paint, write_run
from tests.recorded import PASSED

LINE = '{"type": "user", "content": "é"}\n'
STEP = "#/buy/default/1/attempt-1/step-2"


@pytest.mark.slow
def test_it_shows_everything_without_the_run(store: RunStore, tmp_path: Path, look: Look) -> None:
    """Steps, pictures, grades; the run's folder has gone, and no link leads to it."""
    file = tmp_path / "sent/page.html"
    file.parent.mkdir()
    written, told = write_single(open_door(), store.root, file)
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
    write_single(open_door(), store.root, file)
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
    _, told = write_single(open_door(), store.root, file)
    whole = file.stat().st_size
    assert told == ""
    for most, missing in ((whole - 1, 1), (whole - 90_000, 2), (whole - 170_000, 3)):
        _, told = write_single(open_door(), store.root, file, most)
        assert file.stat().st_size <= most
        assert told == f"Left out, to stay below {most / 1e6:g} MB: {missing} picture{'s' * (missing > 1)}."
    assert '"008.png":"data:image/png;base64,CAgI' in file.read_text()

    async def work(reader: Reader) -> None:
        await reader.open()
        assert told in await reader.text("#notes")

    look(file, work)
    with pytest.raises(UsageError, match="without any log or picture the page takes"):
        write_single(open_door(), store.root, file, 10_000)


def test_the_command(store: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It tells what it left out; options that contradict each other are refused."""
    page = str(tmp_path / "page.html")
    run = str(store.root)
    assert main(["view", run, "--single-file", page]) == 0
    assert capsys.readouterr().out.splitlines() == ["8 attempts, 1 of them damaged", page]
    for words, told in (
        (["--max-mb", "3"], "--max-mb has no effect without --single-file FILE."),
        (["--single-file", page, "-o", "x.html"], "Leave one out."),
        (["--single-file", page, "--max-mb", "0.01"], "Add `--max-mb "),
        (["--single-file", str(tmp_path / "page.txt")], "name a file that ends in .html"),
    ):
        assert main(["view", run, *words]) == 4
        assert told in capsys.readouterr().err


def alone(run: Path, file: Path, most: int = 25_000_000) -> tuple[dict[str, Any], str]:
    """Return the details in a run's page by the tasks' names, and what it says that it left out."""
    _, told = write_single(open_door(), run, file, most)
    assert file.stat().st_size <= most
    blocks = re.findall(r'data-chunk="\d+">(.*?)</script>', file.read_text())
    details = [one for block in blocks for one in json.loads(block).items()]
    return {key.partition("/")[0]: value for key, value in details}, told


def test_logs_take_no_room_that_later_attempts_need(tmp_path: Path) -> None:
    """What attempts came to is put in first; logs get what is left, and the first of those that fit."""
    store = write_run(
        tmp_path / "run", *(graded(f"t{number:02}", query="Q" * 10_000) for number in range(12))
    )
    file = tmp_path / "page.html"
    alone(store.root, file)
    least = file.stat().st_size
    log = LINE * 1_000
    for number in range(12):
        (folder_of(store, f"t{number:02}") / "messages.jsonl").write_text(log)
    room = 3 * (len(json.dumps(log, ensure_ascii=False).encode()) + 500)
    found, told = alone(store.root, file, least + room + 1_000)
    assert [name for name, value in found.items() if value[1]] == ["t00", "t01", "t02"]
    assert len(found) == 12
    assert "9 message logs" in told


@pytest.mark.parametrize("known", [True, None])
def test_of_a_protected_row_only_figures_are_sent(tmp_path: Path, look: Look, *, known: bool | None) -> None:
    """Verdict and score are there, no text and no picture, and why not; also where no record says it."""
    said = grade("answer", PASSED, reasoning="he said Wombat")
    secret = graded("gold", said, protected=known, query="Wombat?", reason="Wombat", final_answer="Wombat")
    store = write_run(tmp_path / "run", secret, graded("open", grade("state", PASSED), query="a badger"))
    write_log(folder_of(store, "gold"), UserMessage(content="Wombat"))
    (folder_of(store, "gold") / "screenshots").mkdir()
    paint(folder_of(store, "gold") / "screenshots/001.png", "Wombat")
    killed = folder_of(store, "open").parent / "attempt-2"
    killed.mkdir()
    (killed / "messages.jsonl").write_text('{"type": "user", "content": "Wombat"}\n')
    (store.root / "summary.json").write_text("{}")
    write_gate(store.root, [RuleResult("must_pass[gold]", is_met=False, message="gold failed: not Wombat")])
    file = tmp_path / "page.html"
    _, message = write_single(open_door(), store.root, file)
    assert "gold failed" in file.read_text()
    assert message.startswith("Texts and pictures of 2 attempts are left out: texts of a benchmark")
    assert "Wombat" not in file.read_text()
    assert "data:image/png" not in file.read_text()

    async def work(reader: Reader) -> None:
        await reader.open("#?q=wombat")
        assert message in await reader.text("#notes")
        await reader.sees("#searched", "all 3 searched, without what this page leaves out of 2")
        await reader.open("#/gold/default/1/attempt-1")
        assert "left out, because its row is protected" in await reader.text("#no-entries")
        assert await reader.text("#attempt-verdict") == "✓ passed"
        assert "score 1" in await reader.text("#grades")
        await reader.open("#/open/default/1/attempt-1")
        assert await reader.text("#query") == "a badger"

    look(file, work)


def test_the_page_of_the_run_says_what_is_protected(tmp_path: Path, look: Look) -> None:
    """It stays beside the logs, and says of whom they must not leave this machine."""
    store = write_run(tmp_path / "run", graded("gold", grade("answer", PASSED), protected=True))

    async def work(reader: Reader) -> None:
        await reader.open("#/gold/default/1/attempt-1")
        assert "benchmark asks that its attempts are not published" in await reader.text("#facts")

    look(write_viewer(open_door(), store.root).file, work)
