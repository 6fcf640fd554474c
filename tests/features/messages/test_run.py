"""Whole programs whose models are asked by Anthropic's Messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.features.messages.api import Messages
from pytest_browsereval.features.shared.tool_loop.conversation import Conversation
from pytest_browsereval.llm.completion import read_body
from pytest_browsereval.llm.config import LLMConfig
from tests.api_servers import Body, MessagesServer, message, thinking, use, uses
from tests.hooks.small_evals import Evals, row

ITEMS = "".join(f"<li><a href='#{n}'>Lamp {n}</a> costs {n}.25 EUR</li>" for n in range(200))
PAGE = f"<title>Desk</title><h1>Desk</h1><button>More</button><ul>{ITEMS}</ul>"
PRICES = {
    "input_per_mtok": 3,
    "output_per_mtok": 15,
    "cache_read_per_mtok": 0.3,
    "cache_write_per_mtok": 3.75,
}


def write(
    evals: Evals, server: MessagesServer, *, judge: bool = False, keys: Body | None = None, **agent: Any
) -> None:
    model: Body = {
        "provider": "anthropic",
        "model": "claude-x",
        "base_url": server.base_url,
        "api_key": "API_KEY",
    }
    model |= {"prices": PRICES}
    more: Body = {**({"judge": model} if judge else {}), **(keys or {})}
    evals.write_config(agent={"type": "single", **model, **agent}, **more)


def read_attempt(evals: Evals) -> Any:
    (metadata,) = evals.run_folder().rglob("metadata.json")
    return json.loads(metadata.read_text())


def find_key(evals: Evals, key: str) -> list[str]:
    files = [file for file in evals.path.rglob("*") if file.is_file()]
    return [str(file) for file in files if key.encode() in file.read_bytes()]


def play(request: Body) -> Body:
    """Click and look by turns, and think before each step."""
    number = sum(turn["role"] == "assistant" for turn in request["messages"])
    if number == 20:
        return uses(use("done", "toolu_20", answer="right"))
    thought = thinking(f"Step {number}.", f"c2ln{number:04}")
    if number % 2:
        return uses(use("snapshot", f"toolu_{number}"), before=[thought])
    return uses(use("click", f"toolu_{number}", target="role=button[name=More]"), before=[thought])


@pytest.mark.slow
def test_most_of_a_long_run_is_read_from_the_cache(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pages and pictures in Chromium, by a server that computes it of what each request begins with."""
    with MessagesServer(play) as server:
        monkeypatch.setenv("API_KEY", server.key)
        (evals.path / "site").mkdir()
        (evals.path / "site/index.html").write_text(PAGE)
        evals.write_rows(row("lamp", start_url="{site}/"))
        keys: Body = {"browser": "playwright", "sites": {"site": {"static": "site"}}}
        write(evals, server, keys=keys, supports_images=True, stream=True)
        result = evals.run("shop.eval.yaml")
    result.assert_outcomes(passed=1)
    assert (server.problems, len(server.requests)) == ([], 21)
    (log,) = evals.run_folder().rglob("messages.jsonl")
    used = [one["usage"] for one in map(json.loads, log.read_text().splitlines()) if one.get("usage")]
    assert sum(one["cache_write_tokens"] for one in used) > 0
    read, given = (sum(one[name] for one in used[2:]) for name in ("cache_read_tokens", "input_tokens"))
    assert read >= 0.8 * given, f"{read} of {given}"
    assert find_key(evals, server.key) == []


