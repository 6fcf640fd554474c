from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.features.browseros.agents import _CONVERTERS, PAIRS
from pytest_browsereval.features.browseros.reader import BrowserOSReader
from pytest_browsereval.features.browseros.run_config import Leftovers
from pytest_browsereval.features.single_agent.agent import SingleConfig

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


def run(**changes: Any) -> str:
    return json.dumps({**RUN, **changes}, indent=1)


def test_a_config_of_ours_is_not_taken_for_one() -> None:
    """Each key without effect here is one by which a file is recognised, and so is each kind of agent."""
    recognises = BrowserOSReader().recognises
    assert not recognises({"agent": {"type": "single"}, "dataset": "rows.jsonl", "num_workers": 2})
    assert all(recognises({name: None}) for name in Leftovers.model_fields)
    kinds = {*_CONVERTERS, *PAIRS}
    assert all(recognises({"agent": kind}) for kind in kinds)
    assert all(recognises({"variants": {"a": {"type": kind}}}) for kind in kinds)


def test_a_run_config_loads_unchanged(load: Load, tmp_path: Path) -> None:
    """A run config of BrowserOS becomes an eval config: agent, dataset, limits, workers, browser."""
    config = load(run(), name="webvoyager.json")
    assert config.name == "webvoyager"
    agent = config.variants["default"]
    assert isinstance(agent, SingleConfig)
    assert (agent.model, agent.supports_images) == ("moonshotai/kimi-k2", True)
    dump = config.public_dump()
    assert dump["variants"]["default"]["api_key"] == "OPENROUTER_API_KEY"
    assert (config.limits.timeout_ms, config.num_workers) == (900_000, 5)
    assert (dump["browser"]["type"], dump["browser"]["url"]) == ("mcp", "http://127.0.0.1:9110/mcp")
    assert config.output_dir.resolve() == tmp_path / "results"


def test_keys_without_effect_are_noted(load: Load) -> None:
    """Every unused key is named with the reason, and so is the browser."""
    ports = "browseros.base_cdp_port, browseros.base_server_port, browseros.base_extension_port"
    assert load(run()).notes == (
        (
            "browseros.server_url: windows are opened in the browser at http://127.0.0.1:9110/mcp, which has "
            "to run. For a local Chromium write `browser: playwright`."
        ),
        f"{ports} are not used: the browser is already running.",
        "captcha is not used: no captcha solver is started.",
        "restart_server_per_task is not used: every attempt has a browser context of its own anyway.",
    )
    small = run(browseros={"headless": False}, captcha=None)
    assert load(small).notes == (
        "browseros.headless is not used: --eval-headed shows windows.",
        "restart_server_per_task is not used: every attempt has a browser context of its own anyway.",
    )


def test_the_graders_model_becomes_the_judge(load: Load) -> None:
    """One judge for all graders, at OpenAI by default; the command line may change it."""
    judge = load(run()).judge
    assert judge is not None
    assert (judge.provider, judge.model_name, judge.url) == (
        "openai-compatible",
        "gpt-4o",
        "https://api.openai.com/v1",
    )
    plain = load(run(grader_base_url=None, grader_api_key_env=None)).judge
    assert plain is not None
    assert (plain.provider, plain.model_name) == ("openai", "gpt-4o")
    changed = load(run(), "grader_model=o4-mini").judge
    assert changed is not None
    assert changed.model_name == "o4-mini"
    assert load(run(grader_model=None, grader_base_url=None, grader_api_key_env=None)).judge is None


# -- the browser


def browser(config: EvalConfig) -> dict[str, Any]:
    dump: dict[str, Any] = config.browser.model_dump(mode="json", exclude_unset=True)
    return dump


@pytest.mark.parametrize(
    "server", ["http://localhost:9100", "http://localhost:9100/", "http://localhost:9100/mcp"]
)
def test_the_server_of_browseros_is_driven_over_mcp(load: Load, server: str) -> None:
    """The tools are at the address of the server, with or without a slash at its end."""
    found = browser(load(run(browseros={"server_url": server})))
    assert (found["type"], found["url"]) == ("mcp", "http://localhost:9100/mcp")


