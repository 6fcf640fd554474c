"""The dashboard as axe sees it (``-m peers``): nothing that keeps somebody from using it."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.dashboard.server import DashboardServer
from pytest_browsereval.model.messages import UserMessage
from tests.features.dashboard.conftest import Session
from tests.features.shared.viewer.conftest import Reader, Watch, call, result
from tests.features.shared.viewer.test_axe import SCHEMES, WIDTHS, axe, find_nothing
from tests.labelled import grade, graded
from tests.recorded import FAILED

__all__ = ["axe"]

pytestmark = pytest.mark.peers


def test_axe_finds_nothing(axe: str, server: DashboardServer, session: Session, watch: Watch) -> None:
    """Wide and narrow, light and dark, running and paused: no violation of any rule."""
    session.begin("buy", "find", "pay", "login", "search", processes=2)
    session.fly("buy", "gw0").end(graded("buy", grade("state", FAILED), reason="No mug."))
    session.queue.end_trial("buy")
    session.queue.end_trial("pay", "budget: it is used up")
    flying = session.fly("find", "gw1")
    flying.picture(1)
    flying.say(
        UserMessage(content="Find it."),
        call(1, "click", {"target": "e1"}),
        result(1, "Nothing there.", is_error=True, screenshot=1),
    )

    async def work(watcher: Reader) -> None:
        for width in WIDTHS:
            await watcher.page.set_viewport_size({"width": width, "height": 720})
            await watcher.open()
            await watcher.page.wait_for_selector("#lanes img")
            await watcher.page.evaluate(axe)
            for scheme in SCHEMES:
                await watcher.page.emulate_media(color_scheme=scheme)
                if scheme == "dark":
                    await watcher.page.get_by_role("button", name="Pause").click()
                    await watcher.page.wait_for_selector("#now[data-state=paused]")
                await find_nothing(watcher.page, f"{width} px, {scheme}")
            await watcher.page.get_by_role("button", name="Resume").click()
            await watcher.page.wait_for_selector("#now[data-state=running]")
        session.queue.end(1)
        await watcher.page.wait_for_selector("#now[data-state=ended]")
        await find_nothing(watcher.page, "ended")

    watch(f"{server.url}0/", work)