def test_pages_of_any_length_are_read_from_the_cache(subtests: pytest.Subtests) -> None:
    """Also where each step looks at the page anew, and has a picture of it."""
    api = Messages(LLMConfig(provider="anthropic", model="m"))
    tool = {"type": "function", "function": {"name": "snapshot", "description": "d" * 12_000}}
    call = {"id": "c", "type": "function", "function": {"name": "snapshot", "arguments": "{}"}}
    said = {"choices": [{"message": {"content": "", "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    for length in (1_000, 4_000, 12_000, 30_000):
        for pictures in (False, True):
            with subtests.test(length=length, pictures=pictures):
                server, talk = MessagesServer(()), Conversation(waits=True)
                talk.add_system("s" * 4_000)
                talk.add_user("The task.", "p" * length)
                counts = []
                for step in range(21):
                    body = api.write({"model": "m", "messages": talk.messages, "tools": [tool]})
                    counts.append(server.count(body))
                    talk.add_reply(read_body(said))
                    talk.add_result("c", "ok", f"{step} {'p' * length}")
                    if pictures:
                        talk.add_picture(bytes([step]), "image/png", "The page:")
                read = sum(one["cache_read_input_tokens"] for one in counts[2:])
                given = sum(sum(one.values()) for one in counts[2:])
                assert read >= 0.8 * given, f"{read} of {given}"


def answer_all(request: Body) -> Body:
    """Answer the agent, and the judge by the schema that it sends."""
    form = request.get("output_config", {}).get("format")
    if form is None:
        return message(thinking("It says so.", "cw=="), "right")
    return message(json.dumps({"reasoning": "It is.", "score": 0.9}))


@pytest.mark.parametrize("has_formats", [True, False], ids=["schema", "prompt"])
def test_an_agent_and_its_judge_are_recorded_and_replayed(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, *, has_formats: bool
) -> None:
    """By one cassette, with usage by role; a model without schemas is asked for JSON by the prompt."""
    reply = message(json.dumps({"reasoning": "It is.", "score": 0.9}))
    grader = {"type": "llm", "prompt": "How good is {answer}?", "scale": "0-1"}

    def script(request: Body) -> Body:
        asks_for_json = "Your reply is one JSON object" in json.dumps(request.get("system", ""))
        return reply if asks_for_json and not has_formats else answer_all(request)

    output = "--eval-set=judge.output=" + ("auto" if has_formats else "json")
    with MessagesServer(script) as server:
        server.has_formats = has_formats
        monkeypatch.setenv("API_KEY", server.key)
        evals.write_rows(row("lamp", graders=[grader]))
        write(evals, server, judge=True)
        if not has_formats:
            refused = evals.run("shop.eval.yaml")
            refused.assert_outcomes(errors=1)
            assert "write `judge: {output: json}`" in refused.attempt("lamp").reason
            server.requests.clear()
        evals.run("shop.eval.yaml", output, "--eval-llm=record").assert_outcomes(passed=1)
        (asked,) = [request for request in server.requests if "tools" not in request]
        assert "cache_control" not in json.dumps(asked)
        if has_formats:
            assert "maximum" not in json.dumps(asked["output_config"]["format"]["schema"])
    recorded = read_attempt(evals)
    assert recorded["usage"]["requests"] == 1
    assert recorded["grader_results"]["llm"]["usage"]["requests"] == 1
    monkeypatch.delenv("API_KEY")
    evals.run("shop.eval.yaml", output, "--eval-llm=replay").assert_outcomes(passed=1)
    replayed = read_attempt(evals)
    for name in ("usage", "cost_usd"):
        assert replayed[name] == recorded[name], name
    assert find_key(evals, server.key) == []


@pytest.mark.slow
def test_doctor_asks_the_models(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of the agent with its own headers, and the judge with a question."""
    with MessagesServer(lambda _: message("Yes.")) as server:
        monkeypatch.setenv("API_KEY", server.key)
        evals.write_rows(row("a", graders=[{"type": "llm", "prompt": "Is {answer} good?"}]))
        write(evals, server, judge=True, keys={"browser": "playwright"})
        result = evals.run_command("doctor", "shop.eval.yaml", "--ask-judge")
        said = " ".join(result.stdout.str().split())
        assert "answers with the status 200" in said
        assert "answers in" in said
