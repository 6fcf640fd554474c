from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.features.pointing.actions import KINDS, BadAction, Coordinates, Geometry, tool_calls
from pytest_browsereval.features.pointing.computer_use import ComputerUseConfig
from pytest_browsereval.features.pointing.spellings import read_action
from pytest_browsereval.tools.toolkits import CATALOG, resolve_tools

AGENT = ComputerUseConfig(provider="openai", model="gpt-x")
VIEW = (1280, 720)
GRID = Geometry(VIEW, VIEW)
TOOLS = {tool.name: tool for kit in CATALOG.values() for tool in kit.tools}


def performs(given: dict[str, Any], geometry: Geometry = GRID, **options: Any) -> list[tuple[str, Any]]:
    """Return the tool calls of what a model wrote; each is one that the tool takes."""
    made = tool_calls(read_action(given, **options), geometry)
    for name, arguments in made:
        if name in TOOLS:
            TOOLS[name].check_arguments(arguments)
    return made


# -- geometry


def test_points_become_css_pixels(subtests: pytest.Subtests) -> None:
    """Scaled by picture and viewport, rounded to the nearest whole pixel, and never out of the viewport."""
    cases: list[tuple[Coordinates, tuple[int, int], tuple[float, float], tuple[int, int]]] = [
        ("normalized", VIEW, (0, 0), (0, 0)),
        ("normalized", VIEW, (500, 500), (640, 360)),
        ("normalized", VIEW, (999, 999), (1279, 719)),
        ("normalized", (320, 180), (500, 500), (640, 360)),
        ("normalized", VIEW, (429, 542), (549, 390)),  # 549.12, 390.24
        ("pixels", VIEW, (550, 390), (550, 390)),
        ("pixels", VIEW, (549.5, 389.4), (550, 389)),
        ("pixels", (640, 360), (275, 195), (550, 390)),
        ("pixels", (2560, 1440), (1101, 781), (551, 391)),  # 550.5 and 390.5: half up
    ]
    for coordinates, picture, given, point in cases:
        with subtests.test(coordinates=coordinates, picture=picture, given=given):
            assert Geometry(VIEW, picture, coordinates).point(*given) == point


def test_a_point_outside_is_refused(subtests: pytest.Subtests) -> None:
    """The sentence has the point and the range that there is; nothing is clamped."""
    cases: list[tuple[Coordinates, float, float]] = [
        ("normalized", 1000, 5),
        ("normalized", 5, -1),
        ("pixels", 640, 5),
        ("pixels", 1e300, 5),
    ]
    for coordinates, x, y in cases:
        with subtests.test(coordinates=coordinates, x=x, y=y):
            geometry = Geometry(VIEW, (640, 360), coordinates)
            with pytest.raises(BadAction, match="outside the picture") as caught:
                performs({"action": "click", "x": x, "y": y}, geometry)
            assert f"({x:g}, {y:g})" in str(caught.value)
            most = "999" if coordinates == "normalized" else "639"
            assert f"x goes from 0 to {most}," in str(caught.value)


# -- the vocabulary


def test_every_action_has_its_tool() -> None:
    """Each action becomes a call that its tool takes."""
    points, at = {"x": 500, "y": 500}, {"x": 640, "y": 360}
    way = {"start_x": 640, "start_y": 360, "end_x": 0, "end_y": 719}
    made: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
        "click": (points, "click_at", at),
        "double_click": (points, "click_at", {**at, "click_count": 2}),
        "triple_click": (points, "click_at", {**at, "click_count": 3}),
        "right_click": (points, "click_at", {**at, "button": "right"}),
        "long_press": (points, "click_at", {**at, "hold_ms": 800}),
        "hover": (points, "hover_at", at),
        "type": ({"text": "Ada"}, "type_keys", {"text": "Ada", "clear": False}),
        "press": ({"key": "Enter"}, "press_key", {"key": "Enter"}),
        "scroll": ({"direction": "down"}, "scroll_at", {**at, "direction": "down", "amount": 3}),
        "drag": ({**points, "end_x": 0, "end_y": 999}, "drag_at", way),
        "wait": ({}, "wait", {"seconds": 1.0}),
        "done": ({"text": ""}, "done", {"answer": ""}),
        "give_up": ({"text": "no"}, "give_up", {"reason": "no"}),
        "navigate": ({"url": "https://a.test"}, "navigate", {"url": "https://a.test"}),
        "go_back": ({}, "go_back", {}),
        "go_forward": ({}, "go_forward", {}),
        "reload": ({}, "reload", {}),
        "select_tab": ({"tab": 2}, "select_tab", {"tab_id": 2}),
        "close_tab": ({"tab": 2}, "close_tab", {"tab_id": 2}),
        "handle_dialog": ({"accept": False}, "handle_dialog", {"accept": False}),
    }
    assert set(made) == set(KINDS)
    for name, (given, tool, arguments) in made.items():
        assert performs({"action": name, **given}) == [(tool, arguments)]


