"""The labelling page in a real browser: keys, what is kept, what is only text."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.features.labelling.labels import LabelBook
from pytest_browsereval.features.labelling.server import LabellingServer
from tests.features.labelling.conftest import HOSTILE
from tests.features.shared.viewer.conftest import Reader, read_page
from tests.support import Run, until

SETTLED = "() => shown && !busy && wanted === current"


class Labeller(Reader):
    """Somebody at the page."""

    async def open(self, place: str = "") -> None:
        await self.page.goto(self.address + place)
        await self.page.wait_for_function(SETTLED)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await super().press(key)
            await self.page.wait_for_function(SETTLED)


Label = Callable[[Callable[[Labeller], Awaitable[None]]], None]


@pytest.fixture
def label(run: Run, browser: PlaywrightBrowser, served: LabellingServer) -> Label:
    """Return how to label at the page, which is open."""

    def visit(work: Callable[[Labeller], Awaitable[None]]) -> None:
        async def whole(labeller: Labeller) -> None:
            await labeller.open()
            await work(labeller)

        run(read_page(browser, served.url, whole, Labeller))

    return visit


def written(book: LabelBook) -> list[tuple[str, str | None]]:
    lines = [json.loads(line) for line in book.path.read_text(encoding="utf-8").splitlines()]
    return [(line["query_id"], line["label"]) for line in lines]


def test_labels_by_keys(label: Label, book: LabelBook) -> None:
    """Each key labels and goes on to the next; undo takes it back; a reload and a new visit keep all."""

    async def work(labeller: Labeller) -> None:
        assert await labeller.text("#name") == "a"
        assert await labeller.text("#count") == "0 of 3 labelled"
        await labeller.press("p")
        assert await labeller.text("#name") == "b"
        await labeller.press("f", "u")
        await labeller.sees("#status", "c is labelled unclear. All attempts are labelled.")
        assert await labeller.text("#count") == "3 of 3 labelled"
        await labeller.press("z")
        await labeller.sees("#status", "Undone: c has no label again.")
        await labeller.press("ArrowLeft", "ArrowLeft", "f")
        await labeller.sees("#status", "a is labelled fail.")
        await labeller.press("z")
        assert await labeller.text("#name") == "a"
        assert await labeller.page.locator(".verdict [aria-pressed=true]").inner_text() == "✓ Pass p"
        await labeller.page.reload()
        await labeller.page.wait_for_function(SETTLED)
        assert await labeller.text("#name") == "a"
        assert await labeller.text("#count") == "2 of 3 labelled"
        assert await labeller.page.locator("#undo").is_disabled()
        await labeller.open()
        assert await labeller.text("#name") == "c"

    label(work)
    given = [("a", "pass"), ("b", "fail"), ("c", "unclear"), ("c", None), ("a", "fail"), ("a", "pass")]
    assert written(book) == given


def test_a_note_is_written_and_keys_rest_meanwhile(label: Label, book: LabelBook) -> None:
    """While a note is written letters are letters; Escape saves it, and so does leaving the attempt."""

    async def work(labeller: Labeller) -> None:
        await labeller.press("n")
        await labeller.page.keyboard.type("puffin <b>")
        await labeller.page.keyboard.press("Escape")
        await labeller.page.wait_for_function("() => attempts[0].note")
        assert book.done == 0
        await labeller.press("f", "ArrowLeft")
        assert await labeller.page.locator("#note").input_value() == "puffin <b>"
        await labeller.page.locator(".help summary").click()
        await labeller.page.locator("#keys").uncheck()
        await labeller.press("p")
        await labeller.page.locator("[data-label=unclear][aria-pressed]").click()
        await labeller.sees("#status", "a is labelled unclear.")

    label(work)
    lines = [json.loads(line) for line in book.path.read_text().splitlines()]
    assert {line["note"] for line in lines} == {"puffin <b>"}
    assert [line["label"] for line in lines][-2:] == ["fail", "unclear"]


def test_the_labeller_is_blind(label: Label, book: LabelBook) -> None:
    """Reference and grades are shown when their keys are pressed, and hidden again at the next attempt."""

    async def work(labeller: Labeller) -> None:
        assert "29.90" not in await labeller.page.content()
        assert "It is wrong" not in await labeller.page.content()
        await labeller.press("r")
        await labeller.sees("#reference-text", "29.90")
        assert await labeller.page.locator("#reference").get_attribute("aria-expanded") == "true"
        await labeller.press("g")
        await labeller.sees("#grades-text", "judge: failed, score 0")
        await labeller.press("g")
        assert await labeller.text("#grades-text") == ""
        await labeller.press("f")
        assert "29.90" not in await labeller.page.content()
        await labeller.press("p")

    label(work)
    seen = [json.loads(line).get("saw_grades", False) for line in book.path.read_text().splitlines()]
    assert seen == [True, False]


def test_steps_and_pictures(label: Label, served: LabellingServer) -> None:
    """The last step is open with the page as it was left; arrows open others; pictures load when shown."""

    async def work(labeller: Labeller) -> None:
        asked: list[str] = []
        labeller.page.on("request", lambda request: asked.append(request.url))
        assert await labeller.text("#steps > li[data-open] .tool") == "done"
        told = "No picture of its own; this is the page after step 1."
        assert await labeller.text("#steps .step .hint") == told
        await labeller.press("ArrowUp")
        assert await labeller.page.locator("#steps .step .hint").count() == 0
        assert await labeller.text("#steps > li[data-open] .tool") == "click"
        assert "Clicked." in await labeller.text("#steps .step")
        await labeller.page.wait_for_function(
            "() => document.querySelector('.shot img').naturalWidth === 640"
        )
        assert {url for url in asked if "pictures" in url} <= {f"{served.url}attempts/0/pictures/0"}
        await labeller.press("ArrowUp", "ArrowDown", "ArrowDown")
        assert await labeller.text("#steps > li[data-open] .tool") == "done"
        await labeller.press("ArrowRight", "ArrowRight", "ArrowRight")
        assert await labeller.text("#name") == "c"
        assert await labeller.text("#answer") == "No answer was given."
        assert await labeller.text("#steps") == "No steps were taken."

    label(work)


def test_hostile_text_is_text(label: Label) -> None:
    """Markup in a task, an answer, a tool, a result or a reason is shown as it stands and does nothing."""

    async def work(labeller: Labeller) -> None:
        await labeller.press("ArrowRight", "g")
        await labeller.sees("#grades-text", HOSTILE)
        assert await labeller.page.locator("#query").text_content() == HOSTILE
        assert await labeller.page.locator("#answer").text_content() == HOSTILE
        assert await labeller.page.locator("#steps .tool").text_content() == HOSTILE
        assert await labeller.page.locator("#facts dd").first.text_content() == "javascript:alert(1)"
        assert HOSTILE in await labeller.page.locator("#steps .step").text_content()
        assert await labeller.page.locator("script").count() == 1
        assert await labeller.page.locator("a[href^=javascript]").count() == 0
        assert await labeller.page.title() == "2 of 3 · Label attempts"

    label(work)


def test_a_label_that_is_lost_is_told(label: Label, book: LabelBook) -> None:
    """When the disk refuses, the page says so, stays, and shows no label that is not in the file."""

    async def work(labeller: Labeller) -> None:
        book.path.mkdir()
        await labeller.press("p")
        await labeller.sees("#problem", "Not done: the file cannot be used: Is a directory")
        assert await labeller.text("#name") == "a"
        assert await labeller.text("#count") == "0 of 3 labelled"
        book.path.rmdir()
        await labeller.press("p")
        assert await labeller.text("#count") == "1 of 3 labelled"
        assert not await labeller.page.locator("#problem").is_visible()
        await until(lambda: labeller.complaints)
        assert len(labeller.complaints) == 1  # the browser's own, of status 500
        labeller.complaints.clear()

    label(work)
