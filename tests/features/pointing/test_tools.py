from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from tests.support import PageServer, Run, Visits, configured, visiting

CORNERS = {"nw": (20, 20, 16), "ne": (780, 24, 12), "sw": (24, 576, 12), "se": (790, 590, 8)}
CIRCLES = "".join(
    f"<i id={name} style='position:fixed;left:{x - r}px;top:{y - r}px;width:{2 * r}px;height:{2 * r}px;"
    f"border-radius:50%;background:red' onclick='hit.push(this.id)'></i>"
    for name, (x, y, r) in CORNERS.items()
)


@pytest.mark.parametrize("scale", [1, 2, 1.5])
def test_a_click_at_a_point_hits_what_is_there(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path, scale: float
) -> None:
    """Points are CSS pixels at any device scale: each circle in a corner is hit within its radius only."""
    url = pages.page("/circles", f"<script>hit = []; miss = 0; onclick = () => miss++</script>{CIRCLES}")
    shape = {"device_scale_factor": scale, "viewport": {"width": 800, "height": 600}}
    with configured(browser, context=shape), visiting(run, browser, tmp_path, url) as opened:
        for x, y, radius in CORNERS.values():
            opened.output("click_at", x=x, y=y)
            opened.output("click_at", x=x - radius + 1, y=y)
            opened.output("click_at", x=x - radius - 1, y=y)
        assert opened.js("hit") == [name for name in CORNERS for _ in range(2)]


def test_a_point_outside_the_viewport_is_refused(visit: Visits) -> None:
    """The message has the size that there is; nothing is clicked. So does every tool of the kind."""
    opened = visit()
    for x, y in ((1280, 10), (10, 720), (-1, 10), (10, -0.5), (99999, 1)):
        said = opened.refusal("click_at", x=x, y=y)
        assert said == f"({x:g}, {y:g}) is outside the viewport, which is 1280 x 720 CSS pixels."
    outside: dict[str, dict[str, Any]] = {
        "hover_at": {"x": 2000, "y": 1},
        "type_at": {"x": 2000, "y": 1, "text": "x"},
        "drag_at": {"start_x": 1, "start_y": 1, "end_x": 2000, "end_y": 1},
        "scroll_at": {"x": 2000, "y": 1, "direction": "down"},
    }
    for name, arguments in outside.items():
        assert "outside the viewport" in opened.refusal(name, **arguments)


def test_buttons_and_double_clicks_reach_the_point(visit: Visits) -> None:
    """As for elements."""
    opened = visit(
        "<script>seen = []; for (const n of ['dblclick', 'contextmenu']) "
        "addEventListener(n, (e) => seen.push([n, e.clientX, e.clientY]))</script>"
    )
    assert opened.output("click_at", x=50, y=60, click_count=2) == "Double-clicked at (50, 60)."
    said = opened.output("click_at", x=70, y=80, button="right")
    assert said == "Clicked at (70, 80) with the right button."
    assert opened.js("seen") == [["dblclick", 50, 60], ["contextmenu", 70, 80]]


def test_typing_adds_or_replaces(visit: Visits) -> None:
    """At a point, or where the focus is; by default what is there stays. Hovering types nothing."""
    opened = visit(
        "<style>:hover { color: red }</style>"
        "<input id=i value=old style='position:fixed;left:0;top:0;width:200px;height:40px'>"
    )
    assert opened.output("hover_at", x=20.5, y=30) == "The pointer is at (20.5, 30)."
    assert opened.js("getComputedStyle(i).color") == "rgb(255, 0, 0)"
    assert opened.output("type_at", x=190, y=20, text="er") == "Typed 'er' at (190, 20)."
    assert opened.output("type_keys", text="!") == "Typed '!'."
    assert opened.js("i.value") == "older!"
    for tool, at in (("type_at", {"x": 20, "y": 20}), ("type_keys", {})):
        opened.output(tool, **at, text=tool, clear=True)
        assert opened.js("i.value") == tool


