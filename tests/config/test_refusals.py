from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_browsereval.builtins import builtin_registry
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.unsupported import KEYS, MEMBERS, member_refusal

Load = Callable[..., EvalConfig]
Refused = Callable[..., list[str]]


def with_key(path: tuple[str, ...], value: Any) -> str:
    tree: Any = value
    for name in reversed(path):
        tree = {name: tree}
    return json.dumps({"agent": "noop", "dataset": "a.jsonl", **tree})


@pytest.mark.parametrize("path", KEYS, ids=".".join)
@pytest.mark.parametrize("value", [0, 1, "x", {"a": 1}, True], ids=repr)
def test_keys_of_later_versions_are_refused(refused: Refused, path: tuple[str, ...], value: Any) -> None:
    """An unsupported key is refused with what works today."""
    (line,) = refused(with_key(path, value), name="a.json")
    assert line == f"evals/a.json:1: {'.'.join(path)}: not supported yet. What works today: {KEYS[path]}."


@pytest.mark.parametrize("path", KEYS, ids=".".join)
@pytest.mark.parametrize("value", [None, False, "off"], ids=repr)
def test_keys_that_ask_for_nothing_are_accepted(load: Load, path: tuple[str, ...], value: Any) -> None:
    """An unsupported switch that is off changes nothing."""
    load(with_key(path, value), name="a.json")


def test_members_that_are_there_are_not_refused() -> None:
    """No built-in member is in the table of later ones."""
    present = {
        (family, label)
        for family, name, _, more in builtin_registry().everything()
        for label in (name, *more)
    }
    later = {(family, name) for family, (_, names) in MEMBERS.items() for name in names}
    assert not present & later


def test_refusals_name_an_alternative() -> None:
    """The refusal of a later member names the family and an alternative; other names have none."""
    works = "jsonl, json, csv and yaml are read, and the files of published benchmarks by their own types"
    told = f"the dataset 'workarena' is not supported yet. What works today: {works}."
    assert member_refusal("dataset", "workarena") == told
    assert member_refusal("dataset", "workarana") is None
    assert member_refusal("toolkit", "x") is None


def test_only_datasets_come_later() -> None:
    """All agents, browsers and graders are there; some benchmarks are not yet."""
    assert set(MEMBERS) == {"dataset"}
