"""The viewer as axe sees it (``-m peers``): nothing that keeps somebody from using it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from pytest_browsereval.features.view.gate import put_gate
from pytest_browsereval.run.store import RunStore
from tests.features.mcp_browser import peers
from tests.features.shared.viewer.conftest import Look, Reader

PLACES = (
    "#?",
    "#?verdict=failed",
    "#?q=nothing",
    "#/buy/default/1/attempt-1",
    "#/buy/default/1/attempt-1/step-2",
    "#/find/default/1/attempt-1/step-2",
)
PLACES_OF_TWO = ("#?", "#?change=lost", "#/lost/default", "#/twice/default/trial-2", "#/gone/default")
UNFOLDED = """async () => {
  for (const one of document.querySelectorAll("main details")) one.open = true;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
"""Boxes are filled when they are opened."""
RUN = "axe.run({resultTypes: ['violations']})"
"""Every rule; where one is met, it says so by one element instead of all."""
WIDTHS, SCHEMES = (1280, 400), ("light", "dark")
"""A page is opened at each width, which its script looks at; a scheme changes its style alone."""

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def axe(pytestconfig: pytest.Config) -> str:
    """Return axe's script."""
    return (peers.installed(pytestconfig) / "axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", PLACES)
def test_axe_finds_nothing(axe: str, recorded: RunStore, look: Look, place: str) -> None:
    """Wide and narrow, light and dark: no violation of any rule, also of those that are advice only."""
    page = write_viewer(open_door(), recorded.root).file
    rules = [("not met", {"verdict": "failed"}), ("met", {"id": "buy"}), ("undecided", {})]
    put_gate(page, [["min_pass_rate", word, "pass rate 50.0%", choice] for word, choice in rules])
    look(page, examined(axe, place))


@pytest.mark.parametrize("place", PLACES_OF_TWO)
def test_axe_finds_nothing_in_a_comparison(axe: str, compared: Path, look: Look, place: str) -> None:
    """The page of two runs likewise."""
    look(compared, examined(axe, place))


def examined(axe: str, place: str) -> Callable[[Reader], Awaitable[None]]:
    """Return who opens a page with all that unfolds in it, and asks axe."""

    async def work(reader: Reader) -> None:
        for width in WIDTHS:
            await reader.page.set_viewport_size({"width": width, "height": 720})
            await reader.open(place)
            await reader.page.evaluate(axe)
            for scheme in SCHEMES:
                await reader.page.emulate_media(color_scheme=scheme)
                await reader.page.evaluate(UNFOLDED)
                await find_nothing(reader.page, f"{width} px, {scheme}")

    return work


async def find_nothing(page: Any, look: str) -> None:
    """Assert that axe, whose script the page has, finds no violation; ``look`` says how the page looks."""
    found: dict[str, Any] = await page.evaluate(RUN)
    assert len(found["passes"]) > 10
    told = [{rule["id"]: [node["html"][:200] for node in rule["nodes"]]} for rule in found["violations"]]
    assert told == [], f"{look}: {json.dumps(told, indent=1)}"
