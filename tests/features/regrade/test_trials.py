"""Stored attempts graded again: which can be, what is written when, and what an interruption leaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.config import config_from
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.regrade.trials import RegradedTrials
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import UserMessage
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.session import Session
from pytest_browsereval.run.store import RunStore
from tests.recorded import attempt, read_history
from tests.support import until

PASSED, FAILED, ERRORED = Verdict


class Eval:
    """A folder with a config, its rows, and one run that was made of hand-written attempts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = RunStore(folder / "results" / "shop" / "run-1")

    def add(self, query_id: str = "a", *, with_task: bool = True, **metadata: Any) -> Path:
        """Write a finished attempt; the answer that it gave is 42."""
        task = Task(query_id=query_id, query=f"Do {query_id}.", answer="42")
        trial = TrialKey(query_id, metadata.get("variant", "default"), metadata.get("trial", 1))
        begun = self.store.begin_attempt(trial, "n")
        saver = TrajectorySaver(begun.path)
        if with_task:
            graders = [builtin_registry().get("grader", "answer").model_validate({"type": "answer"})]
            saver.save_task(task, graders, {}, {})
        given = {"row_hash": task.content_hash(), "node_id": f"shop.eval.yaml::{query_id}", **metadata}
        data = attempt(**{"query_id": query_id, "attempt": begun.number, **given})
        saver.save_grades(data.grader_results)
        self.store.save_record(data)
        log = MessageLogger(begun.path)
        log.log(UserMessage(content=task.query))
        log.close()
        begun.finish()
        return begun.path

    def regrading(self, *, limit: int | None = None, **config: Any) -> RegradedTrials:
        rows = [{"query_id": "a", "query": "Do a.", "answer": "42"}]
        (self.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        block = {"agent": "noop", "dataset": "rows.jsonl", "name": "shop", **config}
        loaded = config_from(block, path=self.folder / "shop.eval.yaml", registry=builtin_registry())
        store = RunStore(self.store.root)
        registry = builtin_registry()
        run = ActiveRun(config=loaded, registry=registry, store=store, source=RegradedTrials, limit=limit)
        trials = run.trials
        assert isinstance(trials, RegradedTrials)
        return trials


@pytest.fixture
def shop(tmp_path: Path) -> Eval:
    return Eval(tmp_path)


def again(regrading: RegradedTrials, number: int = 0) -> TaskMetadata:
    """Grade a trial again as an item does."""
    entry = regrading.plan.stored[number]
    regrading.check([entry])
    return asyncio.run(regrading.make(Session(regrading.run), entry, "n")).metadata


def on_disk(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def assert_only_cost_changed(folder: Path, before: dict[str, str]) -> None:
    after = on_disk(folder)
    stored = json.loads(after.pop("metadata.json"))
    assert stored == {**json.loads(before.pop("metadata.json")), "cost_usd": 0.75, "revision": 2}
    assert after == before


def history(shop: Eval, query_id: str = "a") -> list[dict[str, Any]]:
    """Return the earlier lines of an attempt."""
    return read_history(shop.store.root, query_id)[:-1]


def stands_in(**grade: Any) -> Any:
    def answer(grader: GraderConfig, recorded: Recorded) -> GraderResult:
        del recorded
        return GraderResult(grader=grader.label, **{"verdict": PASSED, "score": 1.0, **grade})

    return answer


KINDS: dict[str, tuple[dict[str, Any], str | None]] = {
    "no grade yet": ({"verdict": ERRORED, "error_source": "grader", "grader_results": {}}, None),
    "a rule without its grade": ({"verdict": ERRORED, "error_source": "harness"}, None),
    "no window": (
        {"verdict": ERRORED, "error_source": "browser", "grader_results": {}},
        "before its grades could count",
    ),
    "no task": ({"with_task": False}, "has no task.json"),
}


def test_what_a_refused_key_had_cost_is_kept(shop: Eval) -> None:
    """The attempt's grades stay as they were; what was paid by then is not lost."""
    folder = shop.add(cost_usd=0.5)
    before = on_disk(folder)
    regrading = shop.regrading()
    paid = {"usage": Usage(requests=2), "cost_usd": 0.25, "stops_run": True, "reasoning": "401"}
    regrading.run.behaviour.grade = stands_in(verdict=ERRORED, score=None, **paid)
    metadata = again(regrading)
    assert (metadata.stops_run, metadata.cost_usd) == (True, 0.75)
    assert "not regraded, passed as it was: 401" in metadata.reason
    assert_only_cost_changed(folder, before)


@pytest.mark.parametrize("kind", KINDS)
def test_which_attempts_are_graded_again(shop: Eval, kind: str) -> None:
    """One that was graded, or waits for it; another one is errored with the reason, its files stay."""
    given, why = KINDS[kind]
    folder = shop.add(**given)
    before = on_disk(folder)
    metadata = again(shop.regrading())
    if why is None:
        assert (metadata.verdict, metadata.regraded_at is None) == (PASSED, False)
        assert history(shop)[0]["verdict"] == json.loads(before["metadata.json"])["verdict"]
    else:
        assert metadata.verdict is ERRORED
        assert why in metadata.reason
        assert on_disk(folder) == before


ENDLESS = {"type": "command", "command": ["{python}", "-c", "import time; time.sleep(60)"]}


async def cancelled(regrading: RegradedTrials, when: Callable[[], object]) -> None:
    """Cut a grading off when something holds."""
    work = asyncio.create_task(regrading.make(Session(regrading.run), regrading.plan.stored[0], "n"))
    await until(when)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


def test_what_an_interruption_leaves(shop: Eval) -> None:
    """Nothing is written before all graders have judged; whatever is cut off later, no grade is lost."""
    folder = shop.add(verdict=FAILED)
    before = on_disk(folder)
    regrading = shop.regrading(graders=[ENDLESS])
    asyncio.run(cancelled(regrading, regrading.run.store.in_flight))
    assert on_disk(folder) == before
    assert not regrading.run.store.in_flight()
    assert again(shop.regrading()).verdict is PASSED
    assert [entry["verdict"] for entry in history(shop)] == ["failed"]
    again(shop.regrading())
    verdicts = [(entry["verdict"], entry["revision"]) for entry in history(shop)]
    assert verdicts == [("failed", 1), ("passed", 2)]


def test_what_an_interrupted_grading_had_cost_is_kept(shop: Eval) -> None:
    """One judge has been paid when the next is cut off: the attempt's grades stay, and its cost grows."""
    folder = shop.add(cost_usd=0.5)
    before = on_disk(folder)
    regrading = shop.regrading(graders=["answer", ENDLESS])
    asked = list[str]()

    def answer(grader: GraderConfig, recorded: Recorded) -> GraderResult | None:
        asked.append(grader.label)
        paid = stands_in(usage=Usage(requests=2), cost_usd=0.25)(grader, recorded)
        return paid if grader.label == "answer" else None

    regrading.run.behaviour.grade = answer
    asyncio.run(cancelled(regrading, lambda: len(asked) == 2))
    assert_only_cost_changed(folder, before)


def test_costs_add_up(shop: Eval) -> None:
    """The agent's cost stays, each grading's is added; what is not known makes the sum unknown."""
    shop.add(cost_usd=0.5)
    shop.add("b", cost_usd=None, started_at="2026")
    regrading = shop.regrading()
    regrading.run.behaviour.grade = stands_in(cost_usd=0.25)
    assert again(regrading).cost_usd == 0.75
    regrading = shop.regrading()
    regrading.run.behaviour.grade = stands_in(cost_usd=0.0)
    assert again(regrading).cost_usd == 0.75
    assert again(regrading, 1).cost_usd is None
    assert [regrading.cost_before(f"shop.eval.yaml::{name}") for name in "ab"] == [0.75, 0.0]


def test_no_key_is_needed_where_no_model_is_asked(shop: Eval, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the agent and of a judge that no grader asks may be missing; a needed one is refused early."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    shop.add()
    model = {"provider": "openai", "model": "gpt-5", "api_key": "OPENAI_API_KEY"}
    keys: dict[str, Any] = {"agent": {"type": "single", **model}, "judge": model}
    regrading = shop.regrading(**keys)
    regrading.prepare()
    assert again(regrading).verdict is PASSED
    regrading = shop.regrading(**keys, graders=["browsecomp"])
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        regrading.check(regrading.plan.stored)
