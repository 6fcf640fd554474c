"""The viewer in a real browser, as a file: what it shows, keys, addresses, and what is only text."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.runs.trial import list_trials
from pytest_browsereval.stats.statistics import wilson
from tests.features.shared.viewer.conftest import HOSTILE, SETTLED, Look, Reader
from tests.labelled import grade, graded, write_run
from tests.recorded import ERRORED, FAILED, PASSED, change_line
from tests.support import until

STEP = "#/buy/default/1/attempt-1/step-2"


def test_counts_are_those_of_the_summary(store: RunStore, page: Path, look: Look) -> None:
    """Rate, interval and counts agree with the analysis; what cannot be read is counted beside them."""
    lines = RunStore(store.root).run.update_lines()
    summary = RunSummary(list_trials(one for trial in lines.trials for one in lines.list_tries(trial)))
    assert summary.pass_rate == 0.5

    async def work(reader: Reader) -> None:
        await reader.open()
        assert await reader.text("#rate") == "50 %"
        assert await reader.text("#rate-of") == "2 of 4 judged passed; 95 % interval 15 % to 85 %"
        counts = {verdict: summary.count(verdict) for verdict in Verdict}
        marks = {"passed": "✓", "failed": "✗", "errored": "!"}
        told = [f"{marks[verdict]} {verdict} {count}" for verdict, count in counts.items()]
        assert await reader.texts("#kinds button") == ["all 7", *told, "… unfinished 1", "‽ damaged 1"]
        assert await reader.page.locator("#rows tr:not(.spacer)").count() == 7
        notes = await reader.text("#notes")
        assert "1 attempt is damaged and not counted. 1 attempt is not finished." in notes
        claims = f"{summary.false_claims.hits} trials failed although the agent ended with an answer."
        assert claims in notes
        (rate,) = await reader.page.locator(".rates button[title^='shop']").all()
        assert await rate.get_attribute("title") == "shop: 1 of 2 passed, 0 errored"
        low, high = [float(await rate.locator(".interval").get_attribute(name)) for name in ("x", "width")]
        assert abs(low / 100 - wilson(1, 2).low) < 1e-9
        assert abs((low + high) / 100 - wilson(1, 2).high) < 1e-9

    look(page, work)


def test_rows_are_chosen_and_sorted(page: Path, look: Look) -> None:
    """By verdict, site, tag and words; the address keeps it, and a step further back has it again."""

    async def ids(reader: Reader) -> list[str]:
        return await reader.texts("#rows .c-id a")

    async def work(reader: Reader) -> None:
        await reader.open("#?site=shop")
        assert await ids(reader) == ["buy", "find"]
        assert await reader.text("#found") == "2 of 7, 50 % of 2 judged passed"
        await reader.page.locator("#head button", has_text="Time").click()
        await reader.page.locator("#head button", has_text="Time").click()
        assert await ids(reader) == ["find", "buy"]
        await reader.press("Escape", "/")
        await reader.page.keyboard.type("mug")
        await reader.sees("#found", "1 of 7")
        assert await ids(reader) == ["buy"]
        assert await reader.place() == "?q=mug&site=shop&sort=ms"
        await reader.page.reload()
        assert await ids(reader) == ["buy"]
        await reader.page.locator("#rows a").click()
        await reader.page.wait_for_function(SETTLED)
        await reader.press("Escape")
        assert await ids(reader) == ["buy"]
        await reader.page.locator("#clear").click()
        await reader.page.locator("#plots-box > summary").click()
        await reader.page.locator(".rates button", has_text="read").click()
        assert await ids(reader) == ["find"]
        await reader.open("#?verdict=failed&site=shop")
        assert await reader.text("#found") == "1 of 7"
        await reader.page.locator("#plots-box > summary").click()
        assert await reader.texts(".rates button[aria-pressed=true]") == ["shop 50 % of 2"]
        await reader.open("#?verdict=errored&sort=nonsense&site=nowhere")
        await reader.sees("#found", "No trial matches.")

    look(page, work)


def test_an_attempt_step_by_step(page: Path, look: Look) -> None:
    """A deep link opens a step: arguments, result, picture with the pointer's mark; arrows go on."""

    async def work(reader: Reader) -> None:
        await reader.open(STEP)
        assert await reader.text("#attempt-name") == "buy"
        assert await reader.text("#detail h3") == "Step 2: click_at failed"
        assert await reader.texts("#detail pre") == ["x: 320 y: 90", "Nothing is there."]
        await reader.page.wait_for_selector("#detail .pointer")
        circle = reader.page.locator("#detail .pointer circle").first
        place, image = await circle.bounding_box(), await reader.page.locator("#detail img").bounding_box()
        middle = place["x"] + place["width"] / 2 - image["x"]
        assert abs(middle / image["width"] - 0.5) < 0.01
        assert (await reader.page.locator("#detail img").get_attribute("src")).endswith("screenshots/002.png")
        await reader.press("b")
        assert (await reader.page.locator("#detail img").get_attribute("src")).endswith("screenshots/001.png")
        script = "(all) => all.map((one) => one.style.getPropertyValue('--depth'))"
        depths = await reader.page.locator("#entries > li").evaluate_all(script)
        assert depths == ["0", "0", "0", "0", "1", "0", "0", "0"]
        await reader.press("ArrowDown")
        assert "One mug." in await reader.text("#detail")
        assert await reader.place() == "/buy/default/1/attempt-1/line-8"
        await reader.press("ArrowDown", "ArrowDown")
        assert "The attempt ended before the result." in await reader.text("#detail")
        await reader.press("Home", "ArrowDown")
        assert "4,200 in, 80 out, $0.250" in await reader.text("#detail dl")
        await reader.open("#/buy/default/1/attempt-1/step-99")
        assert await reader.text("#problem") == "This attempt has no step 99."

    look(page, work)