def test_typing_can_click_clear_and_press_enter() -> None:
    """At a point it is one tool; Enter is a call of its own."""
    asked = {"action": "type_text_at", "x": 0, "y": 0, "text": "Ada"}
    made = performs({**asked, "clear_before_typing": True, "press_enter": True})
    typed = {"x": 0, "y": 0, "text": "Ada", "clear": True}
    assert made == [("type_at", typed), ("press_key", {"key": "Enter"})]
    assert performs({"action": "type", "text": "", "clear": True})[0][1] == {"text": "", "clear": True}


def test_scrolling_is_counted_in_notches(subtests: pytest.Subtests) -> None:
    """Whatever the model counts in: notches, pixels of either sign, thousandths of the page's height."""
    cases: list[tuple[dict[str, Any], dict[str, Any], tuple[str, int]]] = [
        ({"amount": 5}, {}, ("down", 5)),
        ({"amount": 100_000}, {}, ("down", 100)),
        ({"amount": 1000}, {"unit": "grid"}, ("down", 6)),  # 720 pixels
        ({"magnitude": 500}, {}, ("down", 3)),
        ({"direction": None, "pixels": -240}, {}, ("down", 2)),
        ({"direction": None, "scroll_x": 0, "scroll_y": 360}, {}, ("down", 3)),
        ({"direction": None, "scroll_x": -120, "scroll_y": 0}, {}, ("left", 1)),
    ]
    for given, options, expected in cases:
        with subtests.test(given=given, options=options, expected=expected):
            ((_, arguments),) = performs({"action": "scroll", "direction": "down", **given}, **options)
            assert (arguments["direction"], arguments["amount"]) == expected


# -- spellings


CLICK = [("click_at", {"x": 640, "y": 360})]
DRAG = [("drag_at", {"start_x": 128, "start_y": 144, "end_x": 384, "end_y": 288})]


