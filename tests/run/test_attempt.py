"""One attempt, whatever breaks in it: always a record, always a verdict, no failure where a fault was."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.browsers.base import Browser, Window, WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ErrorSource, Fault, StopRun, TerminationReason
from pytest_browsereval.features.replay.cassettes import FileCassettes, ModelCalls
from pytest_browsereval.features.replay.restoring import RestoringRedactor
from pytest_browsereval.graders.answer import AnswerGrader
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import AssistantMessage, ErrorMessage, Message
from pytest_browsereval.model.results import AgentResult, TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.attempt import attempt, record_fault
from pytest_browsereval.run.behaviour import Behaviour
from pytest_browsereval.run.new_trials import NewTrials, is_retried
from pytest_browsereval.run.plan import Trial
from pytest_browsereval.run.session import Session
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run.toolsets import Toolsets
from pytest_browsereval.runs.folder import read_messages
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.sites import Sites
from pytest_browsereval.tools.toolkits import CATALOG
from tests.support import Run

PASSED, FAILED, ERRORED = Verdict
Play = Callable[[AgentContext], Any]


class Doorman(Browser):
    """A real browser that does not always open."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self.refusals: list[Exception] = []
        """What the next windows raise."""
        self.asked = 0

    @property
    def description(self) -> str:
        return self._browser.description

    @property
    def is_alive(self) -> bool:
        return self._browser.is_alive

    async def start(self) -> None:
        """It is started already."""

    async def open_window(self, request: WindowRequest) -> Window:
        self.asked += 1
        if self.refusals:
            raise self.refusals.pop(0)
        return await self._browser.open_window(request)

    async def close(self) -> None:
        """Others use it."""


class Played(AgentConfig):
    """An agent that does what a test says."""

    type: Literal["played"] = "played"

    def build(self, context: AgentContext) -> AgentEvaluator:
        raise NotImplementedError


class Player(AgentEvaluator):
    def __init__(self, context: AgentContext, play: Play) -> None:
        self.context = context
        self.play = play

    async def execute(self) -> AgentResult:
        result = self.play(self.context)
        if asyncio.iscoroutine(result):
            result = await result
        return result if isinstance(result, AgentResult) else AgentResult(result)


class Broken(GraderConfig):
    """A grader that fails."""

    type: Literal["broken"] = "broken"
    at: Literal["observe", "grade", "exit", "interrupt", "nothing"] = "grade"

    async def observe(self, *_: Any) -> Any:
        if self.at == "observe":
            raise RuntimeError("no page")
        return {"seen": True}

    async def grade(self, _: Recorded) -> GraderResult:
        if self.at == "exit":
            sys.exit("enough")
        if self.at == "interrupt":
            raise KeyboardInterrupt("mine")
        if self.at == "nothing":
            return None  # type: ignore[return-value]
        raise KeyError("no such rule")


