from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from pytest_browsereval.__main__ import main
from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.builtins import builtin_registry
from pytest_browsereval.config import EvalConfig, config_schema
from pytest_browsereval.registry import MemberOf


class Pair(AgentConfig):
    """Two agents, one of which tells the other what to do."""

    type: Literal["acme/pair"] = "acme/pair"
    executor: Annotated[AgentConfig, MemberOf("agent")]
    """Does the work."""
    turns: int = Field(default=3, ge=1)
    """How often
    it is asked."""

    def build(self, context: AgentContext) -> AgentEvaluator:
        raise NotImplementedError


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    registry = builtin_registry()
    registry.register(Pair, owner="acme 1.0", aliases=("acme/two",))
    return config_schema(registry)


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(references, value.values()))
    return set[str]().union(*map(references, value)) if isinstance(value, list) else set()


def test_the_schema_is_plain_json_without_gaps(schema: dict[str, Any]) -> None:
    """Every reference has a definition, every definition is used, and no placeholder is left."""
    text = json.dumps(schema)
    assert "x-browsereval-family" not in text
    names = {reference.removeprefix("#/$defs/") for reference in references(schema)}
    assert names <= set(schema["$defs"])
    assert set(schema["$defs"]) - names == set()


def test_switches_are_listed_with_what_they_switch(schema: dict[str, Any]) -> None:
    """The switches are those of the catalog without `done`; plug-ins may add others."""
    tools = schema["properties"]["tools"]
    assert tools["additionalProperties"] == {"type": "boolean"}
    assert tools["properties"]["tabs"] == {
        "type": "boolean",
        "description": "Several tabs: list_tabs, open_tab, select_tab, close_tab.",
        "default": True,
    }
    assert tools["properties"]["evaluate"]["default"] is False
    assert not {"done", "finish"} & set(tools["properties"])


def test_toolkits_may_be_one_or_several(schema: dict[str, Any]) -> None:
    """Toolkits are given by name or by block, like graders."""
    one, several = schema["properties"]["toolkits"]["anyOf"]
    assert one == several["items"] == {"anyOf": [{"enum": []}]}


def test_members_are_filled_in(schema: dict[str, Any]) -> None:
    """An agent may be any installed member, by name, alias or block, also inside of other members."""
    names, *blocks = schema["properties"]["agent"]["anyOf"]
    assert {"single", "tool-loop", "noop", "acme/pair", "acme/two"} <= set(names["enum"])
    assert {"$ref": "#/$defs/agent.acme.pair"} in blocks
    pair = schema["$defs"]["agent.acme.pair"]
    assert pair["properties"]["executor"]["anyOf"] == [names, *blocks]
    assert pair["properties"]["type"] == {"enum": ["acme/pair", "acme/two"]}
    assert pair["required"] == ["executor", "type"]
    assert pair["properties"]["turns"]["description"] == "How often it is asked."


def test_a_block_with_a_default_type_needs_none(schema: dict[str, Any]) -> None:
    """Only the loader can check an executor without a type."""
    pair = schema["$defs"]["agent.orchestrator-executor"]
    bare = pair["properties"]["executor"]["anyOf"][-1]
    assert bare == {"type": "object", "not": {"required": ["type"]}}
    assert "x-browsereval" not in json.dumps(schema)
    assert bare not in schema["properties"]["agent"]["anyOf"]


def test_every_key_is_described(schema: dict[str, Any]) -> None:
    """Each top-level key and each limit has a type and a sentence."""
    assert {"agent", "timeout_ms", *EvalConfig.model_fields} == set(schema["properties"])
    for block in (schema, schema["$defs"]["LimitsConfig"], schema["$defs"]["agent.single"]):
        for name, key in block["properties"].items():
            assert name == "type" or key.get("description"), name


def test_shorthands_are_allowed(schema: dict[str, Any]) -> None:
    """The schema accepts the shorthands of files."""
    assert schema["required"] == ["dataset"]
    assert schema["oneOf"] == [{"required": ["agent"]}, {"required": ["variants"]}]
    single, several = schema["properties"]["dataset"]["anyOf"]
    assert single["anyOf"][0]["type"] == "string"
    assert several["items"] == single
    assert "type" not in schema["$defs"]["dataset.jsonl"]["required"]


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """``browsereval schema`` writes the schema to the standard output."""
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["title"] == "pytest-browsereval eval config"
    assert "agent.scripted" in printed["$defs"]
