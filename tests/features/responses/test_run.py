"""Whole programs whose models are asked by OpenAI's Responses."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from tests.api_servers import Answer, Body
from tests.hooks.small_evals import Evals, row
from tests.responses_server import ResponsesServer, function_call, reasoning, response, said


def write(evals: Evals, server: ResponsesServer, **agent: Any) -> None:
    model: Body = {
        "provider": "openai-compatible",
        "api": "responses",
        "model": "gpt-x",
        "base_url": server.base_url,
        "api_key": "API_KEY",
        "prices": {"input_per_mtok": 3, "output_per_mtok": 15},
    }
    evals.write_rows(
        row("lamp", graders=[{"type": "llm", "prompt": "How good is {answer}?", "scale": "0-1"}])
    )
    evals.write_config(agent={"type": "single", **model, **agent}, judge=model)


def read_attempt(evals: Evals) -> Any:
    (metadata,) = evals.run_folder().rglob("metadata.json")
    return json.loads(metadata.read_text())


def play(request: Body, odd: Body | Answer | None = None) -> Body | Answer:
    """Think, look at the tabs, then answer, or reply oddly; judge by the schema that is sent."""
    if "text" in request:
        return response(json.dumps({"reasoning": "It is.", "score": 0.9}))
    if odd is not None:
        return odd
    if any(item["type"] == "function_call_output" for item in request["input"]):
        return response(reasoning(2), said("wrong", phase="commentary"), said("right", phase="final_answer"))
    looks = said("I look.", phase="commentary")
    return response(reasoning(1, "Which tabs?"), looks, function_call("list_tabs", "a"))


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_an_agent_and_its_judge_are_recorded_and_replayed(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    """By one cassette and one log, with what the model thought, usage by role and no key."""
    with ResponsesServer(play) as server:
        monkeypatch.setenv("API_KEY", server.key)
        write(evals, server, stream=stream)
        evals.run("shop.eval.yaml", "--eval-llm=record").assert_outcomes(passed=1)
        assert server.problems == []
        kinds = [item["type"] for item in server.requests[1]["input"]]
        assert kinds[-4:] == ["reasoning", "message", "function_call", "function_call_output"]
        assert server.requests[1]["input"][-3]["phase"] == "commentary"
    recorded = read_attempt(evals)
    assert (recorded["usage"]["requests"], recorded["usage"]["cache_read_tokens"]) == (2, 80)
    assert recorded["grader_results"]["llm"]["usage"]["requests"] == 1
    (log,) = evals.run_folder().rglob("messages.jsonl")
    assert "Which tabs?" in log.read_text()
    monkeypatch.delenv("API_KEY")
    evals.run("shop.eval.yaml", "--eval-llm=replay").assert_outcomes(passed=1)
    replayed = read_attempt(evals)
    assert [replayed[name] for name in ("usage", "cost_usd")] == [
        recorded[name] for name in ("usage", "cost_usd")
    ]
    files = [file for file in evals.path.rglob("*") if file.is_file()]
    assert [file for file in files if server.key.encode() in file.read_bytes()] == []


CUT = {"incomplete_details": {"reason": "content_filter"}}
ENDS: dict[str, Body | Answer] = {
    "filter": response("right", status="incomplete", **CUT),
    "part": response({**said("right"), "status": "incomplete"}),
    "failed": response(status="failed", error={"code": "server_error", "message": "Busy"}),
    "busy": Answer({"error": {"message": "Busy", "type": "server_error"}}, 503),
}


def test_a_reply_that_is_not_whole_is_never_graded(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Though its text would be right: the row is errored by the provider."""
    for name, odd in ENDS.items():
        for stream in (False, True):
            with subtests.test(name, stream=stream), ResponsesServer(partial(play, odd=odd)) as server:
                monkeypatch.setenv("API_KEY", server.key)
                write(evals, server, max_tries=1, stream=stream)
                assert evals.run("shop.eval.yaml").ret != 0
                told = read_attempt(evals)
                assert (told["verdict"], told["error_source"]) == ("errored", "provider")