class Bench:
    """Makes attempts in a folder."""

    def __init__(self, folder: Path, on_loop: Run, browser: Browser) -> None:
        self.folder = folder
        self.on_loop = on_loop
        self.browser = Doorman(browser)
        self.behaviour = Behaviour()
        self.graders: tuple[GraderConfig, ...] = (AnswerGrader(),)
        self.keys: dict[str, Any] = {}
        self.secret = "no secret"
        self.model_calls = ModelCalls.LIVE
        self.store = RunStore(folder / "run")

    def session(self, *, retries: int = 0) -> Session:
        path = self.folder / "shop.json"
        (self.folder / "rows.jsonl").touch()
        path.write_text(
            json.dumps({"agent": "noop", "dataset": "rows.jsonl", "retries": retries, **self.keys})
        )
        registry = builtin_registry()
        config = load_config(path, registry=registry)
        cassettes = FileCassettes(config, self.model_calls, RestoringRedactor({}, str))
        run = ActiveRun(
            config=config,
            registry=registry,
            store=self.store,
            source=NewTrials,
            began=0.0,
            behaviour=self.behaviour,
        )
        run.redact = lambda text: text.replace(self.secret, "[redacted]")  # type: ignore[method-assign]
        run.toolsets = Toolsets.of(config, CATALOG.values(), ())
        session = Session(run)
        session.sites = Sites({}, self.folder, self.folder / "sites")
        session.windows = WindowManager(self.browser)
        session.cassettes = cassettes
        return session

    def trial(self) -> Trial:
        task = Task(query_id="a", query="Say it.", dataset="unit", answer="right")
        return Trial(TrialKey("a"), task, self.graders, Played())

    def run(self, play: Play | str | None = "right", *, retries: int | None = None) -> TaskMetadata:
        """Make an attempt, or a trial, with an agent that does this or answers that."""
        does = play if callable(play) else lambda _: play
        self.behaviour.create_agent = lambda context: Player(context, does)
        session, trial = self.session(retries=retries or 0), self.trial()
        if retries is None:
            record = self.on_loop(attempt(trial, session, "f::a"))
        else:
            record, tries = self.on_loop(attempt(trial, session, "f::a")), 1
            while self.on_loop(is_retried(record, session.run, trial, tries)):
                record, tries = self.on_loop(attempt(trial, session, "f::a")), tries + 1
        metadata = record.metadata
        written = TaskMetadata.model_validate_json((record.folder / "metadata.json").read_bytes())
        assert written == metadata, "what is on disk differs from what was returned"
        assert self.store.in_flight() == []
        assert session.windows.windows == {}
        return metadata

    def last_message(self) -> Message:
        """Return the last line of the last attempt's log."""
        folder = max((self.store.root / "tasks").glob("*/*/*/attempt-*"))
        return list(read_messages(folder))[-1]

    def text(self) -> str:
        """Return all that was written of the run."""
        return "".join(file.read_text() for file in self.store.root.rglob("*.json*") if file.is_file())


@pytest.fixture
def bench(tmp_path: Path, run: Run, browser: PlaywrightBrowser) -> Bench:
    return Bench(tmp_path, run, browser)


def test_a_right_and_a_wrong_answer(bench: Bench) -> None:
    """Grades make the verdict; both attempts are recorded with what they were."""
    right, wrong = bench.run("right"), bench.run("wrong")
    assert (right.verdict, right.error_source, right.attempt) == (PASSED, None, 1)
    assert (wrong.verdict, wrong.error_source, wrong.attempt) == (FAILED, None, 2)
    assert (right.query_id, right.dataset, right.node_id, right.final_url) == (
        "a",
        "unit",
        "f::a",
        "about:blank",
    )
    assert (right.termination_reason, right.final_answer, right.cost_usd) == ("completed", "right", 0)
    assert list(right.grader_results) == ["answer"]


def _dead(_: AgentContext) -> str:
    raise RuntimeError("gone")


FAULTS: dict[str, tuple[Exception, ErrorSource, str]] = {
    "fault": (Fault(ErrorSource.PROVIDER, "503"), ErrorSource.PROVIDER, "503"),
    "stop": (StopRun(ErrorSource.PROVIDER, "401"), ErrorSource.PROVIDER, "401"),
    "bug": (KeyError("x"), ErrorSource.AGENT, "the agent raised KeyError: 'x' ("),
    "its own time-out": (TimeoutError("slow"), ErrorSource.AGENT, "the agent raised TimeoutError: slow ("),
}