def test_a_token_in_the_address_is_used_and_not_printed(load: Load) -> None:
    """Notes are printed, so they have no query of an address."""
    config = load(run(browseros={"server_url": "http://localhost:9100?token=secret-0123"}))
    assert browser(config)["url"] == "http://localhost:9100/mcp?token=secret-0123"
    assert "secret" not in str(config.notes)


@pytest.mark.parametrize(
    "agent",
    [
        {"type": "visual-action", "url": "http://actions.example/p"},
        {
            "type": "orchestrator-executor",
            "orchestrator": {"provider": "openai", "model": "m"},
            "executor": {"provider": "clado-action", "baseUrl": "http://actions.example/p"},
        },
    ],
)
def test_agents_that_point_use_the_debugging_port(load: Load, agent: dict[str, Any]) -> None:
    """They need our tools, which a browser behind an MCP server does not have."""
    both = {"server_url": "http://x", "base_cdp_port": 9010}
    config = load(run(agent=agent, browseros=both))
    assert browser(config)["url"] == "http://127.0.0.1:9010"
    assert "browseros.server_url is not used: agents act at points, which its tools cannot." in config.notes
    assert browser(load(run(agent=agent, browseros={"server_url": "http://x"})))["type"] == "mcp"


@pytest.mark.parametrize("headless", [True, False])
def test_without_an_address_a_chromium_is_started(load: Load, headless: bool) -> None:  # noqa: FBT001 a table
    """Without server and port it is our own browser; the command line asks for its windows."""
    config = load(run(browseros={"headless": headless}))
    assert isinstance(config.browser, PlaywrightBrowserConfig)
    assert config.browser.headless
    note = "browseros.headless is not used: --eval-headed shows windows."
    assert (note in config.notes) is not headless


@pytest.mark.parametrize(
    ("override", "kind", "url"),
    [
        ("browser=playwright", "playwright", None),
        ("browser.type=playwright", "playwright", None),
        ("browseros.server_url=http://other:1", "mcp", "http://other:1/mcp"),
        ("browser.url=http://other:2/mcp", "mcp", "http://other:2/mcp"),
        ("browseros={base_cdp_port: 9333}", "cdp", "http://127.0.0.1:9333"),
    ],
)
def test_the_command_line_chooses_the_browser(load: Load, override: str, kind: str, url: str | None) -> None:
    """Keys of BrowserOS and ours both override the file."""
    found = browser(load(run(browseros={"server_url": "http://x"}), override))
    assert (found["type"], found.get("url")) == (kind, url)


def test_a_wrong_run_config_is_refused(refused: Refused, subtests: pytest.Subtests) -> None:
    """Keys of BrowserOS are checked like ours, and named as they are written."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"browseros": {"server_ur": "x"}}, "browseros.server_ur: unknown key. Did you mean 'server_url'?"),
        ({"browseros": {"base_cdp_port": "x"}}, "browseros.base_cdp_port: expected a whole number, not 'x'."),
        ({"browseros": 3}, "browseros: expected a block of keys, not 3."),
        ({"num_workers": 0}, "num_workers: must be at least 1; it is 0."),
        ({"restart_server_per_task": "x"}, "restart_server_per_task: expected true or false, not 'x'."),
        ({"graders": ["my_grader"]}, "graders.0: unknown grader 'my_grader'."),
        ({"browseros": {"server_url": 5}}, "browseros.server_url: expected a string, not 5."),
        ({"browseros": {"server_url": "nowhere"}}, "browseros.server_url: "),
    ]
    for changes, told in cases:
        with subtests.test(changes=changes, told=told):
            lines = refused(run(**changes), name="run.json")
            assert len(lines) == 1
            assert lines[0].startswith("evals/run.json:")
            assert told in lines[0]
