from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from pytest_browsereval.__main__ import main
from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.config import EvalConfig, load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.shared.config_schema import DIALECT, config_schema
from pytest_browsereval.features.shared.row_schema import row_schema
from pytest_browsereval.registry import MemberOf, Registry


class Pair(AgentConfig):
    """Two agents, one of which tells the other what to do."""

    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel)
    type: Literal["acme/pair"] = "acme/pair"
    executor: Annotated[AgentConfig, MemberOf("agent")]
    """Does the work."""
    max_turns: int = Field(default=3, ge=1)
    """How often
    it is asked."""

    def build(self, context: AgentContext) -> AgentEvaluator:
        raise NotImplementedError


@pytest.fixture(scope="module")
def registry() -> Registry:
    registry = builtin_registry()
    registry.register(Pair, owner="acme 1.0", aliases=("acme/two",))
    return registry


@pytest.fixture(scope="module")
def schema(registry: Registry) -> dict[str, Any]:
    return config_schema(registry)


@pytest.fixture(scope="module")
def both(registry: Registry, schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"config": schema, "rows": row_schema(registry)}


@pytest.fixture(scope="module")
def check(schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator(schema)


def properties_of(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        named = value.get("properties", {})
        if all(isinstance(inner, dict) for inner in named.values()):
            yield from ((f"{path}/{name}", inner) for name, inner in named.items())
        for key, inner in value.items():
            if key not in ("default", "examples"):
                yield from properties_of(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from properties_of(inner, f"{path}/{place}")


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(references, value.values()))
    return set[str]().union(*map(references, value)) if isinstance(value, list) else set()


def test_a_schema_is_complete(both: dict[str, dict[str, Any]]) -> None:
    """It has an id; references lead somewhere, definitions are used, each key has a sentence."""
    for name, made in both.items():
        assert (made["$schema"], made["$id"]) == (DIALECT, f"urn:pytest-browsereval:{name}")
        assert "x-browsereval" not in json.dumps(made)
        found = references(made)
        for reference in found:
            place = made
            for part in reference.removeprefix("#/").split("/"):
                place = place[part]
        used = {reference.split("/")[2] for reference in found if reference.startswith("#/$defs/")}
        assert used == set(made["$defs"])
        keys = dict(properties_of(made))
        assert len(keys) > 400
        assert [path for path, key in keys.items() if not key.get("description")] == []


@pytest.mark.slow
def test_a_schema_is_one(both: dict[str, dict[str, Any]]) -> None:
    """It follows the rules of its dialect."""
    for made in both.values():
        Draft202012Validator.check_schema(made)


def test_every_key_of_a_model_has_its_default(schema: dict[str, Any]) -> None:
    """Keys without one have to be given, or what they are by default depends on the file."""
    inner = {
        name: block for name, block in schema["$defs"].items() if "." in name and name != "agent.acme.pair"
    }
    lacking = {
        f"{name}.{key}"
        for name, block in inner.items()
        for key, value in block.get("properties", {}).items()
        if "default" not in value and key not in json.dumps([block.get("required"), block.get("allOf")])
    }
    assert not lacking


def test_the_keys_of_a_file_are_described(schema: dict[str, Any]) -> None:
    """They are those of the model, and the shorthands."""
    assert set(schema["properties"]) == {"$schema", "agent", "timeout_ms", *EvalConfig.model_fields}


def test_switches_are_listed_with_what_they_switch(schema: dict[str, Any]) -> None:
    """The switches are those of the catalog without `done`; plug-ins may add others."""
    tools = schema["properties"]["tools"]
    tabs = tools["properties"]["tabs"]
    assert tabs["description"] == "Several tabs: list_tabs, open_tab, select_tab, close_tab."
    assert tabs["anyOf"][0] == {"type": "boolean"}
    assert (tabs["default"], tools["properties"]["evaluate"]["default"]) == (True, False)
    assert not {"done", "finish"} & set(tools["properties"])


def test_members_say_what_they_are(schema: dict[str, Any]) -> None:
    """A plug-in's member is described like ours: by its class, with its aliases."""
    kind = schema["$defs"]["agent.acme.pair"]["properties"]["type"]
    assert kind["enum"] == ["acme/pair", "acme/two"]
    assert kind["description"] == "Two agents, one of which tells the other what to do."
    turns = schema["$defs"]["agent.acme.pair"]["properties"]["max_turns"]
    assert (turns["description"], turns["default"]) == ("How often it is asked.", 3)


ACCEPTED: list[dict[str, Any]] = [
    {"$schema": "../config.schema.json"},
    {"agent": "acme/two"},
    {"agent": {"type": "acme/pair", "executor": "noop", "maxTurns": 2}},
    {"agent": {"type": "${AGENT}", "whatever": 1}},
    {"variants": {"a": "noop", "b": {"type": "single", "provider": "openai", "model": "m", "apiKey": "K"}}},
    {"limits": {"maxSteps": 5}, "timeoutMs": 60_000, "lanes": "${LANES}"},
    {"dataset": [{"path": "rows.jsonl", "select": {"limit": 3}}, "more.csv"]},
    {"graders": {"type": "answer", "match": "number"}, "pass_when": "primary:answer"},
    {"sites": {"a": {"static": "x", "package": "json"}}},
    {"sites": {"b": {"command": ["x"], "static": None, "health": "/up"}}},
    {"variables": ["SHOP_PASSWORD", "_b2", {"CODE": {"totp": "${SECRET}"}}]},
    {"variables": {"CODE": {"totp": "${SECRET}"}}},
    {"capture": {"trace": True, "har": "${HAR}"}, "tools": {"tabs": "off", "mine": False}},
    {"browser": {"headless": False}},
    {"browser": {"type": "mcp", "url": "http://127.0.0.1:1/mcp", "tools": {"navigate": "go"}}},
]


def test_shorthands_and_both_spellings_are_accepted(
    check: Draft202012Validator, subtests: pytest.Subtests
) -> None:
    """What the loader accepts, an editor accepts."""
    for change in ACCEPTED:
        with subtests.test(change=change):
            agent = {} if "variants" in change else {"agent": "noop"}
            config = {**agent, "dataset": "rows.jsonl", **change}
            assert [error.message for error in check.iter_errors(config)] == []


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"limit": {"max_steps": 3}}, "limit"),
    ({"limits": {"max_step": 3}}, "max_step"),
    ({"limits": {"max_steps": "many"}}, "many"),
    ({"limits": {"maxSteps": 0}}, "0"),
    ({"lanes": "two"}, "two"),
    ({"agent": "singel"}, "singel"),
    ({"agent": {"type": "singel"}}, "singel"),
    ({"agent": {"model": "m"}}, "type"),
    ({"agent": {"type": "acme/pair", "executor": "noop", "turns": 1}}, "turns"),
    ({"agent": {"type": "acme/pair", "executor": {"type": "nop"}}}, "nop"),
    (
        {"agent": {"type": "orchestrator-executor", "orchestrator": {"model": "m"}, "executor": {"modl": 1}}},
        "modl",
    ),
    ({"graders": [{"type": "answer", "matches": "number"}]}, "matches"),
    ({"dataset": [{"type": "jsonl"}]}, "path"),
    ({"dataset": {"path": "rows.jsonl", "selekt": {}}}, "selekt"),
    ({"browser": {"type": "playwrite"}}, "playwrite"),
    ({"tools": {"tabs": "maybe"}}, "maybe"),
    ({"toolkits": ["acme/unknown"]}, "acme/unknown"),
    ({"sites": {"shop": {"statik": "x"}}}, "statik"),
    ({"sites": {"my-shop": {"static": "x"}}}, "my-shop"),
    ({"variables": ["A-B"]}, "A-B"),
    ({"variants": {"a": "noop"}}, "agent and variants"),
    ({"gate": {"min_pass_rate": 2}}, "2"),
]