@pytest.mark.parametrize("case", FAULTS)
def test_an_agent_that_raises_is_errored(bench: Bench, case: str) -> None:
    """Whatever an agent raises, the attempt is errored with its source, and no grader is asked."""
    error, source, reason = FAULTS[case]

    def raises(_: AgentContext) -> str:
        raise error

    metadata = bench.run(raises)
    assert (metadata.verdict, metadata.error_source) == (ERRORED, source)
    assert metadata.reason.startswith(reason)
    assert metadata.termination_reason is TerminationReason.ERROR
    assert [(e.source, e.message) for e in metadata.errors] == [(source, metadata.reason)]
    assert metadata.grader_results == {}
    assert metadata.stops_run is (case == "stop")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(ErrorSource.WINDOW_CREATION, "no window"),
        Fault(ErrorSource.NAVIGATION, "no page"),
        OSError("bug"),
    ],
    ids=["window", "page", "bug"],
)
def test_a_window_that_does_not_open_errs(bench: Bench, fault: Exception) -> None:
    """Without a window no agent is built, and the record says why."""
    bench.browser.refusals = [fault]
    metadata = bench.run(_dead)
    source = fault.source if isinstance(fault, Fault) else ErrorSource.WINDOW_CREATION
    assert (metadata.verdict, metadata.error_source, metadata.total_steps) == (ERRORED, source, 0)


def test_a_browser_that_dies_is_blamed(bench: Bench) -> None:
    """If the browser is gone, it is at fault, whatever the agent raised or answered because of it."""

    def dies(window: Window, _: Task) -> None:
        assert isinstance(window, PlaywrightWindow)
        window.mark_dead("the browser has died")

    bench.behaviour.window_opened = dies
    for play in (_dead, "right"):
        metadata = bench.run(play)
        assert (metadata.verdict, metadata.error_source) == (ERRORED, ErrorSource.BROWSER)
        assert metadata.reason == "the browser has died"


@pytest.mark.parametrize("calls", [True, False], ids=["a call", "no call"])
def test_a_browser_whose_death_is_told_late_is_blamed(bench: Bench, *, calls: bool) -> None:
    """Its pages are told of first: an agent that answers then is not graded."""

    async def answers(context: AgentContext) -> str:
        window = context.window
        assert isinstance(window, PlaywrightWindow)
        window.context.remove_listener("close", window._on_closed)
        await window.context.close()
        assert (window.url, window.dead) == ("", None)
        if calls:
            await context.tools.call("read_text")
        return "right"

    metadata = bench.run(answers)
    assert (metadata.verdict, metadata.error_source) == (ERRORED, ErrorSource.BROWSER)
    assert metadata.reason == "The browser or its driver ended unexpectedly."
    assert metadata.final_answer == (None if calls else "right")


def test_too_many_steps_are_judged_all_the_same(bench: Bench) -> None:
    """A limit is a result: what was reached until then is graded, and errors and log say which limit."""
    bench.keys = {"limits": {"max_steps": 2}}

    async def walks(context: AgentContext) -> str:
        for _ in range(9):
            await context.tools.call("list_tabs", {})
        return "right"

    metadata = bench.run(walks)
    assert (metadata.termination_reason, metadata.verdict) == (TerminationReason.MAX_STEPS, FAILED)
    assert metadata.total_steps == 2
    stopped = "stopped: limits.max_steps is 2; all were used"
    assert [(error.source, error.message) for error in metadata.errors] == [(ErrorSource.AGENT, stopped)]
    assert bench.last_message() == ErrorMessage(
        content=stopped, error_code="agent", timestamp=metadata.errors[0].timestamp
    )
    assert metadata.reason.startswith("stopped (limits.max_steps is 2; all were used): answer: ")


def test_time_is_a_limit(bench: Bench) -> None:
    """An agent that is over its time is stopped and judged by what it had done; ``done`` counts."""
    bench.keys = {"limits": {"timeout_ms": 1000}}

    async def lingers(context: AgentContext) -> str:
        await context.tools.call("done", {"answer": "right"})
        await asyncio.sleep(60)
        return "wrong"

    metadata = bench.run(lingers)
    assert (metadata.termination_reason, metadata.verdict) == (TerminationReason.TIMEOUT, PASSED)
    assert [error.message for error in metadata.errors] == ["stopped: limits.timeout_ms is 1000"]
    assert metadata.limit == "limits.timeout_ms is 1000"
    assert metadata.reason == "1 of 1 graders passed: answer"


