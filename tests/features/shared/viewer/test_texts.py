"""Search in what the table does not have, the film strip and links, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from pytest_browsereval.features.view.gate import put_gate
from pytest_browsereval.features.view.single import write_single
from pytest_browsereval.model.messages import Message, UserMessage
from pytest_browsereval.run.store import RunStore
from tests.features.shared.viewer.conftest import HOSTILE, Look, Reader, call, result, write_log
from tests.labelled import folder_of, grade, graded, paint, write_run
from tests.recorded import FAILED, PASSED

STEP = "#/buy/default/1/attempt-1/step-2"
ALL = "steps, answers and output of all 7 searched"


@pytest.mark.slow
@pytest.mark.parametrize("is_single", [False, True])
def test_texts_of_attempts_are_searched(
    store: RunStore, tmp_path: Path, look: Look, *, is_single: bool
) -> None:
    """Arguments, results, output and grades count; the place is shown, and opening leads to it."""
    (folder_of(store, "find") / "output.txt").write_text("stdout | the Wombat has spoken\n")
    if is_single:
        page = write_single(open_door(), store.root, tmp_path / "single.html")[0].file
    else:
        page = write_viewer(open_door(), store.root).file

    async def work(reader: Reader) -> None:
        await reader.open("#?q=nothing%20there&sort=id")
        await reader.sees("#searched", ALL)
        assert await reader.texts("#rows .c-id a") == ["buy"]
        assert await reader.text("#rows mark") == "Nothing"
        await reader.page.locator("#rows a").click()
        await reader.sees("#detail h3", "Step 2: click_at")
        assert await reader.page.locator("#entries [data-hit]").count() == 1
        assert await reader.text("#hits") == "1 of 8 lines"
        await reader.press("Escape")
        await reader.page.locator("#search").fill("wombat find")
        await reader.sees("#rows mark", "Wombat")
        assert await reader.texts("#rows .c-id a") == ["find"]
        await reader.page.locator("#search").fill("timestamp")
        await reader.sees("#searched", ALL)
        await reader.sees("#found", "No trial matches.")

    look(page, work)


def test_a_log_that_is_left_out_is_said(tmp_path: Path, look: Look) -> None:
    """What a page for sending has no room for: the attempt says so, its pictures have names, a search too."""
    store = write_run(tmp_path / "run", *(graded(name, grade("state", FAILED)) for name in ("big", "small")))
    folder = folder_of(store, "big")
    (folder / "screenshots").mkdir()
    for number in range(4):
        paint(folder / "screenshots" / f"{number:03}.png", f"page {number}")
    write_log(folder, UserMessage(content="wombat " * 100_000))
    write_log(folder_of(store, "small"), UserMessage(content="a badger"))
    file = tmp_path / "page.html"
    _, message = write_single(open_door(), store.root, file, 300_000)
    assert "1 message log" in message

    async def work(reader: Reader) -> None:
        await reader.open("#/big/default/1/attempt-1")
        told = "The message log of this attempt (700 kB) is left out of this page"
        assert told in await reader.text("#no-entries")
        assert await reader.texts("#strip .name") == ["Start", "Picture 1", "Picture 2", "Picture 3"]
        await reader.page.locator("#strip button").nth(2).click()
        assert await reader.text("#detail h3") == "Picture 2"
        assert await reader.page.locator("#detail img").get_attribute("alt") == "The page in picture 2"
        assert await reader.page.locator("#find-box").is_hidden()
        await reader.open("#?q=wombat")
        await reader.sees("#searched", "all 2 searched, without what this page leaves out of 1")
        await reader.sees("#found", "No trial matches.")
        await reader.page.locator("#search").fill("badger")
        await reader.sees("#found", "1 of 2")
        await reader.open("#/small/default/1/attempt-1")
        assert await reader.page.locator("#no-entries").is_hidden()

    look(file, work)


def test_an_attempt_is_searched(store: RunStore, look: Look) -> None:
    """Lines that have all words are marked; Enter, n and N go from one to the next, and round."""

    async def work(reader: Reader) -> None:
        await reader.open(STEP)
        await reader.press("/")
        await reader.page.keyboard.type("mugs")
        await reader.sees("#hits", "3 of 8 lines")
        opened = []
        for _ in range(4):
            await reader.press("Enter")
            opened.append(await reader.text("#entries [aria-current] .tool"))
        assert opened == ["Prompt", "Delegated", "click_at", "Prompt"]
        await reader.press("Escape", "N")
        assert await reader.text("#detail h3") == "Step 2: click_at failed"

    look(write_viewer(open_door(), store.root).file, work)


def test_the_strip_shows_what_was_seen(tmp_path: Path, look: Look) -> None:
    """The start, each step with a picture and the end; pictures and the bar open steps, by click and key."""
    store = write_run(tmp_path, graded("buy", grade("state", PASSED)))
    folder = folder_of(store, "buy")
    (folder / "screenshots").mkdir()
    for number in range(5):
        paint(folder / "screenshots" / f"{number:03}.png", f"page {number}")
    messages: list[Message] = [UserMessage(content="Buy it.", timestamp="2025-01-01T12:00:00Z")]
    for at, picture in ((2, 2), (8, None), (10, 3)):
        messages.append(call(at, "click", {}, timestamp=f"2025-01-01T12:00:{at:02}Z"))
        messages.append(result(at, screenshot=picture, timestamp=""))
    write_log(folder, *messages)

    async def work(reader: Reader) -> None:
        page = reader.page
        await reader.open("#/buy/default/1")
        assert await reader.texts("#strip .name") == ["Start", "Step 1: click", "Step 3: click", "End"]
        assert await reader.text("#strip [aria-current]") == "Step 3: click"
        told = await page.locator("#time-at").get_attribute("aria-valuetext")
        assert told == "Step 3: click, 10.0 s of 10.0 s"
        await page.locator("#strip button").nth(1).click()
        assert await reader.text("#detail h3") == "Step 1: click"
        await page.locator("#detail").get_by_role("button", name="Before").click()
        assert (await page.locator("#detail img").get_attribute("src")).endswith("/001.png")
        await page.locator("#time-at").focus()
        await reader.press("ArrowRight")
        assert await reader.text("#detail h3") == "Step 2: click"
        await reader.press("Home")
        assert await reader.text("#detail h3") == "Prompt"
        assert await page.locator("#detail img").get_attribute("alt") == "The page at the start"
        box = await page.locator("#time-at").bounding_box()
        await page.mouse.click(box["x"] + box["width"] * 0.78, box["y"] + box["height"] / 2)
        assert await reader.text("#detail h3") == "Step 2: click"

    look(write_viewer(open_door(), store.root).file, work)


def test_links_and_keys(tmp_path: Path, look: Look) -> None:
    """A link to an attempt or a step is copied; j and k go as arrows do; a site that has ended is no link."""
    dead, web = "http://127.0.0.1:8321/cart", "https://shop.test/"
    tasks = [graded(name, grade("state", FAILED), start_url=dead, final_url=web) for name in ("a", "b", "c")]
    store = write_run(tmp_path, *tasks)
    write_log(folder_of(store, "a"), UserMessage(content="Go."), UserMessage(content="On."))

    async def work(reader: Reader) -> None:
        page = reader.page
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await reader.open("#?sort=id")
        await reader.press("j", "j", "k", "Enter")
        await reader.sees("#attempt-name", "a")
        assert await page.locator("#facts a[href^=http]").all_inner_texts() == [web]
        assert dead in await reader.text("#facts")
        await reader.press("k")
        assert await reader.place() == "/a/default/1/attempt-1/line-1"
        await page.locator("#detail .copy").click()
        await reader.sees("#detail .copy", "Copied")
        address = await page.evaluate("location.href")
        assert await page.evaluate("navigator.clipboard.readText()") == address
        await page.locator(".about .copy").click()
        await reader.sees(".about .copy", "Copied")
        assert await page.evaluate("navigator.clipboard.readText()") == address.removesuffix("/line-1")
        await reader.press("F")
        await reader.sees("#position", "3 of 3, once more from the end")
        await reader.press("f")
        await reader.sees("#position", "1 of 3, once more from the start")
        await reader.press("f")
        await reader.sees("#attempt-name", "b")
        assert await reader.text("#position") == "2 of 3"

    look(write_viewer(open_door(), store.root).file, work)


def test_rules_of_the_gate_lead_to_what_decided_them(store: RunStore, look: Look) -> None:
    """Missed ones first; a link chooses the trials in the table, or opens the row that must pass."""
    page = write_viewer(open_door(), store.root).file
    rules = [
        ["max_error_rate", "met", "fine", {"verdict": "errored"}, [], True],
        ["tags[cart]", "not met", "pass rate 50%", {"verdict": "failed", "tag": "cart"}, [], False],
        ["must_pass[pay]", "not met", HOSTILE, {"id": "pay"}, [], False],
        ["own", "met", "nothing known", {}, [], True],
        ["acme/steps", "not met", "too many", {"rule": "acme/steps"}, ["buy", "find", "gone"], False],
        ["min_pass_rate", "undecided", "no end", {}, [], False],
    ]
    put_gate(page, rules)

    async def work(reader: Reader) -> None:
        await reader.open()
        assert await reader.text("#gate-title") == "Gate not met: 4 of 6 rules"
        lines = await reader.texts("#rules li")
        assert lines[0] == "✗ not met tags[cart] pass rate 50% 1 failed trial"
        assert lines[2] == "✗ not met acme/steps too many its 3 trials"
        assert lines[3] == "? undecided min_pass_rate no end"
        assert lines[4] == "✓ met max_error_rate fine 1 errored trial"
        assert lines[5] == "✓ met own nothing known"
        await reader.page.locator("#rules a", has_text="its 3 trials").click()
        await reader.sees("#found", "3 of 7")
        assert sorted(await reader.texts("#rows .c-id a")) == ["buy", "buy", "find"]
        await reader.page.locator("#clear").click()
        await reader.page.locator("#rules a", has_text="failed trial").click()
        await reader.sees("#found", "1 of 7")
        assert await reader.texts("#rows .c-id a") == ["buy"]
        assert await reader.place() == "?verdict=failed&tag=cart"
        await reader.page.locator("#rules li", has_text="must_pass").get_by_role("link").click()
        await reader.sees("#attempt-name", "pay")

    look(page, work)


ONE, WAY = "circle circle circle", "polyline polyline circle circle circle circle circle"
MARKED: tuple[tuple[str, dict[str, Any], dict[str, Any], str, list[str]], ...] = (
    # A call, what the page said of its element, the page after it; what is drawn after and before it.
    ("click", {"target": "#a"}, {"points": [[64, 36]]}, "1", [ONE] * 2),
    ("click", {"target": "#b"}, {"points": [[64, 36]], "has_scrolled": True}, "1", [ONE, "After"]),
    ("click", {"target": "#c"}, {"points": [[64, 36]]}, "2", ["Before", ONE]),
    ("drag_at", {"path": [[1, 2], [30, 40], [50, 6]]}, {}, "2", [WAY] * 2),
    ("drag", {}, {"points": [[1, 2], [30, 40]]}, "2", [WAY] * 2),
    ("drag_at", {"startX": 1, "startY": 2, "endX": 3, "endY": 4}, {}, "2", [WAY] * 2),
    ("click_at", {"x": 1, "y": 2, "then": [[30, 40]]}, {}, "2", [WAY.replace("polyline ", "")] * 2),
    ("press_key", {"key": "a"}, {}, "2", [""] * 2),
    ("x", {"path": "x", "then": [3, [1], ["a", {}]], "x": "1"}, {"points": [[-1, 2]]}, "2", [""] * 2),
)  # fmt: skip


def test_a_mark_shows_where_a_step_acted(tmp_path: Path, look: Look) -> None:
    """On the picture that has the place: not where the page had to scroll first, or another one came."""
    store = write_run(tmp_path, graded("buy", grade("state", FAILED), start_url="http://a.test/1"))
    folder = folder_of(store, "buy")
    (folder / "screenshots").mkdir()
    messages: list[Message] = []
    for number, (tool, params, hit, page, _) in enumerate(MARKED, 1):
        paint(folder / "screenshots" / f"{number - 1:03}.png", f"page {number}")
        messages.append(call(number, tool, params))
        messages.append(result(number, url=f"http://a.test/{page}", hit=hit or None, screenshot=number))
    paint(folder / "screenshots" / f"{len(MARKED):03}.png", "end")
    write_log(folder, *messages)

    async def shows(reader: Reader, wanted: str) -> None:
        page, hint = reader.page, await reader.texts("#detail .hint")
        await page.wait_for_function("document.querySelector('#detail img')?.complete")
        drawn = "[...document.querySelectorAll('#detail .pointer > *')].map((one) => one.localName).join(' ')"
        if hint:
            assert hint[0].startswith(wanted or "?")
        elif wanted:  # it is drawn once the picture is there
            await page.wait_for_function(f"(wanted) => {drawn} === wanted", arg=wanted)
        assert await page.evaluate(drawn) == ("" if hint else wanted)

    async def work(reader: Reader) -> None:
        await reader.open("#/buy/default/1/attempt-1/step-1")
        for number, (tool, _, _, _, (after, before)) in enumerate(MARKED, 1):
            assert await reader.text("#detail h3") == f"Step {number}: {tool}"
            await shows(reader, after)
            await reader.press("b")
            await shows(reader, before)
            await reader.press("b", "ArrowDown")
        await reader.press("Home")
        await shows(reader, ONE)
        circle = await reader.page.locator("#detail .pointer circle").first.bounding_box()
        image = await reader.page.locator("#detail img").bounding_box()
        width = await reader.page.evaluate("document.querySelector('#detail img').naturalWidth")
        assert abs((circle["x"] + circle["width"] / 2 - image["x"]) / image["width"] - 64 / width) < 0.01

    look(write_viewer(open_door(), store.root).file, work)
