"""An orchestrator that sees no page, the turns that it has, and what becomes the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.errors import (
    ConfigError,
    ErrorSource,
    Fault,
    LimitReached,
    StopRun,
    TerminationReason,
)
from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import Needs
from pytest_browsereval.testing import Call, Reply, call, calls, done, refuses, says
from tests.agents.desk import TOOLS_BY_NAME, Desk, MakeDesk
from tests.features.orchestrator.pair import HAND, LEAD, Pair, delegates, pair_config

CLICK = call("click", target="button Buy")
TWICE = calls(CLICK, call("click", target="button Buy"))
KEY = "sk-lead-0123456789"


@pytest.fixture
def pair(desk: Desk) -> Pair:
    return Pair(desk)


def parts(told: str) -> tuple[list[str], list[str]]:
    """Return the lines of a result that the harness says, and those between the marks of page text."""
    harness, _, page = told.partition("\n[page ")
    return harness.splitlines(), page.splitlines()[1:-1]


# -- the course of an attempt


def test_goals_are_delegated_to_fresh_executors(pair: Pair) -> None:
    """Each executor knows its instruction and sees the page; the orchestrator knows reports only."""
    lead = [delegates("Click Buy."), delegates("Read the page."), done("bought")]
    hand = [calls(CLICK), done("I clicked."), calls(call("snapshot")), says("It says clicked.")]
    result = pair.solve(lead, hand)
    assert (result.final_answer, result.termination_reason) == ("bought", TerminationReason.COMPLETED)
    assert [(m.executor_id, m.instruction, m.span_id) for m in pair.delegations] == [
        ("executor-1", "Click Buy.", "executor-1"),
        ("executor-2", "Read the page.", "executor-2"),
    ]
    assert pair.statuses == [("done", 1), ("done", 1)]
    assert [m.summary for m in pair.results] == ["I clicked.", "It says clicked."]
    assert {m.current_url for m in pair.results} == {"http://shop.test/"}
    first, last = pair.requests[LEAD][0], pair.requests[LEAD][-1]
    assert first.tool_names == ["delegate", "done"]
    assert "Buy it." in first.text
    assert "The browser is at http://shop.test/." in first.text
    assert "button Buy" not in last.text
    harness, page = parts(pair.told(1))
    assert harness == ["ok", "status: done", "steps: 1", "turns left: 14"]
    assert page == ["url: http://shop.test/", "report: I clicked."]
    second = pair.requests[HAND][2]
    assert "Read the page." in second.text
    assert "Click Buy." not in second.text
    assert second.tool_names == [*TOOLS_BY_NAME, "give_up"]


def test_a_model_that_repeats_itself_delegates_one_goal_a_turn(pair: Pair) -> None:
    """Of forty calls in one reply the first is made; the others are refused, and all are recorded."""
    result = pair.solve([delegates(*(f"goal {n}" for n in range(40))), done("x")], [done("y")])
    assert result.final_answer == "x"
    assert len(pair.delegations) == 1
    refused = [m for m in pair.messages if isinstance(m, ToolResultMessage) and m.is_error]
    assert len(refused) == 39
    assert "One goal at a time" in pair.told(1)
    assert pair.desk.capture.steps == 0


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (call("click", target="button Buy"), "unknown tool 'click'"),
        (call("delegate"), "instruction: Field required"),
        (Call("delegate", '{"instruction": "go'), "not a JSON object"),
    ],
)
def test_a_wrong_call_of_the_orchestrator_is_told_and_recorded(pair: Pair, wrong: Call, told: str) -> None:
    """It reads what was wrong, and may go on."""
    assert pair.solve([calls(wrong), delegates("a"), done("x")], [done("y")]).final_answer == "x"
    assert told in pair.told(1)
    asked = [m.tool for m in pair.messages if isinstance(m, ToolCallMessage) and m.parent_id is None]
    assert asked == [wrong.name, "done"]


# -- the final answer


@pytest.mark.parametrize(
    ("lead", "hand", "answer", "reason"),
    [
        ([delegates("a"), done("mine")], [done("its")], "mine", "completed"),
        ([delegates("a"), says(" in words ")], [done("its")], "in words", "completed"),
        ([done("at once")], [], "at once", "completed"),
        ([delegates("a")] * 3, [done("1"), done("2"), done("3")], "3", "max_steps"),
        ([delegates("a"), *[calls(call("nothing"))] * 2], [done("1")], "1", "max_steps"),
        ([calls(call("nothing"))] * 3, [], None, "max_steps"),
        ([delegates("a"), delegates("b"), delegates("c")], [done("1"), TWICE, TWICE], None, "max_steps"),
        ([delegates("a")] * 3, [done("1"), done("2"), done("")], None, "max_steps"),
        ([delegates("a"), says(""), says("")], [done("1")], None, "completed"),
    ],
)
def test_the_final_answer_rule(
    pair: Pair, lead: list[Reply], hand: list[Reply], answer: str | None, reason: str
) -> None:
    """``done``, else words without a call; out of turns the last executor's report, if it gave one."""
    result = pair.solve(lead, hand, orchestrator={"max_turns": 3}, max_steps_per_delegation=1)
    assert (result.final_answer, result.termination_reason) == (answer, reason)
    assert len(pair.requests[LEAD]) == len(lead)
    assert (result.note == "orchestrator.max_turns is 3; all were used") == (reason == "max_steps")


# -- limits and faults of the attempt


