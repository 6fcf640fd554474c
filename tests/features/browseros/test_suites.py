from __future__ import annotations

import json
from typing import Any

import pytest

from tests.features.browseros.test_agents import Load, Refused, block, part

SUITE: dict[str, Any] = {
    "id": "smoke",
    "dataset": "rows.jsonl",
    "agent": {"type": "tool-loop"},
    "graders": ["answer"],
    "workers": 2,
    "restartBrowserPerTask": True,
    "timeoutMs": 60000,
    "browseros": {"server_url": "http://x", "headless": True},
}
MODEL = {
    "EVAL_AGENT_PROVIDER": "openrouter",
    "EVAL_AGENT_MODEL": "moonshotai/kimi-k2",
    "EVAL_AGENT_API_KEY": "sk-very-secret",
}
SERVER = {"EVAL_AGENT_MODEL": "m", "EVAL_AGENT_BASE_URL": "http://127.0.0.1:8080/v1"}
PAIR_OF_MODELS = {"type": "orchestrated", "executorBackend": "tool-loop"}
PAIR_WITH_ACTIONS = {"type": "orchestrator-executor", "executorBackend": "clado"}


def suite(**changes: Any) -> str:
    return json.dumps({**SUITE, **changes}, indent=1)


def test_a_suite_takes_its_variant_from_the_environment(load: Load) -> None:
    """The model comes from the EVAL_AGENT variables; the key stays in its variable."""
    environ = {**MODEL, "EVAL_VARIANT": "kimi", "EVAL_AGENT_SUPPORTS_IMAGES": "Yes"}
    config = load(suite(), name="suite.json", environ=environ)
    assert (config.name, list(config.variants), config.num_workers) == ("smoke", ["kimi"], 2)
    assert part(block(config, "kimi"), type="single", provider="openrouter", supports_images=True)
    assert block(config, "kimi")["api_key"] == "EVAL_AGENT_API_KEY"
    assert config.limits.timeout_ms == 60_000
    assert (config.browser.type, config.graders[0].type) == ("mcp", "answer")
    assert "sk-very-secret" not in repr(config)


def test_a_suite_has_defaults(load: Load) -> None:
    """Without a name and a provider of the variant, those of BrowserOS are used."""
    agent = {"type": "single", "executorBackend": "tool-loop"}
    config = load(suite(agent=agent, browseros=None), name="s.json", environ=SERVER)
    assert part(
        block(config),
        provider="openai-compatible",
        base_url="http://127.0.0.1:8080/v1",
        supports_images=False,
    )
    assert config.notes == (
        "agent.executorBackend is not used: the agent has no executor.",
        "restart_browser_per_task is not used: every attempt has a browser context of its own anyway.",
    )


def test_a_pair_of_models_loads_unchanged(load: Load) -> None:
    """The executor's model, address and key have variables of their own."""
    environ = {
        **MODEL,
        "EVAL_EXECUTOR_MODEL": "small",
        "EVAL_EXECUTOR_BASE_URL": "http://gpu.example/v1",
        "EVAL_EXECUTOR_API_KEY": "sk-other-secret",
    }
    config = load(suite(agent=PAIR_OF_MODELS), name="suite.json", environ=environ)
    found = block(config)
    assert found["type"] == "orchestrator-executor"
    assert part(found["orchestrator"], model="moonshotai/kimi-k2", api_key="EVAL_AGENT_API_KEY", max_turns=15)
    assert part(found["executor"], type="single", model="small", base_url="http://gpu.example/v1")
    assert found["executor"]["api_key"] == "EVAL_EXECUTOR_API_KEY"
    assert config.limits.max_steps == 301
    assert "limits.max_steps is 301: BrowserOS lets a pair do 300 actions." in config.notes


def test_an_executor_without_an_address_is_asked_where_the_orchestrator_is(load: Load) -> None:
    """Both use the same server and key, which is noted."""
    environ = {**SERVER, "EVAL_AGENT_API_KEY": "sk-very-secret", "EVAL_EXECUTOR_MODEL": "small"}
    config = load(suite(agent=PAIR_OF_MODELS), name="suite.json", environ=environ)
    assert part(
        block(config)["executor"],
        model="small",
        base_url=SERVER["EVAL_AGENT_BASE_URL"],
        api_key="EVAL_AGENT_API_KEY",
    )
    note = "EVAL_EXECUTOR_BASE_URL is not set: the executor's model is asked where the orchestrator's is."
    assert config.notes[0] == note


