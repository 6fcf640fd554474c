"""The keys of BrowserOS in the JSON schema of configs."""

from __future__ import annotations

import copy
from typing import Any

from pytest_browsereval.features.browseros.run_config import Leftovers
from pytest_browsereval.features.browseros.suites import BACKENDS, KINDS
from pytest_browsereval.features.config_schema import Schema, accept_camel_case, describe_model

_JUDGE = {
    "grader_model": "The model that graders ask; short for `judge.model`.",
    "grader_api_key_env": "The variable with its key; short for `judge.api_key`.",
    "grader_base_url": "Its address; short for `judge.base_url`.",
}

_SIZE: Schema = {
    "type": "object",
    "properties": {
        side: {"type": "integer", "minimum": 1, "description": f"The {side} in pixels."}
        for side in ("width", "height")
    },
    "required": ["width", "height"],
    "additionalProperties": False,
    "description": "The size of the page; short for `browser.viewport`.",
}


def extend_schema(schema: Schema) -> None:
    """Add the keys that the reader converts.

    Args:
        schema: that of a config; it is changed.
    """
    definitions, properties = schema["$defs"], schema["properties"]
    leftovers = describe_model(Leftovers, "browseros")
    definitions.update(leftovers.pop("$defs"))
    properties.update(leftovers["properties"])
    properties.update(
        {name: {"type": ["string", "null"], "description": text} for name, text in _JUDGE.items()}
    )
    properties["id"] = {
        "type": "string",
        "description": "The name of a suite; its models are in the environment.",
    }
    properties["workers"] = {
        "$ref": "#/properties/num_workers",
        "description": "In a suite: how many attempts run at once; our name is `num_workers`.",
    }
    schema["dependentRequired"] = {"workers": ["id"]}
    accept_camel_case(schema, "#")
    # Agents that are left out have no words of BrowserOS either.
    agents = [
        _add_agent(definitions, name, *how)
        for name, how in _AGENTS.items()
        if f"agent.{how[0]}" in definitions
    ]
    names = [{"enum": ["claude-code"]}] if "agent.command" in definitions else []
    ours, *blocks = definitions["agent"]["anyOf"]  # the names come first
    blocks += agents
    definitions["agent"] = {
        "anyOf": [ours, *names, {"if": _describe_suite_agent(), "else": {"anyOf": blocks}}]
    }
    if orchestrator := definitions.get("agent.orchestrator-executor.OrchestratorBlock"):
        orchestrator["properties"].update(
            {
                "type": {"type": "string", "description": "Not used here."},
                "supports_images": {
                    "type": "boolean",
                    "description": "Not used: an orchestrator sees no page.",
                },
            }
        )
        accept_camel_case(orchestrator, "#/$defs/agent.orchestrator-executor.OrchestratorBlock")


def _add_agent(
    definitions: dict[str, Schema], name: str, member: str, further: Schema, required: list[str]
) -> Schema:
    """Define an agent of BrowserOS by the one that it becomes; return the reference."""
    block = copy.deepcopy(definitions[f"agent.{member}"])
    block["properties"].update(copy.deepcopy(further))
    block["properties"]["type"] = {"enum": [name], "description": f"BrowserOS's name; becomes `{member}`."}
    block["required"] = ["type", *required]
    accept_camel_case(block, f"#/$defs/agent.{name}")
    definitions[f"agent.{name}"] = block
    return {"$ref": f"#/$defs/agent.{name}"}


def _describe_suite_agent() -> Schema:
    """Return the agent of a suite: its models are in the environment, so only the loader can check it."""
    spellings = ("executor_backend", "executorBackend")
    backend: Schema = {"enum": list(BACKENDS), "description": "The kind of the executor of a suite's pair."}
    return {
        "type": "object",
        "properties": {
            "type": {"enum": list(KINDS), "description": "The agent of a suite."},
            **dict.fromkeys(spellings, backend),
        },
        "required": ["type"],
        "anyOf": [{"required": [key]} for key in spellings],
    }


_POINTING: Schema = {
    "screen_size": _SIZE,
    "turn_limit": {"type": "integer", "minimum": 1, "default": 30, "description": "The most replies."},
}
_AGENTS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "claude-code": (
        "command",
        {"claude_path": {"type": "string", "description": "The path of the program; becomes `program`."}},
        [],
    ),
    "gemini-computer-use": ("computer-use", _POINTING, ["model"]),
    "yutori-navigator": ("computer-use", _POINTING, ["model"]),
}
"""Agents of BrowserOS: what each becomes, its further keys, and those that it has to have."""
