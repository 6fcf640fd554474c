"""The page of all runs in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.features.runs.page import RUNS_PAGE
from pytest_browsereval.run.store import RunStore
from tests.features.runs.conftest import AGENT, config_with, leave_run, name_of, tried
from tests.features.shared.viewer.conftest import HOSTILE, Look, Reader
from tests.hooks.small_evals import Evals, row
from tests.recorded import ERRORED, FAILED, PASSED, write_summary


def leave_runs(results: Path) -> None:
    """Leave two evals: one with a break, an edited row, a merged and a partial run; one of two variants."""
    home = results / "shop"
    for number in (1, 2, 3):
        leave_run(home, number, tried("a", PASSED), tried("b", FAILED), gate=number > 1)
    other = config_with({**AGENT, "model": "gpt-5"})
    leave_run(home, 4, tried("a", PASSED), tried("b", PASSED, row_hash="edited"), config=other)
    leave_run(home, 5, tried("a", PASSED), selected=2, config=other)
    leave_run(home, 6, tried("a", FAILED), tried("b", PASSED), merged_from=["x", "y"], config=other)
    last = leave_run(home, 7, tried("a", FAILED), tried("b", ERRORED, row_hash="edited"), config=other)
    (last / "index.html").write_text("its page")
    two = config_with(variants={"large": AGENT, "small": {"type": "noop"}})
    mail = [tried("m", PASSED, variant="large"), tried("m", FAILED, variant="small")]
    RunStore(leave_run(results / "mail", 8, *mail, config=two)).drop_summary()
    leave_run(results / "mail", 2, *mail, config=two)


@pytest.fixture
def page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return the page."""
    results = tmp_path / "my results #1"
    leave_runs(results)
    assert main(["runs", str(results)]) == 0
    assert capsys.readouterr().out.endswith(f"page: {results / RUNS_PAGE}\n")
    return results / RUNS_PAGE


def test_lines_and_their_breaks(page: Path, look: Look) -> None:
    """A chart for each eval and variant with three runs: whole runs as points, bands, why the line breaks."""

    async def work(reader: Reader) -> None:
        await reader.open()
        titles = await reader.texts(".line h3")
        assert titles == ["shop single openai/gpt-5"]  # of the two of mail the table has all
        shop = reader.page.locator(".line").last
        assert await shop.locator(".dot").count() == 5
        assert await shop.locator(".dot.missed").count() == 1
        assert await shop.locator(".band").count() == 2
        assert await shop.locator(".apart:not(.whisker)").count() == 2
        assert await shop.locator("line.break").count() == 1
        assert await reader.texts(".breaks li") == ["1 4 Jan 2026, 00:00 agent, dataset changed"]

    look(page, work)


def test_tasks_over_the_last_runs(page: Path, look: Look) -> None:
    """What changed in front, with a cell for each run; the page of the newest run is linked."""

    async def work(reader: Reader) -> None:
        await reader.open("#?eval=shop")
        rows = await reader.texts(".grid tbody tr")
        assert rows[0].startswith("a newly failing ")
        assert await reader.page.locator(".grid thead .of-run").count() == 7
        assert await reader.texts(".grid tbody tr:first-child .cell [aria-hidden]") == [*"✓✓✓✓✓✗✗"]
        address = await reader.page.locator(".grid tbody th a").first.get_attribute("href")
        assert address == f"shop/{name_of(7)}/index.html#?q=a"
        assert await reader.page.locator(".cell.edited").count() > 0

    look(page, work)


@pytest.mark.slow
def test_runs_are_chosen_opened_and_left(page: Path, look: Look) -> None:
    """By keys, addresses and words; a run has its figures, what has changed, and commands."""

    async def work(reader: Reader) -> None:
        await reader.open()
        assert await reader.text("#found") == "9 of 9"
        await reader.press("g")
        assert await reader.place() == "?outcome=not+met"
        assert await reader.texts("#rows .c-started a") == ["1 Jan 2026, 00:00"]
        await reader.press("g", "ArrowDown", "Enter")
        await reader.sees("#run-name", f"mail/{name_of(8)}")
        assert "unfinished: it was cut off" in await reader.text("#run-details")
        await reader.press("ArrowRight")
        assert await reader.place() == f"/shop/{name_of(7)}"
        await reader.press("Escape")
        await reader.page.locator("#overview").wait_for()
        await reader.open(f"#/shop/{name_of(4)}")
        told = "not comparable with 3 Jan 2026, 00:00: agent, dataset changed"
        assert await reader.text("#changes-list p") == told
        assert f"browsereval compare {name_of(3)} {name_of(4)}" in await reader.text("#more")
        await reader.open(f"#/mail/{name_of(2)}")
        variants = await reader.texts("#variants tbody tr")
        assert [line.split()[0] for line in variants] == ["large", "small", "all"]
        await reader.open("#/shop/none")
        assert "There is no run shop/none here." in await reader.text("#problem")
        await reader.open("#?q=02aaaab+shop")
        assert await reader.texts("#rows .c-started a") == ["2 Jan 2026, 00:00"]

    look(page, work)


