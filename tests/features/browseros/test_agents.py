from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.features.orchestrator.agent import OrchestratorExecutorConfig

Load = Callable[..., EvalConfig]
Refused = Callable[..., list[str]]

MODEL = {"provider": "openrouter", "model": "moonshotai/kimi-k2", "apiKey": "OPENROUTER_API_KEY"}
PAIR: dict[str, Any] = {
    "type": "orchestrator-executor",
    "orchestrator": {**MODEL, "maxTurns": 12},
    "executor": {"provider": "openai", "model": "gpt-4o", "apiKey": "OPENAI_API_KEY", "supportsImages": True},
}
ACTIONS: dict[str, Any] = {
    "provider": "clado-action",
    "model": "action-1",
    "apiKey": "CLADO_ACTION_API_KEY",
    "baseUrl": "https://actions.example/predict",
}
CLAUDE = {
    "type": "claude-code",
    "model": "opus",
    "claudePath": "/opt/claude",
    "extraArgs": ["--permission-mode", "plan"],
}
ENDPOINT = {"baseUrl": "https://vision.example/v1", "model": "points-1"}
GEMINI: dict[str, Any] = {
    "type": "gemini-computer-use",
    "apiKey": "GOOGLE_AI_API_KEY",
    "screenSize": {"width": 1440, "height": 900},
    "turnLimit": 25,
}
YUTORI: dict[str, Any] = {"type": "yutori-navigator", "apiKey": "YUTORI_API_KEY"}


def run(agent: Any, **more: Any) -> str:
    return json.dumps({"agent": agent, "dataset": "rows.jsonl", "num_workers": 2, **more}, indent=1)


def block(config: EvalConfig, name: str = "default") -> dict[str, Any]:
    dump: dict[str, Any] = config.public_dump()["variants"][name]
    return dump


def part(block: dict[str, Any], **wanted: Any) -> bool:
    return wanted == {key: block.get(key) for key in wanted}


# -- orchestrator-executor


def test_a_pair_of_models_loads_unchanged(load: Load) -> None:
    """The executor's model becomes the agent ``single``; both keys stay in their variables."""
    found = block(load(run(PAIR)))
    assert part(found["orchestrator"], model="moonshotai/kimi-k2", max_turns=12, api_key="OPENROUTER_API_KEY")
    assert part(found["executor"], type="single", model="gpt-4o", supports_images=True)


def test_a_pair_has_the_actions_of_browseros(load: Load) -> None:
    """After 300 actions the orchestrator can still answer, as the limit of the attempt comes later."""
    note = "limits.max_steps is 301: BrowserOS lets a pair do 300 actions."
    theirs: dict[str, Any] = {"browseros": {"headless": True}}
    config = load(run(PAIR, **theirs))
    assert (config.limits.max_steps, config.notes) == (301, (note,))
    agent = config.variants["default"]
    assert isinstance(agent, OrchestratorExecutorConfig)
    assert agent.max_actions == 300
    timed = load(run(PAIR, **theirs, timeout_ms=60_000))
    assert (timed.limits.max_steps, timed.limits.timeout_ms) == (301, 60_000)


def test_any_other_limit_stays(load: Load, subtests: pytest.Subtests) -> None:
    """A given limit counts, and our own files have our own default, without a note."""
    cases: list[tuple[dict[str, Any], list[str], int]] = [
        ({"browseros": {}, "limits": {"max_steps": 7}}, [], 7),
        ({"browseros": {}}, ["limits.max_steps=7"], 7),
        ({"browseros": {}}, ["agent=noop"], 100),
        ({"browseros": {}, "agent": {"type": "single", **MODEL}}, [], 100),
        ({}, [], 100),
    ]
    for keys, overrides, steps in cases:
        with subtests.test(keys=keys, overrides=overrides, steps=steps):
            config = load(run(**{"agent": PAIR, **keys}), *overrides)
            assert config.limits.max_steps == steps
            assert not [note for note in config.notes if "max_steps" in note]


def test_steps_of_an_executor_move_up(load: Load, refused: Refused) -> None:
    """In either spelling, as BrowserOS writes them into its block; two numbers are refused."""
    for key in ("max_steps_per_delegation", "maxStepsPerDelegation"):
        config = load(run({**PAIR, "executor": {**PAIR["executor"], key: 9}}))
        assert block(config)["max_steps_per_delegation"] == 9
    twice = {**PAIR, "executor": {**PAIR["executor"], "maxStepsPerDelegation": 9}, "maxStepsPerDelegation": 8}
    assert "given twice" in refused(run(twice), name="run.json")[0]


