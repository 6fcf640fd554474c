from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.agents.single import SingleConfig
from pytest_browsereval.browsers.playwright import PlaywrightBrowserConfig
from pytest_browsereval.config import EvalConfig

Load = Callable[..., EvalConfig]
Refused = Callable[..., list[str]]

RUN: dict[str, Any] = {
    "agent": {
        "type": "single",
        "provider": "openrouter",
        "model": "moonshotai/kimi-k2",
        "apiKey": "OPENROUTER_API_KEY",
        "baseUrl": "https://openrouter.ai/api/v1",
        "supportsImages": True,
    },
    "dataset": "../data/webvoyager.jsonl",
    "output_dir": "../results",
    "num_workers": 5,
    "restart_server_per_task": True,
    "browseros": {
        "server_url": "http://127.0.0.1:9110",
        "base_cdp_port": 9010,
        "base_server_port": 9110,
        "base_extension_port": 9310,
        "load_extensions": False,
        "headless": False,
    },
    "captcha": {"api_key_env": "NOPECHA_API_KEY", "wait_timeout_ms": 30000, "poll_interval_ms": 1000},
    "timeout_ms": 900000,
    "grader_model": "gpt-4o",
    "grader_api_key_env": "OPENAI_API_KEY",
    "grader_base_url": "https://api.openai.com/v1",
}
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
LOCAL = "the browser is local; `browser: {type: mcp}` is not supported yet"


def run(**changes: Any) -> str:
    return json.dumps({**RUN, **changes}, indent=1)


def suite(**changes: Any) -> str:
    return json.dumps({**SUITE, **changes}, indent=1)


def agent(config: EvalConfig, name: str = "default") -> SingleConfig:
    found = config.variants[name]
    assert isinstance(found, SingleConfig)
    return found


def test_a_run_config_loads_unchanged(load: Load, tmp_path: Path) -> None:
    """A run config of BrowserOS becomes an eval config: agent, dataset, limits, workers, browser."""
    config = load(run(), name="webvoyager.json")
    assert config.name == "webvoyager"
    assert (agent(config).model, agent(config).supports_images) == ("moonshotai/kimi-k2", True)
    assert config.public_dump()["variants"]["default"]["api_key"] == "OPENROUTER_API_KEY"
    assert (config.limits.timeout_ms, config.num_workers) == (900_000, 5)
    assert isinstance(config.browser, PlaywrightBrowserConfig)
    assert not config.browser.headless
    assert config.output_dir.resolve() == tmp_path / "results"


def test_what_has_no_effect_is_noted(load: Load) -> None:
    """Every key that is read and not used is named, with the reason."""
    ports = "browseros.base_cdp_port, browseros.base_server_port, browseros.base_extension_port"
    captcha = "captcha.api_key_env, captcha.wait_timeout_ms, captcha.poll_interval_ms"
    assert load(run()).notes == (
        f"browseros.server_url, {ports} are not used: {LOCAL}.",
        f"{captcha} are not used: no captcha solver is started.",
        "restart_server_per_task is not used: every attempt has a browser context of its own anyway.",
        "grader_model, grader_api_key_env, grader_base_url are not used: no grader asks a model yet.",
    )
    assert load(run(browseros={"headless": True}, captcha=None, restart_server_per_task=False)).notes == (
        "grader_model, grader_api_key_env, grader_base_url are not used: no grader asks a model yet.",
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"browseros": {"server_ur": "x"}}, "browseros.server_ur: unknown key. Did you mean 'server_url'?"),
        ({"browseros": {"base_cdp_port": "x"}}, "browseros.base_cdp_port: expected a whole number, not 'x'."),
        (
            {"browseros": {"headless": "sometimes"}},
            "browseros.headless: expected true or false, not 'sometimes'.",
        ),
        ({"browseros": 3}, "browseros: expected a block of keys, not 3."),
        ({"captcha": {"wait_timeout_ms": 5}}, "captcha.wait_timeout_ms: must be at least 1_000; it is 5."),
        (
            {"captcha": {"poll_interval_ms": 9999}},
            "captcha.poll_interval_ms: must be at most 5_000; it is 9999.",
        ),
        ({"num_workers": 0}, "num_workers: must be at least 1; it is 0."),
        ({"restart_server_per_task": "x"}, "restart_server_per_task: expected true or false, not 'x'."),
        ({"timeout_ms": 5}, "timeout_ms: must be at least 1_000; it is 5."),
        (
            {"graders": ["agisdk_state_diff"]},
            "graders.0: the grader 'agisdk_state_diff' is not supported yet.",
        ),
        ({"graders": ["my_grader"]}, "graders.0: unknown grader 'my_grader'."),
        ({"browser": {"headless": True}}, "browseros.headless: given twice, here and as browser.headless."),
        (
            {"agent": {"type": "orchestrator-executor"}},
            "agent.type: the agent 'orchestrator-executor' is not supp",
        ),
    ],
)
def test_a_wrong_run_config_is_refused(refused: Refused, changes: dict[str, Any], told: str) -> None:
    """Keys of BrowserOS are checked as ours are, and told as they were written."""
    lines = refused(run(**changes), name="run.json")
    assert len(lines) == 1
    assert lines[0].startswith("evals/run.json:")
    assert told in lines[0]


