"""What the peers share: rows, the example's policies without an event loop, and the browser.

It runs in their environments, where this plugin is not installed.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import types
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

BROWSER = "BENCHMARK_BROWSER"
"""The variable with the arguments of Playwright's ``launch``, as JSON."""
REWARD = "WOB_RAW_REWARD_GLOBAL"
JPEG = {"format": "jpeg", "quality": 80}
CONTEXT: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 720},
    "locale": "en-US",
    "timezone_id": "UTC",
}

_plugin = types.ModuleType("pytest_browsereval")
vars(_plugin)["AgentContext"] = object  # the policies name it in an annotation
sys.modules.setdefault(_plugin.__name__, _plugin)
sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "miniwob"))
import policies  # noqa: E402 it lies in the example's folder, and imports the plugin


def rows(file: str | Path, first: int | None = None) -> list[dict[str, Any]]:
    """Return the first rows of a file, or all."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:first]]


def launch_options() -> dict[str, Any]:
    """Return how the browser is launched: the same program with the same switches as ours."""
    options: dict[str, Any] = json.loads(os.environ[BROWSER])
    return options


def play(page: str, hands: policies.Hands) -> None:
    """Play a page with hands that never wait, so that no event loop is needed."""
    run_through(policies.play(page, hands))


def run_through(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits to its end."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("These hands wait, though there is no event loop.")


class PageHands:
    """Hands of Playwright's sync API."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def after(self) -> None:
        """Do nothing after an action."""

    async def read(self, target: str) -> str:
        text: str = self._page.inner_text(target)
        return text

    async def click(self, target: str) -> None:
        self._page.click(target)
        self.after()

    async def fill(self, target: str, text: str) -> None:
        self._page.fill(target, text)
        self.after()

    async def select(self, target: str, value: str) -> None:
        self._page.select_option(target, value)
        self.after()

    async def look(self) -> None:
        self.after()


class PicturedHands(PageHands):
    """Hands that write a picture after each action, taken as ours are."""

    def __init__(self, page: Any, folder: Path) -> None:
        super().__init__(page)
        folder.mkdir(parents=True)
        self._session = page.context.new_cdp_session(page)
        self._folder = folder
        self._pictures = 0

    def after(self) -> None:
        """Write a picture."""
        reply = self._session.send("Page.captureScreenshot", JPEG)
        self._pictures += 1
        (self._folder / f"{self._pictures:03d}.jpeg").write_bytes(base64.b64decode(reply["data"]))