@pytest.mark.parametrize(
    ("at", "why"),
    [
        ("observe", "the final page could not be read: RuntimeError: no page ("),
        ("grade", "KeyError: 'no such rule' ("),
        ("exit", "SystemExit: enough ("),
        ("interrupt", "KeyboardInterrupt: mine ("),
        ("nothing", "it returned None, which is not a GraderResult"),
    ],
)
def test_a_grader_that_breaks_is_errored_never_0(bench: Bench, at: Any, why: str) -> None:
    """A grader that fails has no score; the other grade is there, and the attempt is errored (grader)."""
    bench.graders = (Broken(at=at), AnswerGrader())
    metadata = bench.run("right")
    grade = metadata.grader_results["broken"]
    assert (grade.verdict, grade.score) == (ERRORED, None)
    assert grade.reasoning.startswith(why)
    assert metadata.grader_results["answer"].score == 1
    assert (metadata.verdict, metadata.error_source) == (ERRORED, ErrorSource.GRADER)


def test_evidence_is_kept(bench: Bench) -> None:
    """What a grader saw of the live page is on disk beside the grades."""
    bench.graders = (Broken(),)
    bench.run()
    folder = bench.store.root / "tasks/a/default/1/attempt-1"
    assert json.loads((folder / "evidence.json").read_text()) == {"broken": {"seen": True}}
    assert json.loads((folder / "grades.json").read_text())["broken"]["score"] is None


def test_messages_of_a_result_are_logged(bench: Bench) -> None:
    """What an agent hands over with its result is in the log with what was captured."""
    result = AgentResult("right", messages=(AssistantMessage(content="I think so."),))
    bench.run(lambda _: result)
    lines = (bench.store.root / "tasks/a/default/1/attempt-1/messages.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["user", "assistant"]


def test_errored_attempts_are_retried_and_no_others(bench: Bench) -> None:
    """A trial goes on while attempts err and retries are left; a passed or failed one ends it."""
    fault = Fault(ErrorSource.WINDOW_CREATION, "no window")
    bench.browser.refusals = [fault, fault]
    assert (bench.run("right", retries=3).attempt, bench.browser.asked) == (3, 3)
    bench.browser.refusals = [fault] * 9
    assert bench.run("right", retries=1).verdict is ERRORED
    assert len(StoredRun(bench.store.root).attempts) == 5
    bench.browser.refusals = []
    assert bench.run("wrong", retries=3).attempt == 6


def test_a_fault_that_stops_the_run_is_not_retried(bench: Bench) -> None:
    """Where no further attempt can succeed, none is made."""

    def refused(_: AgentContext) -> str:
        raise StopRun(ErrorSource.PROVIDER, "401")

    metadata = bench.run(refused, retries=3)
    assert (metadata.attempt, metadata.stops_run) == (1, True)


def test_a_cancelled_attempt_leaves_no_record(bench: Bench) -> None:
    """An attempt that is given up is not in flight any more, and without metadata it does not count."""

    async def cancel() -> None:
        started = asyncio.Event()

        async def lingers(_: AgentContext) -> str:
            started.set()
            await asyncio.sleep(60)
            return "late"

        bench.behaviour.create_agent = lambda context: Player(context, lingers)
        task = asyncio.ensure_future(attempt(bench.trial(), bench.session(), "f::a"))
        await asyncio.wait_for(started.wait(), 30)
        assert [one.node_id for one in bench.store.in_flight()] == ["f::a"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    bench.on_loop(cancel())
    assert bench.store.in_flight() == []
    assert StoredRun(bench.store.root).attempts == ()


def test_a_fault_can_be_recorded_from_outside(bench: Bench) -> None:
    """For an attempt whose process has died a record is made by another one, under the next number."""
    bench.store.begin_attempt(TrialKey("a"), "f::a")
    fault = Fault(ErrorSource.HARNESS, "the worker died")
    metadata = record_fault(bench.trial(), bench.session().run, "f::a", fault).metadata
    assert (metadata.verdict, metadata.attempt, metadata.reason) == (ERRORED, 2, "the worker died")
    assert [one.attempt for one in StoredRun(bench.store.root).attempts] == [2]
