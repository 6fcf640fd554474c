"""What a run came to: attempts folded into trials, the pass rate, errors, money."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from tests.recorded import ERRORED, FAILED, PASSED, attempt, summary


def test_attempts_are_trials() -> None:
    """A trial counts by its highest attempt and costs what all did; variants and trials are their own."""
    tries = {2: PASSED, 10: FAILED, 1: ERRORED}
    run = summary(
        *(attempt("b", one, attempt=number, cost_usd=0.25) for number, one in tries.items()),
        *(attempt("a", variant=name, started_at=f"2025-01-01T00:00:0{name}.000Z") for name in "987"),
        attempt("a", variant="9", trial=2, started_at="2025-01-01T00:00:10.000Z"),
    )
    last = next(trial for trial in run.trials if trial.last.query_id == "b")
    assert (last.verdict, [one.attempt for one in last.attempts]) == (FAILED, [1, 2, 10])
    assert (run.cost_usd, run.as_json()["results"][0]["cost_usd"]) == (0.75, 0.75)
    others = [(one.last.variant, one.last.trial) for one in run.trials if one.last.query_id == "a"]
    assert others == [("7", 1), ("8", 1), ("9", 1), ("9", 2)]  # in the order in which they were started


def test_rates_and_errors() -> None:
    """The pass rate is of passed and failed trials, the error rate of all; nothing has no rate."""
    run = summary(
        attempt("a"),
        attempt("b", FAILED),
        *(attempt(name, ERRORED, error_source=ErrorSource.SITE) for name in "cd"),
        attempt("e", ERRORED, error_source=ErrorSource.PROVIDER),
    )
    assert (run.judged, run.pass_rate, run.error_rate) == (2, 1 / 2, 3 / 5)
    assert run.errors_by_source() == {"site": 2, "provider": 1}
    broken = summary(attempt("a", ERRORED))
    assert (broken.pass_rate, broken.error_rate) == (None, 1.0)
    assert (summary().pass_rate, summary().error_rate) == (None, None)


def test_an_unknown_cost_makes_the_total_unknown() -> None:
    """Costs add up; as soon as one is not known the sum is not, and what is known of it is told."""
    costs: tuple[tuple[tuple[float | None, ...], float | None], ...]
    costs = (((0.25, 0.5), 0.75), ((), 0.0), ((0.25, None), None), ((None,), None), ((0.0,), 0.0))
    for each, total in costs:
        assert summary(*(attempt(str(n), cost_usd=one) for n, one in enumerate(each))).cost_usd == total
    tries = attempt("a", ERRORED, attempt=1, cost_usd=None), attempt("a", attempt=2, cost_usd=0.5)
    figures = summary(*tries, attempt("b", cost_usd=0.25)).figures()
    assert figures["cost_usd"] is None
    assert (figures["known_cost_usd"], figures["attempts_of_unknown_cost"]) == (0.75, 1)


def test_parts_and_claims_have_rates_of_their_own() -> None:
    """By tag and website, with errors beside them; a claim is an answer that no limit has cut short."""
    run = summary(
        attempt("a", tags=("smoke", "cart"), website="shop", final_answer="done"),
        attempt("b", FAILED, tags=("smoke",), website="shop", final_answer="done"),
        attempt("c", FAILED, tags=("smoke",), final_answer="done", limit="max_steps: 3"),
        attempt("d", FAILED, final_answer=None),
        attempt("e", ERRORED, tags=("cart",), final_answer="done"),
    )
    figures = run.figures()
    assert figures["false_claims"] == {"count": 1, "of": 2}
    counts = {
        key: {name: (one["passed"], one["failed"], one["errored"]) for name, one in figures[key].items()}
        for key in ("by_tag", "by_website")
    }
    assert counts == {"by_tag": {"cart": (1, 0, 1), "smoke": (1, 2, 0)}, "by_website": {"shop": (1, 1, 0)}}
    assert figures["by_tag"]["smoke"]["pass_rate"] == 1 / 3
    assert figures["by_tag"]["smoke"]["interval"]


def test_the_summary_of_a_folder_is_plain_json(tmp_path: Path) -> None:
    """The summary is read from the run folder alone, and what is written of it has all the figures."""
    store = RunStore(tmp_path)
    for number, verdict in enumerate((ERRORED, PASSED), 1):
        store.begin_attempt(TrialKey("a"), "node")
        store.save_record(attempt("a", verdict, attempt=number))
    content = json.loads(json.dumps(StoredRun(store.root).summary.as_json()))
    assert {
        key: content[key] for key in ("trials", "passed", "failed", "errored", "judged", "pass_rate")
    } == {"trials": 1, "passed": 1, "failed": 0, "errored": 0, "judged": 1, "pass_rate": 1.0}
    assert content["errors_by_source"] == {}
    assert content["results"] == [
        {
            "query_id": "a",
            "variant": "default",
            "trial": 1,
            "attempts": 2,
            "verdict": "passed",
            "error_source": None,
            "reason": "a passed",
            "steps": 3,
            "warnings": 0,
            "duration_ms": 2000.0,
            "cost_usd": 0.0,
            "termination_reason": "completed",
            "grades": {"answer": {"verdict": "passed", "score": 1.0}},
        }
    ]