def test_mistakes_are_refused(
    check: Draft202012Validator, registry: Registry, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """An editor marks what the loader refuses: unknown keys and members, wrong types, missing keys."""
    for change, said in REFUSED:
        with subtests.test(change=change, said=said):
            config = {"agent": "noop", "dataset": "rows.jsonl", **change}
            assert not check.is_valid(config), said
            (tmp_path / "eval.json").write_text(json.dumps(config), encoding="utf-8")
            with pytest.raises(ConfigError):
                load_config(tmp_path / "eval.json", registry=registry)


def test_a_config_has_an_agent_and_a_dataset_or_only_a_gate(check: Draft202012Validator) -> None:
    """As `browsereval gate` takes it."""
    assert check.is_valid({"gate": {"minPassRate": 0.9}})
    assert not check.is_valid({"agent": "noop"})
    assert not check.is_valid({"dataset": "rows.jsonl"})


def test_the_command_prints_both_schemas(capsys: pytest.CaptureFixture[str]) -> None:
    """``browsereval schema`` writes the schema of configs, ``browsereval schema rows`` that of rows."""
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["title"] == "pytest-browsereval eval config"
    assert "agent.scripted" in printed["$defs"]
    assert main(["schema", "rows"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["title"] == "pytest-browsereval rows"


def test_members_of_a_conftest_are_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--near CONFIG`` loads the files that pytest loads for a config."""
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    assert main(["schema", "--near", str(tmp_path / "eval.yaml")]) == 0
    assert "agent.acme.idle" in json.loads(capsys.readouterr().out)["$defs"]


CONFTEST = """
from typing import Literal
from pytest_browsereval.agents.noop import NoopConfig

class Idle(NoopConfig):
    type: Literal["acme/idle"] = "acme/idle"

def pytest_browsereval_register(registry):
    registry.register(Idle)
"""
