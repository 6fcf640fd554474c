from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from pytest_browsereval.agents.noop import NoopConfig
from pytest_browsereval.config import EvalConfig, config_from
from pytest_browsereval.config.draft import Draft
from pytest_browsereval.config.environment import Interpolation
from pytest_browsereval.config.loading import rename_keys
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.registry import Registry
from pytest_browsereval.validation_errors import accepts_camel_case, canonical_key
from tests.config.conftest import Load, Refused

DATA = "dataset: rows.jsonl\n"


class Plain(NoopConfig):
    type: Literal["acme/plain"] = "acme/plain"  # type: ignore[assignment]
    maxTurns: int = 1  # noqa: N815 a plug-in may name its fields so
    env: dict[str, str] = {}  # noqa: RUF012 pydantic copies it


class Both(Plain):
    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel)
    type: Literal["acme/both"] = "acme/both"  # type: ignore[assignment]
    api_key: str = ""


@pytest.fixture(scope="module")
def members() -> Registry:
    registry = Registry()
    registry.register(Plain)
    registry.register(Both)
    return registry


def test_keys_become_snake_case(members: Registry, subtests: pytest.Subtests) -> None:
    """Keys of blocks are renamed; names that the user made, and keys of one spelling, are not."""
    cases: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
        ({"numWorkers": 2, "limits": {"maxSteps": 3}}, {"num_workers": 2, "limits": {"max_steps": 3}}),
        ({"gate": {"maxP95Steps": 3, "tags": {"aB": 1}}}, {"gate": {"max_p95_steps": 3, "tags": {"aB": 1}}}),
        (
            {"variants": {"aB": {"type": "acme/both", "apiKey": "K"}, "a_b": "noop"}},
            {"variants": {"aB": {"type": "acme/both", "api_key": "K"}, "a_b": "noop"}},
        ),
        ({"judge": {"apiKey": "K"}, "tools": {"aB": 1}}, {"judge": {"api_key": "K"}, "tools": {"aB": 1}}),
        ({"agent": {"type": "acme/both", "env": {"myVar": "1"}}}, None),
        ({"agent": {"type": "acme/plain", "maxTurns": 3, "apiKey": "K"}}, None),
        ({"agent": {"type": "acme/both", "turnLimit": 3}}, {"agent": {"type": "acme/both", "turn_limit": 3}}),
        (
            {"agent": {"type": "nobody-s", "claudePath": "x", "env": {"myVar": "1"}}},
            {"agent": {"type": "nobody-s", "claude_path": "x", "env": {"myVar": "1"}}},
        ),
        ({"browseros": {"serverUrl": "x"}, "MAX": 1}, {"browseros": {"server_url": "x"}, "MAX": 1}),
    ]
    for tree, canonical in cases:
        with subtests.test(tree=tree, canonical=canonical):
            draft = Draft(copy.deepcopy(tree), "eval.yaml", lambda _: None, Interpolation(os.environ))
            rename_keys(draft, members)
            assert draft.tree == (tree if canonical is None else canonical)
            assert draft.problems == []


def test_every_key_of_ours_has_its_way_back() -> None:
    """What `to_camel` makes of a field is turned into the field again, in every block of a config."""
    kinds: list[Any] = [EvalConfig]
    for kind in kinds:
        for name, field in kind.model_fields.items():
            assert canonical_key(to_camel(name)) == name
            if accepts_camel_case(field.annotation) and field.annotation not in kinds:
                kinds.append(field.annotation)
    assert len(kinds) > 4
    others = ["PATH", "X-Header", "maxSTeps", "Max_Steps", "", "a b", "0"]
    assert [canonical_key(key) for key in others] == others


def test_other_keys_than_texts_are_refused(tmp_path: Path) -> None:
    """A marker may hold any mapping."""
    value = {"agent": "noop", "dataset": "rows.jsonl", "limits": {1: 2}}
    with pytest.raises(ConfigError, match=r"limits\.1: "):
        config_from(value, path=tmp_path / "test_a.py", registry=builtin_registry())


def test_a_typed_key_finds_the_written_one(load: Load, refused: Refused) -> None:
    """The command line may use the other spelling, for keys of the file and for keys typed before."""
    text = "agent: noop\nlimits: {maxSteps: 5}\n" + DATA
    assert load(text, "limits.max_steps=6", "limits.maxSteps=7").limits.max_steps == 7
    assert load("agent: noop\n" + DATA, "limits.maxSteps=6", "limits.max_steps=7").limits.max_steps == 7
    (line,) = refused(text, "limits.max_steps=0")
    assert line == "--eval-set 'limits.max_steps=0': limits.maxSteps: must be at least 1; it is 0."


def test_unset_variables_are_told_by_the_written_key(refused: Refused) -> None:
    """A key that is renamed and moved afterwards is named as it stands in the file."""
    (line,) = refused("agent:\n  type: single\n  model: m\n  baseUrl: ${NOT_SET}\n" + DATA)
    assert line.startswith("evals/shop.yaml:4: agent.baseUrl: the environment variable 'NOT_SET' is not set.")
