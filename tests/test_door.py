from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pytest_browsereval import door as members
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.registry import FAMILIES, OURS

MODULE = """\
from typing import Literal
from pytest_browsereval.datasets.jsonl import JsonLinesConfig

class Acme(JsonLinesConfig):
    type: Literal["acme/rows"] = "acme/rows"

def pytest_browsereval_register(registry):
    registry.register(Acme, aliases=("acme/r",))
"""


def test_every_builtin_member_can_be_described() -> None:
    """Each built-in is ours, has a family, a name without a slash and a schema with described options."""
    registry = builtin_registry()
    names = [(family, name) for family, name, _, _ in registry.everything()]
    assert {family for family, _ in names} <= set(FAMILIES)
    assert {("agent", "scripted"), ("browser", "playwright"), ("grader", "answer")} <= set(names)
    for family, name in names:
        assert "/" not in name
        member = registry.get(family, name)
        assert member.__doc__
        assert member.model_json_schema()["properties"]["type"]
    owners = {owner for family in FAMILIES for _, _, owner in registry.members(family)}
    assert owners == {OURS}


def test_words_of_browseros_are_aliases() -> None:
    """The names of BrowserOS for what we have lead to our members."""
    registry = builtin_registry()
    assert registry.get("agent", "tool-loop") is registry.get("agent", "single")
    assert registry.get("dataset", "browseros") is registry.get("dataset", "jsonl")


def test_installed_packages_bring_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of an entry point are there next to the built-in ones, with the owner's name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "acme_rows_for_tests.py").write_text(MODULE)
    entry_point = EntryPoint("acme", "acme_rows_for_tests", "pytest_browsereval")
    monkeypatch.setattr(members, "entry_points", lambda **_: [entry_point])
    registry = open_door().load_registry()
    assert registry.get("dataset", "acme/r").type_name() == "acme/rows"
    owners = [owner for name, _, owner in registry.members("dataset") if name == "acme/rows"]
    assert owners == ["acme_rows_for_tests"]
    assert registry.get("dataset", "jsonl")
    sys.modules.pop("acme_rows_for_tests")
