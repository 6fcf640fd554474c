"""``browsereval tools``: the catalog, and what a config turns on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pytest_browsereval.__main__ import main

KIT = """
from typing import Literal
from pytest_browsereval import Toolkit, ToolkitConfig, tool

@tool
async def look_up(window, word: str) -> str:
    '''Look a word up. At length.'''

class Words(ToolkitConfig):
    type: Literal["words"] = "words"

    def build(self):
        return Toolkit("words", "Words", (look_up,), needs_page=False, vetoes={"look_up": "no key"})

def pytest_browsereval_register(registry):
    registry.register(Words)
"""


pytestmark = pytest.mark.usefixtures("in_tmp_path")


def config(**keys: object) -> str:
    Path("rows.jsonl").write_text("")
    Path("shop.yaml").write_text(yaml.safe_dump({"agent": "scripted", "dataset": "rows.jsonl", **keys}))
    return "shop.yaml"


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    """Every toolkit with its tools, whether they are on by default, and what each does."""
    assert main(["tools"]) == 0
    printed = lines(capsys)
    assert "scripting: JavaScript in the page" in printed
    found = {line.split()[0]: line.split()[1] for line in printed if line.startswith("  ")}
    assert (found["click"], found["evaluate"], found["done"]) == ("on", "off", "always")
    assert any(line.startswith("  click ") and line.endswith("Click an element") for line in printed)


def test_what_a_config_turns_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Each variant's own switches, toolkits of conftests, sites, and what cannot be of use."""
    Path("conftest.py").write_text(KIT)
    given = config(
        agent=None,
        variants={"x": "scripted", "y": {"type": "scripted", "tools": {"tabs": False, "evaluate": True}}},
        tools={"pointer": False},
        toolkits=["words"],
        sites={"shop": {"static": ".", "toolkits": ["words"]}},
    )
    Path(given).write_text(Path(given).read_text().replace("agent: null\n", ""))
    assert main(["tools", given]) == 0
    printed = lines(capsys)
    states = {line.split()[0]: line[22:] for line in printed if line.startswith("  ")}
    assert states["click"].startswith("on ")
    assert states["click_at"].startswith("off ")
    assert states["open_tab"].startswith("on for x")
    assert states["evaluate"].startswith("on for y")
    assert any(line.startswith("words: Words (from ") and "in rows that use shop" in line for line in printed)
    assert "look_up is not offered to x: no key" in printed


def test_plain_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The same for programs: the catalog as it is, and the tools of each variant."""
    assert main(["tools", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert next(kit for kit in plain["toolkits"] if kit["key"] == "tabs") == {
        "key": "tabs",
        "label": "Several tabs",
        "tools": ["list_tabs", "open_tab", "select_tab", "close_tab"],
        "default_on": True,
        "is_fixed": False,
        "owner": "pytest-browsereval",
    }
    assert next(tool for tool in plain["tools"] if tool["key"] == "evaluate") == {
        "key": "evaluate",
        "label": "Evaluate",
        "description": "Evaluate JavaScript in the page and return the result as JSON.",
        "default_on": False,
    }
    assert "variants" not in plain
    assert main(["tools", config(), "--json", "--eval-set", "tools.navigation=false"]) == 0
    chosen = json.loads(capsys.readouterr().out)
    assert chosen["toolkits"] == plain["toolkits"]
    assert "click" in chosen["variants"]["default"]["tools"]
    assert "navigate" not in chosen["variants"]["default"]["tools"]


def test_only_what_a_config_names_is_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Tools and toolkits alike, and the finishing tool; a variant's list stands for the run's switches."""
    given = config(
        agent=None,
        variants={"x": "scripted", "y": {"type": "scripted", "tools": {"only": ["tabs"]}}},
        tools={"only": ["click", "snapshot"]},
    )
    Path(given).write_text(Path(given).read_text().replace("agent: null\n", ""))
    assert main(["tools", given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["variants"]
    assert found["x"]["tools"] == ["snapshot", "click", "done"]
    assert found["y"]["tools"] == ["list_tabs", "open_tab", "select_tab", "close_tab", "done"]
    assert main(["tools", config(tools={"clik": True})]) == 4
    assert "tools.clik: unknown tool or toolkit 'clik'. Did you mean 'click'?" in capsys.readouterr().err
    assert main(["tools", config(tools={"only": "click"})]) == 4
    assert "`only` is a list of tools and toolkits" in capsys.readouterr().err