def test_keys_go_from_task_to_task(page: Path, look: Look) -> None:
    """Left and right go through the rows that are chosen, f to the next that did not pass."""

    async def name(reader: Reader) -> str:
        await reader.page.wait_for_function(SETTLED)
        return (await reader.text("#attempt-name")).partition(" ")[0]

    async def work(reader: Reader) -> None:
        await reader.open("#?site=bank&sort=id")
        await reader.press("ArrowDown", "Enter")
        assert await name(reader) == "login"
        assert await reader.text("#position") == "1 of 2"
        assert await reader.texts("#facts a[href^='#/']") == ["attempt 1: errored"]
        await reader.press("ArrowRight")
        await reader.sees("#attempt-name", "pay")
        assert await reader.page.locator("#next").is_disabled()
        await reader.press("ArrowLeft", "f")
        await reader.sees("#attempt-name", "pay")
        await reader.press("Escape")
        await reader.page.wait_for_function("() => document.activeElement.textContent === 'pay'")
        await reader.page.locator("#help summary").click()
        await reader.page.locator("#keys").uncheck()
        await reader.press("e")
        assert await reader.place() == "?site=bank&sort=id"

    look(page, work)


TRACE = """Traceback (most recent call last):
  File "/evals/my_agent.py", line 3, in solve
    raise ValueError("no <b>shelf</b>")
ValueError: no <b>shelf</b>
"""


def test_a_reason_stands_once_and_tracebacks_are_shown(tmp_path: Path, look: Look) -> None:
    """Errors, grades and criteria do not repeat the reason; what their code raised unfolds beside them."""
    told = "the agent raised ValueError: no <b>shelf</b>"
    error = {"source": "agent", "message": told, "timestamp": "", "details": {"traceback": TRACE}}
    why = "1 mug is not 2"
    criterion = Criterion(name="mugs", verdict=FAILED, expected=2, actual=1, reason=why)
    failed = grade("cart", FAILED, reasoning=f"{why}\nThe cart is old.", criteria=(criterion,))
    broken = GraderResult(
        grader="mine", verdict=ERRORED, reasoning="oh", details={"traceback": TRACE, "seed": 7}
    )
    store = write_run(
        tmp_path / "run",
        graded("raised", reason=told, error_source=ErrorSource.AGENT, errors=[error]),
        graded("wrong", failed, reason=f"cart: {why}"),
        graded("judged", broken, reason="mine: oh", error_source=ErrorSource.GRADER),
    )

    async def work(reader: Reader) -> None:
        await reader.open("#/raised/default/1/attempt-1")
        assert (await reader.text("#attempt")).count(told) == 1
        trace = await reader.page.locator("#findings pre").inner_text()
        assert trace == TRACE.rstrip()
        await reader.open("#/wrong/default/1/attempt-1")
        assert (await reader.text("#attempt")).count(why) == 1
        assert await reader.text("#grades .given") == "The cart is old."
        assert await reader.texts("#grades .criteria tbody tr") == ["✗ failed mugs 2 1"]
        await reader.open("#/judged/default/1/attempt-1")
        assert await reader.page.locator("#grades .record pre").inner_text() == TRACE.rstrip()
        assert await reader.page.locator("#grades > .grade > .given").count() == 0
        assert "Traceback" not in await reader.page.locator("#grades details details").last.text_content()

    look(write_viewer(open_door(), store.root).file, work)


