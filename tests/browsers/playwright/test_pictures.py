from __future__ import annotations

import asyncio
import io
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import Error

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.pictures import PAUSES_S, REFUSAL
from pytest_browsereval.errors import ErrorSource, Fault
from tests.browsers.hanging import LOOP, hang
from tests.support import PageServer, Run, Visits, until


def test_a_picture_shows_the_current_tab(visit: Visits) -> None:
    """After a change of tabs another page is in the picture, and the first one when it is selected again."""
    opened = visit("<body style='background: rgb(0, 128, 0)'>")
    window, run = opened.window, opened.run

    def colour() -> tuple[int, ...]:
        pixel = Image.open(io.BytesIO(run(window.screenshot("png")))).convert("RGB").getpixel((600, 600))
        assert isinstance(pixel, tuple)
        return tuple(int(part) for part in pixel)

    assert colour() == (0, 128, 0)
    run(window.open_tab())
    assert colour() == (255, 255, 255)
    run(window.select_tab(1))
    assert colour() == (0, 128, 0)


@pytest.mark.parametrize("refusals", [3, len(PAUSES_S), len(PAUSES_S) + 1])
@pytest.mark.slow
def test_a_picture_that_chromium_refuses_is_asked_for_again(
    visit: Visits, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    """It does so on a busy machine, whichever way it is asked, and takes it a moment later."""
    opened = visit("<h1>Hello")
    window, refused = opened.window, 0
    drawn = window._camera._in_css_pixels

    async def refuse(*given: Any, **more: Any) -> bytes:
        nonlocal refused
        if refused < refusals:
            raise Error(f"Page.captureScreenshot: Protocol error: {REFUSAL}")
        return await drawn(*given)

    async def refuse_again(**_: Any) -> bytes:
        nonlocal refused
        refused += 1
        raise Error(f"Page.screenshot: Protocol error: {REFUSAL}")

    monkeypatch.setattr(window._camera, "_in_css_pixels", refuse)
    monkeypatch.setattr(window.page, "screenshot", refuse_again)
    if refusals <= len(PAUSES_S):
        assert Image.open(io.BytesIO(opened.run(window.screenshot("png")))).size == (1280, 720)
    else:
        with pytest.raises(Fault, match=REFUSAL) as caught:
            opened.run(window.screenshot("png"))
        assert caught.value.source is ErrorSource.SCREENSHOT
    assert refused == refusals


@pytest.mark.slow
def test_a_page_that_loops_for_ever_costs_one_picture_not_the_attempt(
    visit: Visits, pages: PageServer
) -> None:
    """The picture fails within its limit as a fault of the picture, the next one sooner, and close works."""
    opened = visit(LOOP)
    opened.window.rules = replace(opened.window.rules, picture_s=1.5)
    hang(opened, pages)
    for limit in ("1.5 s", "1 s"):
        with pytest.raises(Fault, match=f"was not drawn within {limit}") as caught:
            opened.run(opened.window.screenshot())
        assert caught.value.source is ErrorSource.SCREENSHOT


def test_no_picture_is_waited_for_while_a_dialog_is_open(visit: Visits) -> None:
    """The page is not drawn until the dialog is answered, which is said at once."""
    opened = visit("<script>setTimeout(() => alert(1), 0)</script>")

    async def picture() -> None:
        await until(lambda: opened.window.dialog)
        with pytest.raises(Fault, match="a dialog is open"):
            await asyncio.wait_for(opened.window.screenshot(), 20)
        await opened.window.answer_dialog(accept=True)
        assert await opened.window.screenshot()

    opened.run(picture())


def test_a_crashed_page_has_no_picture_until_it_is_revived(visit: Visits) -> None:
    """The tab keeps its number when its page is replaced, also where no further tab may be opened."""
    opened = visit("<h1>Hello")
    window = opened.window

    async def crash() -> None:
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        window.page.on("crash", lambda _: gone.set_result(None))
        session = await window.context.new_cdp_session(window.page)
        asyncio.ensure_future(session.send("Page.crash")).add_done_callback(lambda task: task.exception())
        await asyncio.wait_for(gone, 30)
        with pytest.raises(Fault, match="has crashed"):
            await window.screenshot()
        window._tabs._most = 1
        assert await window.revive()
        assert not await window.revive()
        window._tabs._most = 2
        assert (window.tab_id, await window.open_tab()) == (1, 2)
        assert await window.screenshot()

    opened.run(crash())
    assert any("crashed" in warning for warning in opened.window.warnings)


def test_pictures_of_a_scaled_screen_are_in_css_pixels(
    run: Run, browser: PlaywrightBrowser, pages: PageServer
) -> None:
    """At scale 2 a picture shows the whole viewport, and its points are points for the pointer."""
    corner = "position:fixed;right:0;bottom:0;width:9px;height:9px;background:red"
    url = pages.page("/scaled", f"<div style='{corner}'></div>")
    config = PlaywrightBrowserConfig(
        context={"device_scale_factor": 2, "viewport": {"width": 400, "height": 300}}
    )

    async def picture() -> Image.Image:
        window = await browser._connections[-1].new_window(config.context, config.rules(url))
        try:
            await window.goto(url)
            assert await window.page.evaluate("devicePixelRatio") == 2
            return Image.open(io.BytesIO(await window.screenshot("png"))).convert("RGB")
        finally:
            await window.close()

    image = run(picture())
    assert image.size == (400, 300)
    assert image.getpixel((398, 298)) == (255, 0, 0)
    assert image.getpixel((380, 280)) == (255, 255, 255)
