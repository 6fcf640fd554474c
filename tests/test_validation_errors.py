from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.registry import MemberOf, Registry
from pytest_browsereval.validation_errors import list_problems, shorten


class Inner(BaseModel):
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, populate_by_name=True, loc_by_alias=False
    )

    max_steps: int = Field(default=1, ge=1, le=1_000_000)
    api_key: str | None = Field(default=None, min_length=20)
    mode: Literal["after", "both"] = "after"


class Pair(AgentConfig):
    type: Literal["pair"] = "pair"
    executor: Annotated[AgentConfig, MemberOf("agent")]
    turns: Annotated[int, Field(gt=0)] = 1

    def build(self, context: AgentContext) -> AgentEvaluator:
        raise NotImplementedError


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    inner: Inner = Inner()
    many: tuple[Inner, ...] = ()
    by_name: dict[str, Inner] = Field(default_factory=dict)
    either: int | tuple[Inner, ...] | Inner | None = None
    agents: dict[str, Annotated[AgentConfig, MemberOf("agent")]] = Field(default_factory=dict)
    flag: bool = False
    rate: float = 0.0


@pytest.fixture
def registry() -> Registry:
    registry = Registry()
    registry.register(Pair)
    return registry


PEAR = "unknown agent 'pear'. Did you mean 'pair'? Known: pair."


def told(raw: dict[str, Any], registry: Registry) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"name": "x", **raw}, context={"registry": registry})
    return {p.where: p.message for p in list_problems(caught.value, Outer, raw, registry)}


def test_each_problem_has_a_path_and_a_sentence(registry: Registry, subtests: pytest.Subtests) -> None:
    """The path is as the user wrote it; the sentence has the value, the nearest and what is allowed."""
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"inner": {"max_stepz": 1}}, "inner.max_stepz", "unknown key. Did you mean 'max_steps'?"),
        ({"inner": {"maxStepz": 1}}, "inner.maxStepz", "unknown key. Did you mean 'max_steps'?"),
        ({"many": [{}, {"x": 1}]}, "many.1.x", "unknown key. Allowed: api_key, max_steps, mode."),
        ({"by_name": {"a": {"mod": 1}}}, "by_name.a.mod", "unknown key. Did you mean 'mode'?"),
        ({"inner": {"maxSteps": 0}}, "inner.maxSteps", "must be at least 1; it is 0."),
        ({"inner": {"max_steps": 10**7}}, "inner.max_steps", "must be at most 1_000_000; it is 10000000."),
        ({"inner": {"max_steps": "x"}}, "inner.max_steps", "expected a whole number, not 'x'."),
        ({"inner": {"max_steps": 1.5}}, "inner.max_steps", "expected a whole number, not 1.5."),
        (
            {"inner": {"mode": "afterr"}},
            "inner.mode",
            "'afterr' is not allowed. Did you mean 'after'? Allowed: after, both.",
        ),
        ({"inner": 3}, "inner", "expected a block of keys, not 3."),
        ({"many": "x"}, "many", "expected a list, not 'x'."),
        ({"by_name": []}, "by_name", "expected a block of keys, not []."),
        ({"flag": "maybe"}, "flag", "expected true or false, not 'maybe'."),
        ({"rate": "fast"}, "rate", "expected a number, not 'fast'."),
        ({"name": 3}, "name", "expected a string, not 3."),
        ({"inner": {"api_key": "sk-1"}}, "inner.api_key", "must have at least 20 characters; it is '***'."),
        ({"agents": {"a": {"type": "pear"}}}, "agents.a.type", PEAR),
        ({"agents": {"a": "pear"}}, "agents.a", PEAR),
        (
            {"agents": {"a": {"turns": 1}}},
            "agents.a",
            "the block has no type. Write `type: NAME` with one of: pair.",
        ),
        (
            {"agents": {"a": {"agent": {"type": "pair"}}}},
            "agents.a",
            "the block has no type, but a key `agent`. Write its content one level higher.",
        ),
        ({"agents": {"a": 3}}, "agents.a", "expected the name of an agent or a block with its type, not 3."),
        (
            {"agents": {"a": {"type": "pair", "executor": {"type": "pair", "executor": "pair", "turn": 1}}}},
            "agents.a.executor.turn",
            "unknown key. Did you mean 'turns'?",
        ),
        ({"agents": {"a": {"type": "pair"}}}, "agents.a.executor", "missing. Write it."),
    ]
    for raw, where, message in cases:
        with subtests.test(raw=raw, where=where, message=message):
            assert told(raw, registry)[where] == message


def test_branches_of_a_union_make_one_problem(registry: Registry) -> None:
    """A value that fits no branch has one path, without the names of branches."""
    assert list(told({"either": "x"}, registry)) == ["either"]
    assert list(told({"either": {"maxSteps": 0}}, registry))[-1] == "either.maxSteps"


def test_long_values_are_cut() -> None:
    """A value in a message is short, whatever its length."""
    assert len(shorten("x" * 10_000)) <= 80
    assert len(shorten(list(range(10_000)))) <= 80
    assert shorten("ab") == "'ab'"