def test_what_is_damaged_is_shown_as_such(store: RunStore, look: Look) -> None:
    """Damaged metadata, a folder without any, a lost script and an attempt that never was: each is told."""
    change_line(store.root, "buy", grader_results={"a": {"criteria": ["x", None]}})
    page = write_viewer(open_door(), store.root).file

    async def work(reader: Reader) -> None:
        await reader.open(STEP)  # JSON and yet no record: what was logged is shown all the same
        assert await reader.text("#attempt-verdict") == "‽ damaged"
        assert "is damaged: " in await reader.text("#findings")
        assert await reader.text("#detail h3") == "Step 2: click_at failed"
        await reader.open("#/spoiled/default/1")
        assert "is damaged: verdict" in await reader.text("#findings")
        assert await reader.text("#attempt-verdict") == "‽ damaged"
        await reader.open("#/buy/default/1/attempt-2/line-1")
        assert "It has no line in attempts/*.jsonl" in await reader.text("#reason")
        await reader.open("#/no-such-row/default/1/attempt-1")
        assert await reader.text("#problem") == "This run has no attempt no-such-row/default/1/attempt-1."
        await reader.open("#/%/%E0%A4%A/..")
        assert "This run has no attempt" in await reader.text("#problem")
        (page.parent / "index.files" / "0001.js").write_text('browsereval({"other/default/1/attempt-1":[]})')
        await reader.open("#/find/default/1")
        assert "the details next to this page do not match it" in await reader.text("#problem")
        (page.parent / "index.files" / "0001.js").unlink()
        await reader.open("#/find/default/1")
        assert "0001.js is missing" in await reader.text("#problem")
        await until(lambda: reader.complaints)
        assert [text for text in reader.complaints if "ERR_FILE_NOT_FOUND" not in text] == []
        reader.complaints.clear()

    look(page, work)


def test_hostile_text_is_text(page: Path, look: Look) -> None:
    """Markup in every field is shown as it stands and runs nothing; no link leads anywhere but to the web."""

    async def work(reader: Reader) -> None:
        await reader.open()
        assert await reader.page.locator("#rows a", has_text="owned").count() == 1
        await reader.page.locator("#rows a", has_text="owned").click()
        await reader.page.wait_for_function(SETTLED)
        for selector in ("#query", "#answer", "#reason", ".grade > .given"):
            assert HOSTILE in await reader.page.locator(selector).text_content()
        lines = await reader.page.locator("#entries > li").count()
        assert lines == 9
        await reader.press("Home")
        for place in range(lines):
            await reader.sees("#entries button[aria-current]", "")
            found = await reader.page.locator("#detail").text_content()
            assert HOSTILE in found or "This line of messages.jsonl is not a message" in found, place
            await reader.press("ArrowDown")
        assert "The last line of messages.jsonl is cut" in await reader.text("#findings")
        await reader.page.locator("summary", has_text="Details (including judge").click()
        named = await reader.links()
        assert [href for href in named if href.startswith(("javascript:", "data:", "..", "/"))] == []
        assert [href for href in named if "trap" in href or "leak" in href] == []
        assert "trap.html" in await reader.text("#facts")
        assert await reader.page.locator("body script").count() == 2
        assert await reader.page.locator("img[src=x]").count() == 0
        assert await reader.page.title() != "owned"
        assert await reader.page.evaluate("Object.prototype.toString.call({}.cart)") == "[object Undefined]"

    look(page, work)