def test_an_action_is_the_same_however_it_is_spelled(subtests: pytest.Subtests) -> None:
    """Names, pairs, numbers in text, paths, wrappers: what real models write."""
    clicks: list[dict[str, Any]] = [
        {"action": "left_click", "coordinate": [500, 500]},
        {"action": "leftClick", "x": "500", "y": 500.0},
        {"action": "click_at", "position": {"x": 500, "y": 500}},
        {"action": "click", "start_box": "<point>500 500</point>"},
        {"action_type": "click", "point": [500, 500]},
        {"type": "click", "x": 500, "y": 500, "button": "left"},
        {"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 500]}},
        {"type": "function", "function": {"name": "x", "arguments": '{"action": "tap", "x": 500, "y": 500}'}},
        {"action": {"type": "click", "x": 500, "y": 500}},
        {"thought": "I click.", "name": "click", "parameters": {"x": 500, "y": 500}},
    ]
    drags: list[dict[str, Any]] = [
        {"action": "drag", "startX": 100, "startY": 200, "endX": 300, "endY": 400},
        {"action": "left_click_drag", "start_coordinate": [100, 200], "coordinate": [300, 400]},
        {"action": "drag_and_drop", "x": 100, "y": 200, "destination_x": 300, "destination_y": 400},
        {"action": "drag", "start": {"x": 100, "y": 200}, "end": [300, 400]},
        {"action": "drag", "path": [{"x": 100, "y": 200}, {"x": 300, "y": 400}]},
    ]
    for cases, performed in ((clicks, CLICK), (drags, DRAG)):
        for given in cases:
            with subtests.test(given=given):
                assert performs(given) == performed


def test_foreign_names_are_known(subtests: pytest.Subtests) -> None:
    """Words of other vocabularies."""
    cases: list[tuple[dict[str, Any], tuple[str, Any]]] = [
        ({"action": "key", "text": "ctrl+a"}, ("press_key", {"key": "Control+a"})),
        ({"action": "hotkey", "keys": ["CTRL", "shift", "T"]}, ("press_key", {"key": "Control+Shift+T"})),
        ({"action": "key", "key": "cmd + Page_Down"}, ("press_key", {"key": "Meta+PageDown"})),
        (
            {"action": "hold_key", "text": "up", "duration": 2},
            ("press_key", {"key": "ArrowUp", "hold_ms": 2000}),
        ),
        (
            {"action": "drag", "path": [{"x": 100, "y": 200}, [500, 500], {"x": 300, "y": 400}]},
            ("drag_at", {"path": [[128, 144], [640, 360], [384, 288]]}),
        ),
        ({"action": "press_enter"}, ("press_key", {"key": "Enter"})),
        ({"action": "wait_5_seconds"}, ("wait", {"seconds": 5.0})),
        ({"action": "wait", "time": 3}, ("wait", {"seconds": 3.0})),
        ({"action": "terminate", "status": "success"}, ("done", {"answer": "success"})),
        ({"action": "answer", "answer": 12.5}, ("done", {"answer": "12.5"})),
        ({"action": "dismiss_dialog"}, ("handle_dialog", {"accept": False})),
    ]
    for given, expected in cases:
        with subtests.test(given=given, expected=expected):
            assert performs(given) == [expected]


# -- what is no action


def test_what_is_no_action_is_told(subtests: pytest.Subtests) -> None:
    """In a sentence that the model can act on, and a short one."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "it names no action"),
        ({"action": None}, "the action is null"),
        ({"action": "clik", "x": 1, "y": 1}, "'clik' is not an action. Did you mean 'click'?"),
        ({"action": "click"}, "click needs x and y"),
        ({"action": "click", "x": 1}, "click needs y"),
        ({"action": "click", "x": float("nan"), "y": 1}, "x: Input should be a finite number"),
        ({"action": "click", "x": 1, "y": float("inf")}, "y: Input should be a finite number"),
        ({"action": "click", "x": "left", "y": 1}, "x: Input should be a valid number"),
        ({"action": "click", "coordinate": [1, 2, 3, 4]}, "[1, 2, 3, 4] is not a point"),
        ({"action": "click", "coordinate": "upper left"}, '"upper left" is not a point'),
        ({"action": "drag", "x": 1, "y": 1}, "drag needs end_x and end_y"),
        ({"action": "type", "text": ""}, "type needs text"),
        ({"action": "type", "x": 1, "text": "a"}, "type has only one of x and y"),
        ({"action": "type", "text": "x" * 200_000}, "text: String should have at most"),
        ({"action": "scroll"}, "scroll needs direction"),
        ({"action": "scroll", "direction": "north"}, "direction: Input should be 'up', 'down'"),
        ({"action": "scroll", "direction": "up", "amount": -1}, "amount: Input should be greater than 0"),
        ({"action": "select_tab", "tab": "last"}, "tab: Input should be a valid integer"),
    ]
    for given, why in cases:
        with subtests.test(given=given, why=why):
            with pytest.raises(BadAction) as caught:
                performs(given)
            assert why in str(caught.value)
            assert len(str(caught.value)) < 200


# -- tools


def test_actions_need_their_tools() -> None:
    """The refusal has the missing tools and what to write."""
    AGENT.check_tools({tool.name: tool for tool in resolve_tools({})}, ())
    without = {tool.name: tool for tool in resolve_tools({"pointer": False, "press_key": False})}
    with pytest.raises(ValueError, match="needs the tools") as caught:
        AGENT.check_tools(without, ())
    for told in ("'computer-use'", "type_keys, press_key", "`pointer: false`", "`press_key: false`"):
        assert told in str(caught.value)
