from __future__ import annotations

import importlib
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pytest_browsereval import door as members
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import RegistryError
from pytest_browsereval.registry import FAMILIES, OURS

MODULE = """\
from typing import Literal
from pytest_browsereval.datasets.jsonl import JsonLinesConfig

class Acme(JsonLinesConfig):
    type: Literal["acme/rows"] = "acme/rows"

def pytest_browsereval_register(registry):
    registry.register(Acme, aliases=("acme/r",))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that an entry point names."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        members, "entry_points", lambda **_: [EntryPoint("acme", "acme_rows_for_tests", "pytest_browsereval")]
    )
    file = tmp_path / "acme_rows_for_tests.py"
    file.write_text(MODULE)
    monkeypatch.delitem(sys.modules, "acme_rows_for_tests", raising=False)
    return file


def test_every_builtin_member_can_be_described() -> None:
    """Each built-in is ours, has a family, a name without a slash and a schema with described options."""
    registry = builtin_registry()
    names = [(family, name) for family, name, _, _ in registry.everything()]
    assert {family for family, _ in names} <= set(FAMILIES)
    assert {
        ("agent", "scripted"),
        ("browser", "playwright"),
        ("dataset", "jsonl"),
        ("grader", "answer"),
    } <= set(names)
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


def test_installed_packages_bring_members(package: Path) -> None:
    """Members of an entry point are there beside the built-in ones, with the owner's name."""
    registry = open_door().load_registry()
    assert registry.get("dataset", "acme/r").type_name() == "acme/rows"
    assert [owner for name, _, owner in registry.members("dataset") if name == "acme/rows"] == [
        "acme_rows_for_tests"
    ]
    assert registry.get("dataset", "jsonl")


def test_a_broken_package_is_told(package: Path) -> None:
    """A package that cannot be imported stops the run with its entry point and the reason."""
    package.write_text("import nothing_of_that_name")
    with pytest.raises(RegistryError) as caught:
        open_door().load_registry()
    assert str(caught.value) == (
        "the entry point 'acme' = 'acme_rows_for_tests' of acme_rows_for_tests cannot be loaded: "
        "ModuleNotFoundError: No module named 'nothing_of_that_name'. Fix or uninstall the package; pytest "
        "leaves it out with -p no:acme."
    )


def test_a_package_names_its_members_by_its_prefix(package: Path) -> None:
    """A member or alias of a package without the entry point's prefix is refused with the name to write."""
    package.write_text(MODULE.replace('aliases=("acme/r",)', 'aliases=("rows",)'))
    with pytest.raises(RegistryError) as caught:
        open_door().load_registry()
    assert str(caught.value) == (
        "acme_rows_for_tests registers the dataset 'rows'. Members of an installed package are named "
        "'acme/...', after its entry point; write acme/rows."
    )


def test_a_failing_hook_is_told_with_its_line(package: Path) -> None:
    """A register hook that raises is told with owner, reason and line; a thing that is no member too."""
    package.write_text("def pytest_browsereval_register(registry):\n    registry.register(1 / 0)\n")
    with pytest.raises(RegistryError) as caught:
        open_door().load_registry()
    assert "of acme_rows_for_tests fails: ZeroDivisionError: division by zero" in str(caught.value)
    assert f"({package}:2)" in str(caught.value)
    package.write_text("def pytest_browsereval_register(registry):\n    registry.register(int)\n")
    del sys.modules["acme_rows_for_tests"]
    importlib.invalidate_caches()
    with pytest.raises(RegistryError, match=r"^acme_rows_for_tests registers <class .int.>"):
        open_door().load_registry()
