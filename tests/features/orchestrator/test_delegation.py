"""How a delegation ends: four statuses, each true, and what is kept of it."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable, Coroutine
from textwrap import dedent
from typing import Any

import pytest

from pytest_browsereval.agents import playing
from pytest_browsereval.deadline import within
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.orchestrator import delegation
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.testing import Reply, call, calls, done, says
from tests.agents.desk import Desk, MakeDesk
from tests.features.orchestrator.pair import Pair, delegates, pair_config
from tests.support import until

CLICK = calls(call("click", target="button Buy"))
LEAD = [delegates("Do it."), done("x")]


@pytest.fixture
def pair(desk: Desk) -> Pair:
    return Pair(desk)


def worker(desk: Desk, name: str, code: str) -> dict[str, Any]:
    """Return the block of a function agent with this code."""
    (desk.base_dir / f"{name}.py").write_text(dedent(code), encoding="utf-8")
    return {"type": "function", "function": f"{name}:work"}


# -- statuses


@pytest.mark.parametrize(
    ("hand", "status", "steps", "summary"),
    [
        ([CLICK, done("It is bought.")], "done", 1, "It is bought."),
        ([CLICK, says("It is bought.")], "done", 1, "It is bought."),
        ([CLICK, calls(call("give_up", reason="There is a login."))], "blocked", 1, "There is a login."),
        ([says(""), says("")], "blocked", 0, "[harness] It ended without a report."),
        ([done("  ")], "blocked", 0, "[harness] It ended without a report."),
        ([calls(call("give_up"))] * 3, "blocked", 0, "[harness] It ended without a report."),
        ([calls(call("fly"))] * 4, "max_steps", 3, "[harness] Stopped: 3 steps were allowed"),
        (
            [calls(call("click", target="nothing"), text="I look."), *[CLICK] * 3],
            "max_steps",
            3,
            "[harness] Stopped: 3 steps were allowed; all were used. The last that it said: I look.",
        ),
    ],
)
def test_a_models_ending_is_told_as_it_was(
    pair: Pair, hand: list[Reply], status: str, steps: int, summary: str
) -> None:
    """Reached, given up, or out of steps: the orchestrator reads which, and goes on."""
    result = pair.solve(LEAD, hand, max_steps_per_delegation=3)
    assert result.final_answer == "x"
    assert pair.statuses == [(status, steps)]
    assert pair.results[0].summary.startswith(summary)
    assert pair.told(1).startswith("ok" if status == "done" else "failed")
    assert f"status: {status}" in pair.told(1)
    assert (pair.record().status, pair.record().summary) == (status, pair.results[0].summary)


@pytest.mark.parametrize(
    ("code", "status", "summary"),
    [
        ("async def work(context): return 'found ' + context.task.query", "done", "found Do it."),
        ("def work(context): pass", "blocked", "[harness] It ended without a report."),
        (
            "def work(context): context.tools.call('give_up', {'reason': 'no way'}); return 'text'",
            "blocked",
            "no way",
        ),
        (
            "def work(context):\n    while True: context.tools.call('snapshot')",
            "max_steps",
            "[harness] Stopped: 2 steps were allowed",
        ),
    ],
)
def test_a_functions_ending_is_told_as_it_was(pair: Pair, code: str, status: str, summary: str) -> None:
    """Any agent serves as executor."""
    block = worker(pair.desk, f"hand_{zlib.crc32(code.encode())}", code)
    assert pair.solve(LEAD, executor=block, max_steps_per_delegation=2).final_answer == "x"
    assert pair.results[0].status == status
    assert pair.record().summary == pair.results[0].summary
    assert pair.results[0].summary.startswith(summary)


CANCELS_ITSELF = """
import asyncio
async def work(context):
    asyncio.current_task().cancel()
    await asyncio.sleep(300)
"""


BREAKING = [
    ("async def work(context): raise KeyError('price')", "KeyError: 'price'"),
    ("def work(context): raise SystemExit(3)", "SystemExit: 3"),
    ("def work(context): return 12", "returned 12"),
    (CANCELS_ITSELF, "was cancelled by its own code or by another agent"),
]


def test_an_executor_whose_code_breaks_is_a_fault(make_desk: MakeDesk, subtests: pytest.Subtests) -> None:
    """The attempt is errored, as with that agent alone: it is not for the orchestrator to cope with."""
    for code, told in BREAKING:
        pair = Pair(make_desk())
        with subtests.test(told=told):
            with pytest.raises(Fault, match=told) as caught:
                pair.solve(LEAD, executor=worker(pair.desk, f"hand_{zlib.crc32(code.encode())}", code))
            assert caught.value.source is ErrorSource.AGENT
            assert (pair.results, pair.record().status) == ([], None)


def test_an_executors_own_account_of_its_end_counts(make_desk: MakeDesk) -> None:
    """One that stops itself by a limit of its own is not called done."""
    for reason, status in (("COMPLETED", "done"), ("TIMEOUT", "timeout"), ("BUDGET", "blocked")):
        pair = Pair(make_desk())
        code = f"""
            from pytest_browsereval import AgentResult, TerminationReason
            from pytest_browsereval.model.messages import AssistantMessage
            async def work(context):
                said = AssistantMessage(content="late")
                return AgentResult("half", TerminationReason.{reason}, (said,))
            """
        pair.solve(LEAD, executor=worker(pair.desk, f"hand_{reason.lower()}", code))
        assert [(m.status, m.summary) for m in pair.results] == [(status, "half")]
        assert pair.record().termination_reason == reason.lower()
        assert [m.parent_id for m in pair.messages if getattr(m, "content", "") == "late"] == ["executor-1"]


def test_a_program_is_an_executor(pair: Pair) -> None:
    """Its output is the report, its files lie in the executor's folder, its failure is a fault."""
    code = "import sys; print('it costs 8'); sys.exit('Fly' in sys.argv[1])"
    block = {"type": "command", "command": ["{python}", "-c", code, "{task}"], "answer": "last_line"}
    lead = [delegates("Read."), delegates("Fly."), done("x")]
    with pytest.raises(Fault, match="ended with code 1"):
        pair.solve(lead, executor={**block, "mcp": "off", "prompt": "{task}"})
    assert [(m.status, m.summary) for m in pair.results] == [("done", "it costs 8")]
    logs = sorted(pair.desk.folder.glob("executors/*/agent/stdout.log"))
    assert [path.read_text() for path in logs] == ["it costs 8\n"] * 2