def test_a_suite_takes_its_variant_from_the_environment(load: Load) -> None:
    """A suite is read with the model of the EVAL_AGENT variables; the key stays in its variable."""
    environ = {
        "EVAL_VARIANT": "kimi",
        "EVAL_AGENT_PROVIDER": "openrouter",
        "EVAL_AGENT_MODEL": "moonshotai/kimi-k2",
        "EVAL_AGENT_API_KEY": "sk-very-secret",
        "EVAL_AGENT_SUPPORTS_IMAGES": "Yes",
    }
    config = load(suite(), name="suite.json", environ=environ)
    assert (config.name, list(config.variants), config.num_workers) == ("smoke", ["kimi"], 2)
    assert (agent(config, "kimi").provider, agent(config, "kimi").supports_images) == ("openrouter", True)
    assert config.public_dump()["variants"]["kimi"]["api_key"] == "EVAL_AGENT_API_KEY"
    assert config.limits.timeout_ms == 60_000
    assert "sk-very-secret" not in repr(config)


def test_a_suite_has_defaults(load: Load) -> None:
    """Without a variant's name and provider the ones of BrowserOS are taken."""
    environ = {"EVAL_AGENT_MODEL": "m", "EVAL_AGENT_BASE_URL": "http://127.0.0.1:8080/v1"}
    config = load(
        suite(agent={"type": "single", "executorBackend": "tool-loop"}), name="s.json", environ=environ
    )
    assert agent(config).provider == "openai-compatible"
    assert agent(config).base_url == "http://127.0.0.1:8080/v1"
    assert not agent(config).supports_images
    assert config.notes == (
        "agent.executorBackend is not used: the agent has no executor.",
        f"browseros.server_url is not used: {LOCAL}.",
        "restart_browser_per_task is not used: every attempt has a browser context of its own anyway.",
    )


def test_a_suite_without_a_model_is_refused(refused: Refused) -> None:
    """The variable that has to be set is named."""
    told = "agent.model: not set; a suite takes its model from it. Set EVAL_AGENT_MODEL=NAME."
    assert refused(suite(), name="suite.json") == [f"environment variable EVAL_AGENT_MODEL: {told}"]


def test_wrong_variables_are_told_by_name(refused: Refused) -> None:
    """A problem with a value of the environment names its variable."""
    environ = {"EVAL_AGENT_MODEL": "m", "EVAL_AGENT_BASE_URL": "nowhere", "EVAL_AGENT_PROVIDER": "opnai"}
    lines = refused(suite(), name="suite.json", environ=environ)
    assert [line.partition(": ")[0] for line in lines] == [
        "environment variable EVAL_AGENT_PROVIDER",
        "environment variable EVAL_AGENT_BASE_URL",
    ]


@pytest.mark.parametrize("kind", ["claude-code", "orchestrated", "orchestrator-executor"])
def test_agents_of_suites_that_come_later_are_refused(refused: Refused, kind: str) -> None:
    """An agent of a suite that is not there yet is told as such, with its line."""
    lines = refused(suite(agent={"type": kind, "executorBackend": "clado"}), name="suite.json")
    assert lines[0].startswith(f"evals/suite.json:5: agent.type: the agent '{kind}' is not supported yet.")


def test_the_command_line_beats_a_suite(load: Load) -> None:
    """Keys of a converted suite are overridden by the words of BrowserOS and by ours."""
    environ = {"EVAL_AGENT_MODEL": "m", "EVAL_AGENT_BASE_URL": "http://h/v1"}
    config = load(
        suite(), "workers=7", "timeout_ms=31000", "variants.default.model=x", name="s.json", environ=environ
    )
    assert (config.num_workers, config.limits.timeout_ms, agent(config).model) == (7, 31_000, "x")