def test_scrolling_at_a_point_scrolls_what_is_there(visit: Visits) -> None:
    """The box under the pointer moves, the page does not; nothing is clicked."""
    opened = visit(
        "<script>clicks = 0; onclick = () => clicks++</script><body style='margin:0;height:3000px'>"
        "<div id=box style='height:100px;width:100px;overflow:auto'><p style='height:900px'></div>"
    )
    opened.output("scroll_at", x=50, y=50, direction="down", amount=1)
    assert opened.js("[box.scrollTop, scrollY, clicks]") == [120, 0, 0]
    assert "The page is at 360 of 2,280." in opened.output("scroll_at", x=600, y=300, direction="down")


def test_the_pointer_follows_a_path(visit: Visits) -> None:
    """Through all points in their order, with the button down or not, as slowly as it is asked to."""
    opened = visit(
        "<script>seen = []; for (const n of ['mousedown', 'mousemove', 'mouseup']) "
        "addEventListener(n, (e) => seen.push([n, e.clientX, e.clientY, e.buttons, e.timeStamp]))</script>"
    )
    said = opened.output("drag_at", start_x=100, start_y=50, end_x=300, end_y=50)
    assert said == "Dragged from (100, 50) to (300, 50)."
    seen = [[name, x, buttons] for name, x, _, buttons, _ in opened.js("seen")]
    press = seen.index(["mousedown", 100, 1])
    assert (seen[press - 1], seen[-1]) == (["mousemove", 100, 0], ["mouseup", 300, 0])
    assert [one[::2] for one in seen[press:]].count(["mousemove", 1]) >= 5
    opened.js("seen = []")
    path = [[100, 50], [300, 50], [300, 200]]
    said = opened.output("drag_at", path=path, duration_s=0.6)
    assert said == "Dragged from (100, 50) to (300, 200) through 1 point."
    seen = opened.js("seen")
    points = [event[1:3] for event in seen]
    assert [points.index(point) for point in path] == sorted(points.index(point) for point in path)
    ends = [event[:4] for event in seen if event[0] != "mousemove"]
    assert ends == [["mousedown", 100, 50, 1], ["mouseup", 300, 200, 0]]
    assert seen[-1][4] - seen[1][4] >= 550
    opened.js("seen = []")
    said = opened.output("hover_at", path=[*path, [10, 10]])
    assert said == "The pointer is at (10, 10), moved from (100, 50) to (10, 10) through 2 points."
    assert {event[3] for event in opened.js("seen")} == {0}
    assert [300, 200] in [event[1:3] for event in opened.js("seen")]


def test_a_way_is_given_in_one_form(visit: Visits) -> None:
    """Points or a path, whole and within the viewport: else nothing moves."""
    opened = visit("<script>seen = 0; onmousedown = () => seen++</script>")
    path = [[1, 1], [2, 2]]
    either = "Give either start_x, start_y, end_x and end_y, or path."
    for given, said in (
        ({"start_x": 1, "start_y": 1}, either),
        ({"path": path, "end_x": 1}, either),
        ({}, either),
        ({"path": path[:1]}, "path: List should have at least 2 items"),
        ({"path": [[1, 1], [2]]}, "path.1: List should have at least 2 items"),
        ({"path": [*path, [9999, 2]]}, "(9999, 2) is outside the viewport, which is 1280 x 720 CSS pixels."),
        ({"path": path, "duration_s": 31}, "duration_s: Input should be less than or equal to 30"),
    ):
        assert said in opened.refusal("drag_at", **given), given
    for given in ({"x": 1}, {"x": 1, "y": 1, "path": path}, {}):
        assert opened.refusal("hover_at", **given) == "Give either x and y, or path."
    assert "outside the viewport" in opened.refusal("click_at", x=1, y=1, then=[[1, 9999]])
    assert opened.js("seen") == 0
