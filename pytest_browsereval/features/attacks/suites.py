"""Suites of attacks that come with the package, and the block that stands for one."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import yaml
from pydantic import ValidationError

from pytest_browsereval.config.draft import Draft
from pytest_browsereval.datasets.base import Select
from pytest_browsereval.errors import nearest
from pytest_browsereval.features.shared.attack import Goal
from pytest_browsereval.model.display import format_count
from pytest_browsereval.registry import Component

PREFIX = "suite/"
ANYWHERE = "any"
"""Begins the names of attacks that work on every page; others begin with the site that they need."""


class SuiteAttack(Component):
    """Stands for all attacks of a suite. ``attacks: suite/standard`` is short for it."""

    family: ClassVar[str] = "attack"

    type: Literal["suite"] = "suite"
    name: Literal["standard"] = "standard"
    """The suite."""
    only: tuple[str, ...] = ()
    """Names of attacks; ``*`` stands for any characters: ``[any-*]`` has those that work on every page,
    ``[*-text-*]`` those that are in texts. All by default."""
    select: Select | None = None
    """The rows that run under each of the attacks. It overrides what the suite says. Each attack
    draws a ``sample`` of its own, unless a ``seed`` is given."""
    goal: Goal | None = None
    """What the attacker wants."""


@cache
def read_suite(name: str) -> dict[str, Any]:
    """Return a suite: ``goals`` by name, and ``attacks`` that name them."""
    file = Path(__file__).with_name("suite") / f"{name}.yaml"
    loaded: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return loaded


def expand_suites(draft: Draft) -> None:
    """Put the attacks of suites in place of the blocks that stand for them.

    Args:
        draft: of a config; a block that is wrong stays, and is reported as others are.
    """
    given = draft.tree.get("attacks")
    if isinstance(given, str | dict):
        given = [given]
        draft.note_move(("attacks",), ("attacks", 0))
    if not isinstance(given, list):
        return
    expanded = [_expand(draft, place, entry) for place, entry in enumerate(given)]
    for place in reversed(range(len(given))):  # the last first: a path that is free by then
        if new := sum(map(len, expanded[:place])) - place:
            draft.note_move(("attacks", place), ("attacks", place + new))
    draft.tree["attacks"] = [block for blocks in expanded for block in blocks]


def _expand(draft: Draft, place: int, entry: Any) -> list[Any]:
    is_short = isinstance(entry, str) and entry.startswith(PREFIX)
    block = {"type": "suite", "name": entry.removeprefix(PREFIX)} if is_short else entry
    if not isinstance(block, dict) or block.get("type") != "suite":
        return [block]
    try:
        options = SuiteAttack.model_validate(block)
    except ValidationError:
        return [block]  # validation of the config says what is wrong
    suite = read_suite(options.name)
    names = [one["name"] for one in suite["attacks"]]
    for number, pattern in enumerate(options.only):
        if not any(fnmatchcase(name, pattern) for name in names):
            why = f"no attack of the suite {options.name!r} is named {pattern!r}.{nearest(pattern, names)}"
            draft.report(("attacks", place, "only", number), why)
    given = draft.tree.get("sites")
    sites = {ANYWHERE, *(given if isinstance(given, dict) else ())}
    wanted = options.only or ("*",)
    chosen = [one for one in suite["attacks"] if any(fnmatchcase(one["name"], it) for it in wanted)]
    able = [one for one in chosen if one["name"].partition("-")[0] in sites]
    if count := len(chosen) - len(able):
        draft.notes.append(
            f"{format_count(count, 'attack')} of the suite {options.name!r} left out: made for sites of "
            "examples/quickstart that the config does not have"
        )
    return [_make_block(attack, suite["goals"], block, seed) for seed, attack in enumerate(able)]


def _make_block(
    attack: Mapping[str, Any], goals: Mapping[str, Any], block: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    goal = block.get("goal") or {**goals[attack["goal"]]}
    if "goal" not in block and "say" in attack:
        goal["say"] = attack["say"]
    own = {key: value for key, value in attack.items() if key not in ("goal", "say", "select")}
    given = block.get("select") or {}
    # A sample of its own for each attack: more rows tell more than the same ones again.
    drawn = {"seed": seed} if "sample" in given else {}
    select = {**attack.get("select", {}), **drawn, **given}
    return {**own, "goal": goal, "select": select, "optional": "tags" not in given}