@pytest.mark.slow
def test_two_runs_are_compared(tmp_path: Path, look: Look, evals: Evals) -> None:
    """Another run is chosen; the command that the page shows writes the page of the two."""
    evals.write([row("mug")])
    names = [evals.run().folder.name for _ in range(3)]
    folder = evals.path / "results"
    commands: list[str] = []

    async def read_command(reader: Reader) -> None:
        await reader.open(f"#/shop/{names[1]}")
        assert f"browsereval compare {names[0]} {names[1]} " in await reader.text("#more")
        await reader.page.locator("#more select").select_option(label=await newest(reader))
        commands.append(await reader.page.locator("#more code").last.text_content() or "")

    async def newest(reader: Reader) -> str:
        return (await reader.texts("#more option"))[0]

    assert evals.run_command("runs", "results").ret == 0
    look(folder / "runs.html", read_command)
    words = commands[0].split()
    assert words[:4] == ["browsereval", "compare", names[1], names[2]]
    assert evals.run_command(*words[1:]).ret == 0


def test_hostile_texts_are_texts(tmp_path: Path, look: Look) -> None:
    """Names of evals, variants, agents, tasks, commits, rules and values of configs are never markup."""
    home = tmp_path / "results/shop"
    for number, model in ((1, HOSTILE), (2, f"{HOSTILE}2"), (3, f"{HOSTILE}3")):
        agent = {"type": HOSTILE, "model": model}
        own = tried(HOSTILE, PASSED if number == 1 else FAILED, variant=HOSTILE)
        more: dict[str, Any] = {"name": HOSTILE, "git_commit": HOSTILE, "browser": f"{HOSTILE}{number}"}
        run = leave_run(home, number, own, config={"variants": {HOSTILE: agent}}, **more)
        write_summary(RunStore(run), selected=1, skipped=0, gate={"quarantine": {HOSTILE: HOSTILE}})
    assert main(["runs", str(tmp_path / "results")]) == 0

    async def work(reader: Reader) -> None:
        for place in ("#?", f"#/shop/{name_of(2)}"):
            await reader.open(place)
            assert (await reader.page.title()).endswith("All runs: results")
            assert await reader.page.locator("main img, main script").count() == 0
        await reader.open()
        assert "<script>" in await reader.text(".line h3")
        assert "<script>" in await reader.text(".grid tbody th")

    look(tmp_path / "results" / RUNS_PAGE, work)


@pytest.mark.slow
def test_where_the_page_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, look: Look
) -> None:
    """Beside the runs, or where somebody says: its links lead to the runs from there."""
    monkeypatch.chdir(tmp_path)
    leave_runs(Path("results"))
    Path("site").mkdir()
    assert main(["runs", "--eval", "shop", "-o", "site/all.html", "--json", "-"]) == 0
    out: Any = json.loads(capsys.readouterr().out)
    assert len(out["runs"]) == 7
    assert not Path("results", RUNS_PAGE).exists()

    async def work(reader: Reader) -> None:
        await reader.open(f"#/shop/{name_of(7)}")
        link = reader.page.locator("#more a").first
        assert await link.get_attribute("href") == f"../results/shop/{name_of(7)}/index.html"

    look(tmp_path / "site/all.html", work)
    for wrong in ("none/all.html", "site/all.txt", "site"):
        assert main(["runs", "-o", wrong]) == 4
    assert "name a file that ends in .html" in capsys.readouterr().err


def test_a_page_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the runs that is a note, and the list is there all the same."""
    leave_runs(tmp_path)
    (tmp_path / RUNS_PAGE).mkdir()
    assert main(["runs", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "note: " in err
    assert "is a folder" in err
    assert "page:" not in out