@pytest.mark.parametrize("address", ["EVAL_EXECUTOR_BASE_URL", "CLADO_ACTION_BASE_URL", "CLADO_ACTION_URL"])
def test_an_executor_that_predicts_actions_loads_unchanged(load: Load, address: str) -> None:
    """The first address that is set is used, as in BrowserOS."""
    environ = {**MODEL, "CLADO_ACTION_URL": "http://late.example/p", address: "http://first.example/p"}
    environ |= {"CLADO_ACTION_API_KEY": "clado-secret"}
    config = load(suite(agent=PAIR_WITH_ACTIONS), name="suite.json", environ=environ)
    assert part(block(config)["executor"], type="visual-action", url="http://first.example/p")
    assert block(config)["executor"]["api_key"] == "CLADO_ACTION_API_KEY"


@pytest.mark.parametrize("environ", [{}, {"EVAL_AGENT_MODEL": "opus", "EVAL_AGENT_API_KEY": "sk-secret-0"}])
def test_claude_code_needs_no_model(load: Load, environ: dict[str, str]) -> None:
    """The program has its own; a variable for it is used."""
    config = load(suite(agent={"type": "claude-code"}, browseros=None), name="suite.json", environ=environ)
    assert part(block(config), type="command", preset="claude-code", model=environ.get("EVAL_AGENT_MODEL"))


# -- what is missing or wrong


NOT_SET = "not set; a suite takes its {0} from it. Set {1}."
AGENT = [
    "environment variable EVAL_AGENT_MODEL: {0}model: " + NOT_SET.format("model", "EVAL_AGENT_MODEL=NAME"),
    "environment variable EVAL_AGENT_BASE_URL: {0}base_url: "
    + NOT_SET.format("base_url", "EVAL_AGENT_BASE_URL=URL"),
]


@pytest.mark.parametrize(
    ("agent", "environ", "told"),
    [
        ({"type": "tool-loop"}, {}, [line.format("agent.") for line in AGENT]),
        ({"type": "tool-loop"}, {"EVAL_AGENT_PROVIDER": "openai"}, [AGENT[0].format("agent.")]),
        (
            PAIR_OF_MODELS,
            MODEL,
            [
                "environment variable EVAL_EXECUTOR_MODEL: agent.executor.model: "
                + NOT_SET.format("model", "EVAL_EXECUTOR_MODEL=NAME")
            ],
        ),
        (
            PAIR_WITH_ACTIONS,
            {},
            [
                *(line.format("agent.orchestrator.") for line in AGENT),
                "environment variable EVAL_EXECUTOR_BASE_URL: agent.executor.base_url: "
                + NOT_SET.format(
                    "base_url",
                    "EVAL_EXECUTOR_BASE_URL=URL or CLADO_ACTION_BASE_URL=URL or CLADO_ACTION_URL=URL",
                ),
            ],
        ),
    ],
)
def test_a_variable_that_is_not_set_is_named(
    refused: Refused, agent: dict[str, Any], environ: dict[str, str], told: list[str]
) -> None:
    """All missing variables are reported at once, each with what to set."""
    assert refused(suite(agent=agent), name="suite.json", environ=environ) == told


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (
            {"type": "orchestrated"},
            "suite.json:4: agent.executorBackend: missing. Write one of: tool-loop, clado.",
        ),
        (
            {"type": "orchestrated", "executorBackend": "tool-lop"},
            "suite.json:6: agent.executorBackend: 'tool-lop' is not allowed. Did you mean 'tool-loop'? Write",
        ),
        ({**PAIR_OF_MODELS, "max": 1}, "suite.json:7: agent.max: unknown key."),
    ],
)
def test_a_wrong_agent_of_a_suite_is_refused(refused: Refused, agent: dict[str, Any], told: str) -> None:
    """The line and the path are the file's."""
    environ = {**MODEL, "EVAL_EXECUTOR_MODEL": "m"}
    lines = refused(suite(agent=agent), name="suite.json", environ=environ)
    assert len(lines) == 1, lines
    assert told in lines[0]


# -- the command line
