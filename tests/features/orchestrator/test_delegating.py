"""An orchestrator and its executors in a whole run: real browser, real sockets, files on disk."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.model.messages import DelegationResultMessage
from pytest_browsereval.model.results import ExecutorRecord
from pytest_browsereval.runs.folder import read_messages
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls, done
from tests.hooks.launched import files_with, metadata
from tests.hooks.small_evals import Evals, row

PAGE = """<title>Mugs</title><label>Name <input id=name></label>
<button onclick="document.querySelector('h1').textContent = 'Thank you'">
Order</button><h1>Mugs</h1><a href="/next.html">next</a>"""
NEXT = "<title>Next</title><h1>Next page</h1>"
KEYS = {"LEAD_KEY": "sk-lead-0123456789", "HAND_KEY": "sk-hand-0123456789"}


def play(request: ModelRequest) -> Reply:
    """Answer as either model: by the conversation so far, for attempts run side by side."""
    turns = sum(message["role"] == "assistant" for message in request.messages)
    if request.body["model"] == "lead":
        return _lead(request, turns)
    if "Order" in request.messages[1]["content"].partition("The page at the start:")[0]:
        order = [call("fill", target="#name", text=f"Ann {KEYS['HAND_KEY']}"), call("click", target="button")]
        return calls(*order) if turns == 0 else done("Ordered.")
    return (
        calls(call("click", target="text=next")) if turns == 0 else calls(call("give_up", reason="No way."))
    )


def _lead(request: ModelRequest, turns: int) -> Reply:
    goals = ["Order a mug.", "Follow the link."] if "Say the answer of both" in request.text else ["Leave."]
    if turns < len(goals):
        return calls(call("delegate", instruction=goals[turns])).costing(1_000, 10)
    return done("right" if len(goals) > 1 else "wrong")


def _agent(url: str) -> dict[str, Any]:
    prices = {"input_per_mtok": 10, "output_per_mtok": 0}
    return {
        "type": "orchestrated",
        "orchestrator": {"model": "lead", "baseUrl": url, "apiKey": "LEAD_KEY", "prices": prices},
        "executor": {"model": "hand", "baseUrl": url, "apiKey": "HAND_KEY", "maxStepsPerDelegation": 5},
    }


@pytest.mark.slow
def test_goals_are_worked_at_in_a_real_browser(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows side by side, each with its executors; verdicts, files, roles and the report are right."""
    (evals.path / "site").mkdir()
    (evals.path / "site/index.html").write_text(PAGE)
    (evals.path / "site/next.html").write_text(NEXT)
    evals.write_rows(row("both", start_url="{site}/"), row("leave", start_url="{site}/"))
    with ScriptedModel(play) as server:
        evals.write_config(
            agent=_agent(server.base_url), lanes=2, sites={"site": {"static": "site"}}, browser="playwright"
        )
        for name, key in KEYS.items():
            monkeypatch.setenv(name, key)
        run = evals.run("--eval-config=shop.eval.yaml", "--junit-xml=junit.xml")
    output = run.stdout.str()
    assert run.ret == 1, output
    assert not server.problems
    assert "orchestrator-executor openai-compatible/lead with single openai-compatible/hand" in output
    both, leave = (metadata(evals.run_folder(), name) for name in ("both", "leave"))
    assert (both.verdict, both.total_steps, both.final_answer) == ("passed", 3, "right")
    assert (leave.verdict, leave.total_steps) == ("failed", 1)
    assert {role: usage.requests for role, usage in both.usage_by_role.items()} == {
        "orchestrator": 3,
        "executor": 4,
    }
    assert both.usage_by_role["orchestrator"].cost_usd == 0.021
    assert both.cost_usd is None, "the executor's prices are not known"
    assert "goal     executor-1: blocked, 1 step. No way." in output
    assert "tokens   orchestrator 1,100 in, 20 out, $0.0110; executor 200 in, 20 out" in output
    junit = (evals.path / "junit.xml").read_text()
    assert '<property name="tokens_in.executor" value="400" />' in junit
    assert '<property name="cost_usd.orchestrator" value="0.021" />' in junit
    _check_files(evals)
    assert files_with(evals.run_folder(), *KEYS.values()) == []


def _check_files(evals: Evals) -> None:
    (folder,) = evals.run_folder().glob("tasks/both/*/*/attempt-1")
    records = [
        ExecutorRecord.model_validate(json.loads(path.read_text()))
        for path in sorted((folder / "executors").iterdir())
    ]
    assert [(r.executor_id, r.instruction, r.status, r.summary) for r in records] == [
        ("executor-1", "Order a mug.", "done", "Ordered."),
        ("executor-2", "Follow the link.", "blocked", "No way."),
    ]
    assert [len(r.pictures) for r in records] == [2, 1]
    assert all((folder / f"screenshots/{n:03d}.jpeg").exists() for r in records for n in r.pictures)
    assert [str(r.current_url).rpartition("/")[2] for r in records] == ["", "next.html"]
    assert records[1].start_url == records[0].current_url
    messages = list(read_messages(folder))
    ends = [m.current_url for m in messages if isinstance(m, DelegationResultMessage)]
    assert ends == [r.current_url for r in records]
    typed = [m for m in messages if m.type == "tool_call" and m.tool == "fill"]
    assert [(m.parent_id, m.params["text"]) for m in typed] == [("executor-1", "Ann [redacted]")]