def test_only_its_own_script_runs(page: Path, look: Look) -> None:
    """What got into the page in spite of all would not run: its policy names the script by its hash."""
    text = page.read_text(encoding="utf-8")
    page.write_text(
        text.replace("<main>", "<main><script>document.body.id = 'owned'</script><img src=http://x.test/>")
    )

    async def work(reader: Reader) -> None:
        await reader.open()
        assert await reader.text("#rate") == "50 %"
        assert await reader.page.locator("body#owned").count() == 0
        await until(lambda: len(reader.complaints) >= 2)
        assert len(reader.complaints) == 2
        assert all("Content Security Policy" in text for text in reader.complaints)
        reader.complaints.clear()

    look(page, work)


def test_narrow_and_dark(page: Path, look: Look) -> None:
    """Nothing is wider than the window, the first row is in sight of a laptop, and dark is dark."""

    async def work(reader: Reader) -> None:
        for width in (400, 1280):
            await reader.page.set_viewport_size({"width": width, "height": 700})
            for place in ("#?", STEP, "#/spoiled/default/1"):
                await reader.open(place)
                assert await reader.page.evaluate("document.documentElement.scrollWidth") == width
            await reader.open()
            box = await reader.page.locator("#rows .c-id").first.bounding_box()
            assert box["width"] > 150
            assert box["y"] < 400 or width == 400
            assert await reader.page.locator(".boxes > details[open]").count() == 0
            await reader.page.locator("#rows a", has_text="owned").click()
            await reader.page.wait_for_function(SETTLED)
            assert await reader.page.evaluate("document.documentElement.scrollWidth") == width
        colours = []
        for scheme in ("light", "dark"):
            await reader.page.emulate_media(color_scheme=scheme)
            colours.append(await reader.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert colours == ["rgb(244, 245, 247)", "rgb(15, 19, 24)"]

    look(page, work)


def test_of_many_rows_few_are_in_the_page(tmp_path: Path, look: Look) -> None:
    """However far one scrolls, only the rows near the window are drawn; a key goes on from there."""
    attempts = [
        graded(f"t{number:03}", grade("state", FAILED if number % 3 else PASSED)) for number in range(300)
    ]
    file = write_viewer(open_door(), write_run(tmp_path / "run", *attempts).root).file

    async def work(reader: Reader) -> None:
        await reader.open("#?sort=id")
        assert await reader.page.locator("#rows tr").count() < 80
        await reader.page.evaluate("scrollTo(0, 1e6)")
        await reader.page.locator("#rows a", has_text="t299").wait_for()
        assert await reader.page.locator("#rows a", has_text="t000").count() == 0
        assert await reader.page.locator("#rows tr").count() < 80
        assert await reader.page.locator("tr[aria-rowindex='301'] a").inner_text() == "t299"
        await reader.press("ArrowUp", "ArrowUp", "Enter")
        await reader.sees("#attempt-name", "t298")
        await reader.press("Escape")
        await reader.page.locator("#rows a", has_text="t298").wait_for()

    look(file, work)


def test_the_page_stands_where_one_wants_it(store: RunStore, tmp_path: Path, look: Look) -> None:
    """A page outside of the run shows its pictures where they are."""
    (tmp_path / "pages é").mkdir()
    file = write_viewer(open_door(), store.root, tmp_path / "pages é" / "of this run.html").file
    assert [path.name for path in file.parent.iterdir() if path != file] == ["of this run.files"]

    async def work(reader: Reader) -> None:
        await reader.open(STEP)
        await reader.page.wait_for_function(
            "() => document.querySelector('#detail img').naturalWidth === 640"
        )

    look(file, work)


def test_texts_of_rows_are_short(tmp_path: Path) -> None:
    """However long a task is, its row is short; its own page has all of it."""
    file = write_viewer(
        open_door(), write_run(tmp_path, graded("a", grade("x"), query="Q" * 1_000_000)).root
    ).file
    data = json.loads(file.read_text().partition('id="data">')[2].partition("</script>")[0])
    assert len(json.dumps(data["rows"])) < 1_000
    assert file.stat().st_size < 170_000