# -- time

Begins = Callable[[Callable[[], object]], None]


@pytest.fixture
def time_begins(monkeypatch: pytest.MonkeyPatch) -> Begins:
    """Let executors' time begin when something holds: how long it takes to come to that does not matter."""

    def when(holds: Callable[[], object]) -> None:
        async def begun(
            limit_s: float, work: Coroutine[Any, Any, AgentResult], **options: Any
        ) -> AgentResult:
            task = asyncio.ensure_future(work)
            await until(lambda: holds() or task.done())

            async def rest() -> AgentResult:
                return await task

            return await within(limit_s, rest(), **options)

        monkeypatch.setattr(playing, "within", begun)

    return when


def test_an_executors_time_is_over(pair: Pair, time_begins: Begins) -> None:
    """It is cancelled in the middle of a call, which is recorded; the orchestrator goes on."""
    time_begins(lambda: "wait" in pair.desk.called)
    hand = [calls(call("wait", seconds=60), text="I wait.")]
    assert pair.solve(LEAD, hand, delegation_timeout_s=0.3).final_answer == "x"
    assert pair.statuses == [("timeout", 1)]
    assert pair.results[0].summary == "[harness] Stopped: it was given 0.3 s. The last that it said: I wait."
    cut = next(m for m in pair.messages if isinstance(m, ToolResultMessage))
    assert (cut.is_error, cut.parent_id) == (True, "executor-1")
    assert "cut off" in str(cut.result)


def test_an_executor_that_will_not_end_loses_its_tools(
    pair: Pair, time_begins: Begins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that swallows the cancellation is left behind, and can touch the page no more."""
    monkeypatch.setattr(delegation, "GRACE_S", 0.05)
    late = pair.desk.base_dir / "late.txt"
    time_begins((pair.desk.base_dir / "begun").exists)
    block = worker(
        pair.desk,
        "hand_stubborn",
        """
        import asyncio
        async def work(context):
            (context.base_dir / "begun").touch()
            for _ in ("when its time is over", "when the loop ends"):
                try:
                    await asyncio.sleep(300)
                except asyncio.CancelledError:
                    pass
            try:
                await context.tools.call("click", {"target": "button Buy"})
            except Exception as error:
                (context.base_dir / "late.txt").write_text(str(error))
            return "clicked"
        """,
    )
    pair.solve(LEAD, executor=block, delegation_timeout_s=0.1)
    assert pair.statuses == [("timeout", 0)]
    assert "is still running" in pair.record().summary
    assert late.read_text() == "it was given 0.1 s"
    assert pair.desk.called == ["done"]
    assert pair.desk.window.text == "button Buy"


def test_an_attempt_that_is_cancelled_keeps_what_was_done(desk: Desk) -> None:
    """The executor ends with it, without a status of its own."""
    code = """
        import asyncio
        async def work(context):
            (context.base_dir / "begun").touch()
            await asyncio.sleep(300)
        """
    block = worker(desk, "hand_sleeper", code)
    config = pair_config(executor=block)
    context = desk.context(config)

    async def course() -> None:
        one = delegation.Delegation(context, config.executor, "executor-1", max_steps=5, timeout_s=60)
        task = asyncio.ensure_future(one.run("Sleep."))
        await until((desk.base_dir / "begun").exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(course())
    record = json.loads((desk.folder / "executors" / "executor-1.json").read_text())
    assert (record["status"], record["summary"]) == (None, "[harness] the attempt ended first")


# -- the record


def test_secrets_stand_in_no_record(make_desk: MakeDesk) -> None:
    """Neither in the log nor in the store, whoever says them."""
    redact: Callable[[str], str] = lambda text: text.replace("sk-secret-1", "[redacted]")  # noqa: E731
    desk = make_desk(limits={"redact": redact})
    block = worker(desk, "hand_teller", "def work(context): raise RuntimeError('key sk-secret-1 refused')")
    with pytest.raises(Fault, match="refused"):
        Pair(desk).solve([delegates("Log in by sk-secret-1."), done("sk-secret-1")], executor=block)
    files = [path for path in desk.folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"messages.jsonl", "executor-1.json"}
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert "sk-secret-1" not in text
        assert "[redacted]" in text
    assert "sk-secret-1" not in desk.warned