def test_all_actions_together_have_a_limit(pair: Pair) -> None:
    """The executor that meets it is stopped; after that nothing can be delegated, but be answered."""
    lead = [delegates("a"), delegates("b"), delegates("c"), done("x")]
    hand = [TWICE, done("2"), TWICE]
    assert pair.solve(lead, hand, max_actions=3).final_answer == "x"
    assert pair.statuses == [("done", 2), ("max_steps", 1)]
    assert [m.max_steps for m in pair.delegations] == [3, 1]
    assert "status: max_steps\nmax_actions is 3" in pair.told(3)
    assert pair.told(3).startswith("failed")
    assert pair.desk.capture.steps == 3


def test_the_attempts_own_steps_count_too(make_desk: MakeDesk) -> None:
    """They end the whole attempt, whatever a delegation might still do."""
    pair = Pair(make_desk(max_steps=2))
    with pytest.raises(LimitReached, match=r"limits\.max_steps is 2") as caught:
        pair.solve([delegates("a")], [calls(CLICK)] * 3)
    assert caught.value.reason is TerminationReason.MAX_STEPS
    record = pair.record()
    assert (record.status, record.steps_used, record.termination_reason) == (None, 2, "max_steps")
    assert pair.results == []


def test_what_is_no_doing_of_an_executor_s_is_a_fault(make_desk: MakeDesk) -> None:
    """A provider that refuses the key stops the run; a browser that dies is not called blocked."""
    script = [delegates("a"), done("x")]
    refused = Pair(make_desk())
    with pytest.raises(StopRun) as stopped:
        refused.solve(script, [refuses(401, "no such key")])
    assert (stopped.value.source, refused.record().status) == (ErrorSource.PROVIDER, None)
    dying = Pair(make_desk())
    dying.desk.window.dies_at = "button Buy"
    with pytest.raises(Fault) as died:
        dying.solve(script, [calls(CLICK), done("y")])
    assert died.value.source is ErrorSource.BROWSER
    assert "died" in dying.record().summary


# -- the block


def test_a_block_as_browseros_writes_it() -> None:
    """Bare model blocks in camelCase are an orchestrator and a single executor."""
    config = pair_config(
        orchestrator={"provider": "openai", "model": "gpt-x", "apiKey": "LEAD_KEY", "maxTurns": 4},
        executor={"provider": "openai", "model": "gpt-y", "apiKey": "HAND_KEY"},
        maxActions=20,
    )
    assert (config.orchestrator.max_turns, config.max_actions) == (4, 20)
    assert config.executor.type == "single"
    assert config.label() == "orchestrator-executor openai/gpt-x with single openai/gpt-y"
    dump = config.model_dump(mode="json")
    assert (dump["orchestrator"]["api_key"], dump["executor"]["api_key"]) == ("LEAD_KEY", "HAND_KEY")
    assert pair_config(executor="noop").delegation_timeout_s == 300
    assert pair_config(executor="noop").needs() == Needs()


def test_a_wrong_block_is_refused(subtests: pytest.Subtests) -> None:
    """Before anything is spent, with what to write."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"executor": pair_config(executor="noop")}, "cannot itself delegate"),
        ({"executor": {"type": "orchestrated", "executor": "noop"}}, "orchestrator"),
        ({"executor": {"type": "singel"}}, "Did you mean 'single'?"),
    ]
    for fields, told in cases:
        with subtests.test(fields=fields, told=told):
            with pytest.raises(ValidationError) as caught:
                pair_config(**fields)
            assert told in str(caught.value)


def test_keys_of_both_parts_are_checked_and_kept_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not set is named before the start; one that is stands in no message."""
    config = pair_config(
        orchestrator={"model": "m", "base_url": "https://h.test/v1", "api_key": "LEAD_KEY"},
        executor={"model": "m", "base_url": "https://h.test/v1", "api_key": "HAND_KEY"},
    )
    with pytest.raises(ConfigError, match=r"^orchestrator: .*LEAD_KEY"):
        config.preflight(Path())
    monkeypatch.setenv("LEAD_KEY", KEY)
    with pytest.raises(ConfigError, match=r"^executor: .*HAND_KEY"):
        config.preflight(Path())
    monkeypatch.setenv("HAND_KEY", "sk-hand-0123456789")
    config.preflight(Path())
    assert config.secrets() == (KEY, "sk-hand-0123456789")


def test_rows_are_checked_for_the_executor() -> None:
    """A solution has to be there for one that plays it, and end with a report."""
    row = {"query_id": "a", "query": "b"}
    scripted = pair_config(executor="scripted")
    click = {"tool": "click", "target": "x"}
    for solution, told in (
        ([], "there is none"),
        ([click], "without a report"),
        ([{"tool": "clack"}], "not a tool that is switched on"),
    ):
        with pytest.raises(ValueError, match=told):
            scripted.check(Task.model_validate({**row, "solution": solution}), TOOLS_BY_NAME)
    for last in ({"tool": "done", "answer": "x"}, {"tool": "give_up", "reason": "x"}):
        scripted.check(Task.model_validate({**row, "solution": [click, last]}), TOOLS_BY_NAME)
    pair_config(executor="noop").check(Task.model_validate(row), TOOLS_BY_NAME)
    with pytest.raises(ValueError, match="of their own"):
        pair_config(executor="noop").check(
            Task.model_validate(row), {**TOOLS_BY_NAME, "give_up": TOOLS_BY_NAME["done"]}
        )
