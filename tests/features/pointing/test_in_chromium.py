"""Points of pictures land where they point, in a real page that knows the truth in pixels."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.features.pointing.actions import Coordinates
from pytest_browsereval.features.pointing.computer_use import ComputerUseConfig
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls
from tests.features.pointing.seeing import BLUE, GREEN, VIOLET, picture_of, play, pointed, range_of, zoom
from tests.support import PageServer, Run

SHOTS: list[tuple[str, tuple[int, int, int]]] = [
    ("right_click", GREEN),
    ("double_click", BLUE),
    ("left_click", VIOLET),
]
Case = tuple[float, Coordinates, str]
CASES: list[Case] = [
    (1, "normalized", ""),
    (1, "pixels", ""),
    (2, "pixels", ""),
    (1, "normalized", "css 0.75"),
    (2, "pixels", "css 1.25"),
    (2, "normalized", "pinch 1.5"),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_model_hits_what_it_sees(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path, case: Case
) -> None:
    """It knows nothing but the picture that it was sent, and hits targets of 32, 24 and 16 pixels."""
    scale, coordinates, zoomed = case
    sizes = []

    def shoots(request: ModelRequest) -> Reply:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        picture = picture_of(request)
        sizes.append(picture.size)
        if turn == len(SHOTS):
            return calls(call("computer", action="done", text="All hit."))
        action, colour = SHOTS[turn]
        return calls(call("computer", action=action, **pointed(picture, colour, coordinates)))

    with ScriptedModel(shoots) as model, range_of(run, browser, pages, tmp_path, scale) as opened:
        zoom(opened, zoomed)
        config = ComputerUseConfig(model="scripted", base_url=model.base_url, coordinates=coordinates)
        result = play(opened, config, tmp_path)
        shots = opened.js("truth.shots")
        model.assert_finished()
    assert result.final_answer == "All hit."
    hits = [(shot["target"], shot["button"], shot["click_count"]) for shot in shots]
    expected = [("green", "right", 1), ("blue", "left", 1), ("blue", "left", 2), ("violet", "left", 1)]
    assert hits == expected
    assert set(sizes) == {(1280, 720)}
    assert opened.capture.screenshot.count == len(SHOTS)
