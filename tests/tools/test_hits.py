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
    found = [one and (one.role, one.name, one.in_frame) for one in hits]
    assert found == [wanted for _, _, wanted in CALLS]
    assert hits[0] is not None
    assert (hits[0].tag, hits[0].id, hits[0].classes) == ("a", "oak", ("item", "first"))
