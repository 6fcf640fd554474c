from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import ClassVar, Literal

import pytest

from pytest_browsereval.browsers.base import Browser, BrowserConfig, ForeignTool, Survey
from pytest_browsereval.features.scripting.tools import evaluate
from pytest_browsereval.registry import Registry
from pytest_browsereval.tools.base import tool
from pytest_browsereval.tools.toolkit import Toolkit, ToolkitConfig
from pytest_browsereval.tools.toolkits import CATALOG, build_plugged_kits, kits_for, resolve_tools

NAMES = {
    "navigation": ["navigate", "go_back", "go_forward", "reload", "wait", "wait_for_text"],
    "observation": ["snapshot", "read_text", "screenshot"],
    "input": [
        *("click", "hover", "fill", "type_text", "press_key", "select_option"),
        *("check", "uncheck", "drag", "scroll", "handle_dialog"),
    ],
    "files": ["upload_file", "read_download"],
    "pointer": ["click_at", "hover_at", "type_at", "type_keys", "drag_at", "scroll_at"],
    "scripting": ["evaluate"],
    "tabs": ["list_tabs", "open_tab", "select_tab", "close_tab"],
    "finish": ["done"],
}


def names(**switches: bool) -> list[str]:
    return [tool.name for tool in resolve_tools(switches)]


def test_the_catalog_is_the_one_of_the_documentation() -> None:
    """Names and their order are an interface: rows and models use them."""
    assert {key: [tool.name for tool in kit.tools] for key, kit in CATALOG.items()} == NAMES
    assert [name for kit in CATALOG.values() for name in kit.names] == [
        name for listed in NAMES.values() for name in listed
    ]
    assert all(kit.label for kit in CATALOG.values())


def test_without_switches_all_but_scripting_are_on() -> None:
    """The defaults of the catalog."""
    assert names() == [name for kit, listed in NAMES.items() if kit != "scripting" for name in listed]


def test_switches_choose_among_the_catalog() -> None:
    """By toolkit and by tool."""
    assert [name for name in names() if name not in names(drag=False)] == ["drag"]
    assert {*names()} - {*names(tabs=False, open_tab=True)} == {*NAMES["tabs"]}
    assert {*names(evaluate=True)} - {*names()} == {"evaluate"}


def test_done_is_always_on() -> None:
    """Turning it off is an error, whichever name is used; turning it on changes nothing."""
    for name in ("done", "finish"):
        with pytest.raises(ValueError, match=r"is always on\. Leave"):
            resolve_tools({name: False})
        assert names(**{name: True}) == names()
    off = dict.fromkeys([kit for kit in NAMES if kit != "finish"], False)
    assert names(**off) == ["done"]


def test_an_unknown_switch_is_refused_with_the_nearest_name() -> None:
    """The message has what was given, what is near, and everything there is."""
    with pytest.raises(
        ValueError, match=r"unknown tool or toolkit 'clik'\. Did you mean 'click'\?"
    ) as caught:
        resolve_tools({"clik": True})
    assert all(name in str(caught.value) for kit in CATALOG.values() for name in kit.names)


@tool
async def click(window: object) -> str:
    """Click."""
    return str(window)


@tool
async def own(window: object) -> str:
    """Do something of one's own."""
    return str(window)


def test_toolkits_of_others_stand_beside_ours() -> None:
    """They have switches of their own."""
    kit = Toolkit("mine", "Mine", (own,), default_on=False)
    assert "own" not in [tool.name for tool in resolve_tools({}, [kit])]
    assert resolve_tools({"mine": True}, [kit])[-1] is own


@pytest.mark.parametrize("kit", [Toolkit("mine", "Mine", (click,)), Toolkit("tabs", "Tabs", (own,))])
def test_two_tools_of_one_name_are_refused(kit: Toolkit) -> None:
    """Nothing is silently replaced; both owners are named, and what to write."""
    with pytest.raises(ValueError, match=r"Two tools or toolkits are named '(click|tabs)'.* Rename one"):
        resolve_tools({}, [kit])
    guest = replace(kit, owner="acme 1.0")
    told = r"\(from acme 1\.0\)\. .* Rename one, or take a toolkit out of `toolkits`"
    with pytest.raises(ValueError, match=told):
        resolve_tools({"input": False, "tabs": False}, [guest])


@pytest.mark.parametrize("name", ["done", "give_up"])
def test_names_of_tools_that_end_an_attempt_are_taken(name: str) -> None:
    """Of those too that only some agents have."""
    kit = Toolkit("mine", "Mine", (replace(own, name=name),), owner="acme 1.0")
    with pytest.raises(ValueError, match=rf"'mine' \(from acme 1\.0\) has a tool named '{name}', which is"):
        resolve_tools({}, [kit])


def test_a_tool_may_be_a_member_of_several_toolkits() -> None:
    """The same tool, not one of the same name: it is there once, and any owner's false turns it off."""
    kit = Toolkit("mine", "Mine", (own, evaluate), default_on=False)
    resolved = resolve_tools({"mine": True}, [kit])
    assert [tool.name for tool in resolved].count("evaluate") == 1
    assert evaluate in resolved
    assert evaluate not in resolve_tools({"mine": True, "scripting": False}, [kit])
    with pytest.raises(ValueError, match="are named 'own'"):
        resolve_tools({}, [Toolkit("twice", "Twice", (own, own))])


