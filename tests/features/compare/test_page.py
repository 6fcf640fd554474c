"""The page of two runs in a real browser: the analysis' own figures, and attempts side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.compare.baseline import read_run, write_baseline
from pytest_browsereval.features.compare.compare import RunComparison, compare
from pytest_browsereval.features.compare.page import write_comparison
from pytest_browsereval.features.compare.report import basis, counts, figures, verdict
from tests.features.shared.viewer.conftest import HOSTILE, SETTLED, Look, Reader
from tests.labelled import grade, graded, write_run
from tests.recorded import FAILED, PASSED

LOST = "#/lost/default"


@pytest.mark.slow
def test_figures_are_those_of_the_comparison(two_runs: RunComparison, compared: Path, look: Look) -> None:
    """The verdict in words, what it rests on, the figures and the counts: no number of its own."""

    async def work(reader: Reader) -> None:
        await reader.open()
        whole = two_runs.whole
        assert await reader.text("#verdict") == verdict(whole)
        assert await reader.text("#basis") == basis(whole)
        assert await reader.text("#counts") == counts(whole)
        told = [" ".join(" ".join(row).split()) for row in figures(whole)]
        assert await reader.texts("#figures tr") == told
        kinds = {str(change): count for change, count in whole.counts.items()}
        shown = dict(
            text.split(" ", 1)[1].rsplit(" ", 1) for text in (await reader.texts("#kinds button"))[1:]
        )
        assert {name: int(count) for name, count in shown.items()} == kinds
        assert await reader.texts("#runs b") == ["A (baseline)", "B"]
        assert await reader.texts("#runs li > bdi:nth-of-type(1)") == ["run a #1", "run b é"]
        assert "1 newly errored" in await reader.text("#counts")
        assert await reader.texts("#differences-title") == ["Other differences (1)"]

    look(compared, work)


def test_pairs_are_chosen_and_sorted(compared: Path, look: Look) -> None:
    """By change, verdict of a side, site, tag and words; keys and the address have the same."""

    async def ids(reader: Reader) -> list[str]:
        return await reader.texts("#rows .c-id a")

    async def work(reader: Reader) -> None:
        await reader.open("#?change=lost")
        assert await ids(reader) == ["lost"]
        row = await reader.texts("#rows tr:not(.spacer) td")
        assert row[0] == "\u2212 lost"
        assert row[1:] == ["lost Do lost.", "✓ passed", "✗ failed", "+2", "±0.00 s", "±$0", "no mug"]
        await reader.press("g")
        assert await ids(reader) == ["gained", "twice"]
        assert await reader.place() == "?change=gained"
        await reader.press("e")
        assert await ids(reader) == ["broke"]
        await reader.press("e")
        await reader.page.get_by_text("More filters").click()
        await reader.page.locator("#facet-b").select_option("failed")
        assert "lost" in await ids(reader)
        await reader.open("#?site=bank&sort=-steps")
        assert await ids(reader) == ["gained"]
        await reader.open("#?q=cart")
        assert await ids(reader) == ["lost"]
        await reader.open("#?sort=-steps")
        assert (await ids(reader))[0] == "lost"
        await reader.open("#?q=nothing+like+it")
        await reader.sees("#found", "No task matches.")

    look(compared, work)


def test_attempts_stand_side_by_side(compared: Path, look: Look) -> None:
    """Where they diverge is open on both sides, each with its own pictures; steps move together, or alone."""

    async def steps(reader: Reader) -> list[str]:
        return [await reader.text(f"#pane-{side} .step h3") for side in ("a", "b")]

    async def work(reader: Reader) -> None:
        await reader.open(LOST)
        assert await reader.text("#parting") == "The first call is the same; they diverge at step 2."
        assert await steps(reader) == ["Step 2: click", "Step 2: click failed"]
        assert "target: e7" in await reader.text("#pane-a .step")
        assert "target: e8" in await reader.text("#pane-b .step")
        assert await reader.texts(".pane .badge:not(.grade .badge)") == ["✓ passed", "✗ failed"]
        for side, run in (("a", "run%20a%20%231"), ("b", "run%20b%20%C3%A9")):
            image = reader.page.locator(f"#pane-{side} .step img")
            address = await image.get_attribute("src")
            assert address == f"{run}/tasks/lost/default/1/attempt-1/screenshots/002.png"
            await image.evaluate("(image) => image.decode()")
        await reader.press("ArrowDown", "ArrowDown")
        assert await steps(reader) == ["Step 3: done", "Step 3: click"]
        assert await reader.place() == "/lost/default/b/step-3"
        await reader.open(f"{LOST}/b/step-4")
        assert await steps(reader) == ["Step 3: done", "Step 4: type"]
        assert await reader.page.locator("#pane-b[data-active]").count() == 1
        await reader.press("x")
        assert await reader.place() == "/lost/default/a/step-3"
        assert await reader.page.locator("#pane-a[data-active]").count() == 1
        await reader.press("s", "Home")
        assert await steps(reader) == ["Prompt", "Step 4: type"]
        await reader.press("x", "ArrowUp", "ArrowUp", "b")
        assert (await reader.page.locator("#pane-b .step img").get_attribute("src")).endswith("002.png")
        await reader.open(f"{LOST}/a/step-77")
        assert await reader.text("#problem") == "This attempt has no step 77."

    look(compared, work)


def test_keys_go_from_change_to_change(compared: Path, look: Look) -> None:
    """Key f leaves out what is unchanged and goes round; Esc leads back to the row, t to the next trial."""

    async def name(reader: Reader) -> str:
        await reader.page.wait_for_function(SETTLED)
        return await reader.text("#attempt-name")

    async def work(reader: Reader) -> None:
        await reader.open("#?sort=id")
        await reader.page.locator("#rows a", has_text="alike").click()
        assert await name(reader) == "alike"
        assert await reader.text("#position") == "2 of 7"
        await reader.press("f")
        assert await name(reader) == "broke"
        assert "The attempt broke before grading." in await reader.text("#pane-b")
        for expected in ("gained", "gone", "lost", "twice"):
            await reader.press("f")
            assert await name(reader) == expected
        await reader.press("f")  # behind the last one comes the first
        assert await name(reader) != "twice"
        await reader.press("F")
        assert await name(reader) == "twice"
        await reader.press("F", "ArrowLeft", "ArrowLeft")
        assert await name(reader) == "gained"
        await reader.open("#?q=twice&sort=id")
        await reader.press("ArrowDown", "Enter")
        assert await name(reader) == "twice"
        pressed = reader.page.locator("#trials [aria-pressed=true]")
        assert await pressed.inner_text() == "Trial 1: passed → passed"
        await reader.press("t")
        await reader.page.wait_for_function(SETTLED)
        assert await pressed.inner_text() == "Trial 2: failed → passed"
        assert await reader.place() == "/twice/default/trial-2"
        await reader.page.reload()
        await reader.page.wait_for_function(SETTLED)
        assert await pressed.inner_text() == "Trial 2: failed → passed"
        await reader.open("#/gone/default")
        assert "This run has no result for the task." in await reader.text("#pane-b")
        await reader.press("Escape")
        await reader.page.wait_for_function("() => document.activeElement.textContent === 'gone'")

    look(compared, work)


def test_hostile_text_is_text(compared: Path, look: Look) -> None:
    """Markup in names, tasks, reasons, messages and records of either run runs nothing."""

    async def work(reader: Reader) -> None:
        await reader.open()
        await reader.page.locator("#rows a", has_text="owned").click()
        await reader.page.wait_for_function(SETTLED)
        for side in ("a", "b"):
            for selector in ("p.reason", "p.answer"):
                assert HOSTILE in await reader.page.locator(f"#pane-{side} {selector}").text_content()
        lines = await reader.page.locator("#pane-b .entries > li").count()
        assert lines == 9
        for place in range(lines):
            await reader.page.locator("#pane-b .entries > li > button").nth(place).click()
            found = await reader.page.locator("#pane-b .step").text_content()
            assert HOSTILE in found or "This line of messages.jsonl is not a message" in found, place
        await reader.unfold("#pane-b .records summary")
        assert "\\x1b[31mred" in await reader.page.locator("#pane-b .records .said").text_content()
        links = await reader.page.evaluate(
            "[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))"
        )
        assert [href for href in links if href.startswith(("javascript:", "data:", "..", "/"))] == []
        assert [href for href in links if "trap" in href or "leak" in href] == []
        assert await reader.page.locator("img[src=x]").count() == 0
        assert await reader.page.locator("body script").count() == 2
        assert await reader.page.title() != "owned"
        for width in (400, 1280):
            await reader.page.set_viewport_size({"width": width, "height": 700})
            assert await reader.page.evaluate("document.documentElement.scrollWidth") == width

    look(compared, work)


def test_a_baselines_file_has_results_only(two_runs: RunComparison, tmp_path: Path, look: Look) -> None:
    """Compared with a file that is committed, the page has the verdicts of A and the attempts of B."""
    file = tmp_path / "page.html"
    write_comparison(open_door(), two_runs, file)
    write_baseline(two_runs.a, tmp_path / "baseline.json")
    found = compare(read_run(tmp_path / "baseline.json"), two_runs.b)
    write_comparison(open_door(), found, file)
    assert [path.name for path in (tmp_path / "page.files").iterdir()] == ["b"]

    async def work(reader: Reader) -> None:
        await reader.open(LOST)
        assert "This is a baseline file" in await reader.text("#pane-a")
        assert await reader.text("#pane-a .badge") == "✓ passed"
        assert "target: e8" in await reader.text("#pane-b .entries")

    look(file, work)


def test_variants_have_their_own_rows(tmp_path: Path, look: Look) -> None:
    """A task of two variants is two rows; the table of variants has the words of each."""
    a = [graded("x", grade("g", v), variant=name) for name, v in (("one", PASSED), ("two", FAILED))]
    b = [graded("x", grade("g", PASSED), variant=name) for name in ("one", "two")]
    runs = [read_run(write_run(tmp_path / name, *attempts).root) for name, attempts in (("a", a), ("b", b))]
    found = compare(*runs)
    file = tmp_path / "page.html"
    write_comparison(open_door(), found, file)

    async def work(reader: Reader) -> None:
        await reader.open("#?variant=two")
        assert await reader.texts("#rows .c-change") == ["+ gained"]
        rows = await reader.texts("#variants-table tbody tr")
        assert rows == [
            f"one 100.0% (1/1) 100.0% (1/1) {verdict(found.variants['one'])}",
            f"two 0.0% (0/1) 100.0% (1/1) {verdict(found.variants['two'])}",
        ]
        await reader.open("#/x/two")
        assert await reader.text("#attempt-name") == "x (two)"
        assert await reader.texts(".pane > p .badge") == ["✗ failed", "✓ passed"]

    look(file, work)


def test_the_command(two_runs: RunComparison, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It writes the page beside its other reports and nothing into the runs; a wrong name is refused."""
    runs = [str(run.folder) for run in (two_runs.a, two_runs.b)]
    before = [sorted(run.folder.rglob("*")) for run in (two_runs.a, two_runs.b)]
    page, told = tmp_path / "c.html", tmp_path / "c.json"
    assert main(["compare", *runs, "--html", str(page), "--json", str(told)]) == 0
    assert verdict(two_runs.whole)[:30] in capsys.readouterr().out
    assert json.loads(told.read_text())["counts"]["lost"] == 1
    text = page.read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert before == [sorted(run.folder.rglob("*")) for run in (two_runs.a, two_runs.b)]
    assert main(["compare", *runs, "--html", str(page), "--json", str(page)]) == 4
    assert "Name two files." in capsys.readouterr().err
    for name, why in (("c.txt", "ends in .html"), ("no/c.html", "does not exist")):
        assert main(["compare", *runs, "--html", str(tmp_path / name)]) == 4
        assert why in capsys.readouterr().err
