"""The record of a call names the element that it acted on, so that causes compare calls by it."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.model.messages import ToolResultMessage
from tests.support import Visits

PAGE = """
<a id=oak class="item first" href="#oak" style="position:fixed;left:10px;top:10px">Oak <b>tray</b></a>
<label style="position:fixed;left:10px;top:60px">Name <input id=name></label>
<div id=host style="position:fixed;left:10px;top:110px"></div>
<iframe srcdoc="<button style='margin:0'>Pay</button>" style="position:fixed;left:10px;top:160px"></iframe>
<canvas id=map width=50 height=50 style="position:fixed;left:400px;top:10px;background:red"></canvas>
<label style="position:fixed;left:10px;top:340px">Region <select id=region><option>North</option>
<option>South</option></select></label>
<script>host.attachShadow({mode: "open"}).innerHTML = "<button>Shade</button>"</script>
"""
CALLS: tuple[tuple[str, dict[str, Any], tuple[str, str, bool] | None], ...] = (
    ("click_at", {"x": 20, "y": 18}, ("link", "Oak tray", False)),
    ("click", {"target": "#oak"}, ("link", "Oak tray", False)),
    ("type_at", {"x": 20, "y": 68, "text": "a"}, ("textbox", "Name", False)),
    ("fill", {"target": "#name", "text": "Ada"}, ("textbox", "Name", False)),
    ("select_option", {"target": "#region", "value": "South"}, ("combobox", "Region", False)),
    ("click_at", {"x": 20, "y": 118}, ("button", "Shade", False)),
    ("click_at", {"x": 25, "y": 175}, ("button", "Pay", True)),
    ("click", {"target": "iframe >>> button"}, ("button", "Pay", True)),
    ("click_at", {"x": 410, "y": 20}, ("", "", False)),
    ("click", {"target": "text=Oak tray"}, None),
    ("press_key", {"key": "Escape"}, None),
)


def test_what_a_call_hit_is_recorded(visit: Visits) -> None:
    """By points and selectors, in shadow trees and frames; not where the call itself names it."""
    opened = visit(PAGE)
    for name, arguments, _ in CALLS:
        opened.output(name, **arguments)
    hits = [one.hit for one in opened.logged(ToolResultMessage)]
    found = [(one.role, one.name, one.in_frame) if one and one.tag else None for one in hits]
    assert found == [wanted for _, _, wanted in CALLS]
    assert hits[0] is not None
    assert (hits[0].tag, hits[0].id, hits[0].classes) == ("a", "oak", ("item", "first"))


MARKED = """<style>body { margin: 0 } a, b, i, input, #bin, iframe { position: fixed }</style>
<a id=a href="#a" style="left:100px;top:50px;width:80px;height:20px">Oak</a>
<input id=i style="left:100px;top:100px;width:98px;height:18px;padding:0;border:1px solid">
<iframe srcdoc="<button style='position:fixed;left:0;top:0;width:60px;height:30px'>Pay</button>"
  style="left:200px;top:300px;border:5px solid"></iframe>
<b id=box draggable=true style="left:300px;top:50px;width:40px;height:40px">x</b>
<div id=bin style="left:500px;top:50px;width:100px;height:100px" ondragover="return false"
  ondrop="this.append(box)"></div>
<button id=late style="position:absolute;left:10px;top:3000px;width:40px;height:20px">Late</button>
<script>addEventListener("click", (event) => last = [event.clientX, event.clientY])</script>"""
POINTS: tuple[tuple[str, dict[str, Any], list[tuple[float, float]]], ...] = (
    ("click", {"target": "#a"}, [(140, 60)]),
    ("click", {"target": "role=link[name=Oak]"}, [(140, 60)]),
    ("click", {"target": "#a", "position": [5, 6]}, [(105, 56)]),
    ("hover", {"target": "text=Oak"}, [(140, 60)]),
    ("fill", {"target": "#i", "text": "a"}, [(150, 110)]),
    ("type_text", {"target": "#i", "text": "b"}, [(150, 110)]),
    ("press_key", {"target": "#i", "key": "c"}, [(150, 110)]),
    ("click", {"target": "iframe >>> text=Pay"}, [(235, 320)]),
    ("drag", {"source": "#box", "target": "#bin", "to_position": [10, 20]}, [(320, 70), (510, 70)]),
    ("click_at", {"x": 110, "y": 55}, []),
    ("press_key", {"key": "Escape"}, []),
    ("read_text", {"target": "#a"}, []),
    ("click", {"target": "#late"}, [(30, 710)]),
)


def test_where_a_call_acted_is_recorded(visit: Visits) -> None:
    """As points of the viewport, in frames too, after what the call has scrolled."""
    opened = visit(MARKED)
    for name, arguments, _ in POINTS:
        opened.output(name, **arguments)
    hits = [one.hit for one in opened.logged(ToolResultMessage)]
    assert [list(one.points) if one else [] for one in hits] == [wanted for _, _, wanted in POINTS]
    assert opened.js("last") == [30, 710]