def test_a_browsers_own_tools_stand_beside_those_of_plug_ins() -> None:
    """They take the place of ours; a plug-in that clashes with them is told to go."""
    survey = Survey(tools=(ForeignTool("goto", "Go.", {}), ForeignTool("own", "Do.", {})))
    other = Toolkit("mine", "Mine", (click,), needs_page=False, owner="acme 1.0")
    resolved = resolve_tools({"goto": False}, [other], builtin=kits_for(survey, Paper()))
    assert [tool.name for tool in resolved] == ["own", "done", "click"]
    with pytest.raises(ValueError, match=r"'browser' \(from the browser\).* take a toolkit out"):
        resolve_tools({}, [replace(other, tools=(own,))], builtin=kits_for(survey, Paper()))


# -- toolkits of plug-ins


class Mine(ToolkitConfig):
    type: Literal["acme/mine"] = "acme/mine"
    key: str = "acme/mine"
    needs_page: bool = True

    def build(self) -> Toolkit:
        return Toolkit(self.key, "Mine", (own,), needs_page=self.needs_page)


class Broken(ToolkitConfig):
    type: Literal["acme/broken"] = "acme/broken"

    def build(self) -> Toolkit:
        raise KeyError("oops")


class Paper(BrowserConfig):
    type: Literal["paper"] = "paper"
    has_page: ClassVar[bool] = False

    def build(self) -> Browser:
        raise NotImplementedError


@pytest.fixture
def registry() -> Registry:
    registry = Registry()
    for member in (Mine, Broken):
        registry.register(member, owner="acme 1.0")
    return registry


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (Broken(), r"'acme/broken' \(from acme 1\.0\) cannot be used: KeyError: 'oops'"),
        (Mine(key="No Key"), r"cannot be used: the toolkit's key 'No Key' is not snake_case"),
        (Mine(), r"act on the page, and `browser: \{type: paper\}` has no Playwright page\. Leave"),
    ],
)
def test_a_toolkit_that_cannot_be_used_is_refused(
    registry: Registry, block: ToolkitConfig, told: str
) -> None:
    """The message names it, who brings it, and why."""
    with pytest.raises(ValueError, match=told):
        build_plugged_kits([block], registry, Paper())


ALL = [tool for kit in CATALOG.values() for tool in kit.tools]


def test_every_tool_keeps_the_contract(subtests: pytest.Subtests) -> None:
    """Snake case, at most two sentences, and a flat schema with no nested objects or references."""
    for each in ALL:
        with subtests.test(each=each):
            assert re.fullmatch(r"[a-z]+(_[a-z]+)*", each.name)
            assert 1 <= len(re.findall(r"[.!?](?= |$)", each.description)) <= 2
            schema = each.schema
            assert (schema["type"], schema["additionalProperties"]) == ("object", False)
            assert "$ref" not in json.dumps(schema)
            for name, field in schema["properties"].items():
                item = field
                while item["type"] == "array":
                    item = item["items"]
                assert item["type"] in {"string", "integer", "number", "boolean"}, name
                assert not {"title", "anyOf"} & set(field)
                assert field.get("description"), f"{each.name}.{name} has no description"


def test_signatures_are_those_that_rows_are_written_with() -> None:
    """The arguments of recorded solutions stay valid; a star marks those that may be left out."""
    given = {
        each.name: [
            name if name in each.schema.get("required", []) else f"{name}*"
            for name in each.schema["properties"]
        ]
        for each in ALL
    }
    assert given == {
        "navigate": ["url"],
        "go_back": [],
        "go_forward": [],
        "reload": [],
        "wait": ["seconds"],
        "wait_for_text": ["text*", "timeout_s*", "target*", "gone*"],
        "snapshot": ["target*"],
        "read_text": ["target*", "media*"],
        "screenshot": [],
        "click": ["target", "button*", "click_count*", "modifiers*", "hold_ms*", "position*"],
        "hover": ["target"],
        "fill": ["target", "text"],
        "type_text": ["target", "text"],
        "press_key": ["key*", "target*", "keys*", "hold_ms*"],
        "select_option": ["target", "value*", "values*"],
        "check": ["target"],
        "uncheck": ["target"],
        "drag": ["source", "target", "to_position*"],
        "scroll": ["direction", "amount*", "target*"],
        "handle_dialog": ["accept", "text*"],
        "click_at": ["x", "y", "button*", "click_count*", "modifiers*", "hold_ms*", "then*"],
        "hover_at": ["x*", "y*", "path*", "duration_s*"],
        "type_at": ["x", "y", "text", "clear*"],
        "type_keys": ["text", "clear*"],
        "drag_at": ["start_x*", "start_y*", "end_x*", "end_y*", "path*", "duration_s*"],
        "scroll_at": ["x", "y", "direction", "amount*"],
        "list_tabs": [],
        "open_tab": ["url*"],
        "select_tab": ["tab_id"],
        "close_tab": ["tab_id"],
        "upload_file": ["files", "target*"],
        "read_download": ["name", "part*"],
        "evaluate": ["expression"],
        "done": ["answer"],
    }