def test_an_executor_that_predicts_actions_is_asked_over_http(load: Load) -> None:
    """The provider ``clado-action`` becomes the agent ``visual-action``; its model is noted as unused."""
    config = load(run({**PAIR, "executor": {**ACTIONS, "maxStepsPerDelegation": 9}}))
    found = block(config)
    assert part(found["executor"], type="visual-action", url=ACTIONS["baseUrl"], api_key=ACTIONS["apiKey"])
    assert found["executor"]["history"] == "text"
    assert found["max_steps_per_delegation"] == 9
    assert config.notes == ("agent.executor.model is not used: the address determines the model.",)


@pytest.mark.parametrize(
    ("executor", "told"),
    [
        ({"provider": "clado-action"}, ":8: agent.executor: baseUrl is missing. Write `baseUrl: http"),
        ({**ACTIONS, "baseUrl": "nowhere"}, ":12: agent.executor.baseUrl: "),
        ({**PAIR["executor"], "baseUrl": "ftp://x"}, ":13: agent.executor.baseUrl: 'ftp://x' is not the URL"),
        ({**CLAUDE, "claudPath": "x"}, ":16: agent.executor.claudPath: unknown key."),
    ],
)
def test_problems_of_an_executor_have_the_keys_of_the_file(
    refused: Refused, executor: dict[str, Any], told: str
) -> None:
    """The line and the keys are those of the file, not those of the converted block."""
    orchestrator = {"provider": "openrouter", "model": "m"}
    lines = refused(run({**PAIR, "orchestrator": orchestrator, "executor": executor}), name="run.json")
    assert len(lines) == 1, lines
    assert lines[0].startswith("evals/run.json")
    assert told in lines[0]


# -- claude-code


def test_claude_code_is_a_command(load: Load) -> None:
    """Path, model and arguments go to the preset; without them the preset's own are used."""
    assert part(
        block(load(run(CLAUDE))),
        type="command",
        preset="claude-code",
        model="opus",
        program="/opt/claude",
        extra_args=["--permission-mode", "plan"],
    )
    assert part(block(load(run({"type": "claude-code"}))), type="command", preset="claude-code")


def test_the_command_line_can_name_an_agent_of_browseros(load: Load) -> None:
    """Overrides are converted like the file."""
    assert part(block(load(run("noop"), "agent=claude-code")), type="command", preset="claude-code")
    found = block(load(run({**PAIR, "executor": ACTIONS}), "agent.executor.baseUrl=https://other.example/p"))
    assert found["executor"]["url"] == "https://other.example/p"


# -- agents that answer with points


@pytest.mark.parametrize(("agent", "turns"), [(GEMINI, 25), (YUTORI, 30)])
def test_an_endpoint_makes_a_computer_use_agent(load: Load, agent: dict[str, Any], turns: int) -> None:
    """With an OpenAI-compatible endpoint in the block, coordinates are parts of a thousand."""
    found = block(load(run({**agent, **ENDPOINT})))
    assert part(found, type="computer-use", provider="openai-compatible", coordinates="normalized")
    assert part(found, base_url=ENDPOINT["baseUrl"], api_key=agent["apiKey"], max_turns=turns)


@pytest.mark.parametrize("agent", [GEMINI, {**YUTORI, "baseUrl": "https://x.example/v1"}])
def test_without_an_endpoint_the_message_has_the_line_to_write(
    refused: Refused, agent: dict[str, Any]
) -> None:
    """The line in the message loads as it is."""
    lines = refused(run(agent), name="run.json")
    assert len(lines) == 1
    assert lines[0].startswith(f"evals/run.json:3: agent.type: {agent['type']!r} speaks its vendor's own")
    assert "write `agent: {type: computer-use, provider: " in lines[0]


def viewport(config: EvalConfig) -> tuple[int, int]:
    size = config.public_dump()["browser"]["context"]["viewport"]
    return size["width"], size["height"]


def test_the_screen_s_size_is_the_browser_s(load: Load) -> None:
    """It is used unless the browser's block has a size, and noted if it has no effect."""
    agent = {**GEMINI, **ENDPOINT}
    assert viewport(load(run(agent))) == (1440, 900)
    own = load(run(agent, browser={"context": {"viewport": {"width": 1000, "height": 700}}}))
    assert viewport(own) == (1000, 700)
    assert own.notes == ("agent.screenSize is not used: browser.context.viewport is set.",)
    attached = load(run(agent, browseros={"server_url": "http://127.0.0.1:9110"}))
    assert attached.notes[1] == "agent.screenSize is not used: the browser is already running."
