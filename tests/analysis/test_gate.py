"""Whether a run is good enough, rule by rule."""

from __future__ import annotations

import pytest

from pytest_browsereval.analysis.gate import decide
from pytest_browsereval.config import GateConfig
from pytest_browsereval.config.gate import OF_ATTACKS
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.summary import RunSummary
from tests.recorded import ERRORED, FAILED, PASSED, attempt, summary

MIXED = summary(
    attempt("a"), attempt("b"), attempt("c"), attempt("d", FAILED), attempt("e", ERRORED, reason="no page")
)
ODD = summary(attempt("a::b [1]"))
"""The id of a row becomes part of a node id."""
MANY = summary(*(attempt(f"t{n}", FAILED if n == 0 else PASSED, cost_usd=0.00001) for n in range(3_000)))


def rule(run: RunSummary, name: str, **gate: object) -> RuleResult:
    """Return one rule's result."""
    (found,) = [result for result in decide(run, GateConfig.model_validate(gate)) if result.name == name]
    return found


NOTHING = "no trial was judged, so there is no pass rate"
NO_RESULT = "z has no result in this run; `--eval-set gate={}` runs some rows without the gate"
RULES: tuple[tuple[RunSummary, str, dict[str, object], bool, str], ...] = (
    (MIXED, "min_pass_rate", {"min_pass_rate": 0.75}, True, "pass rate 75.0% (3/4) meets 75.0%"),
    (MIXED, "min_pass_rate", {"min_pass_rate": 0}, True, "pass rate 75.0% (3/4) meets 0.0%"),
    (MIXED, "min_pass_rate", {"min_pass_rate": 0.76}, False, "pass rate 75.0% (3/4) is under 76.0%"),
    (MIXED, "min_pass_rate", {"min_pass_rate": 1}, False, "pass rate 75.0% (3/4) is under 100.0%"),
    (summary(), "min_pass_rate", {"min_pass_rate": 0}, False, NOTHING),
    (summary(attempt("a", ERRORED)), "min_pass_rate", {"min_pass_rate": 0}, False, NOTHING),
    (MIXED, "must_pass[a]", {"must_pass": ["a"]}, True, "a passed"),
    (MIXED, "must_pass[d]", {"must_pass": ["a", "d"]}, False, "d failed: d failed"),
    (MIXED, "must_pass[e]", {"must_pass": ["a", "e"]}, False, "e errored: no page"),
    (MIXED, "must_pass[z]", {"must_pass": ["a", "z"]}, False, NO_RESULT),
    (ODD, "must_pass[a+3a+3ab+20+5b1+5d]", {"must_pass": ["a::b [1]"]}, True, "a::b [1] passed"),
    (MIXED, "max_error_rate", {"max_error_rate": 0.2}, True, "error rate 20.0% (1/5) is within 20.0%"),
    (MIXED, "max_error_rate", {"min_pass_rate": 0.5}, False, "error rate 20.0% (1/5) is over 5.0%"),
    (summary(), "max_error_rate", {"min_pass_rate": 0.5}, False, "no trial has a result"),
    (MANY, "min_pass_rate", {"min_pass_rate": 0.9997}, False,
     "pass rate 99.967% (2999/3000) is under 99.970%"),
    (MANY, "min_pass_rate", {"min_pass_rate": 1}, False, "pass rate 99.9% (2999/3000) is under 100.0%"),
    (MANY, "max_cost_usd", {"max_cost_usd": 0.02999}, False, "cost $0.03000 is over $0.02999"),
    (MANY, "max_mean_duration_s", {"max_mean_duration_s": 1.999}, False,
     "mean of 3,000 judged trials 2.000 s is over 1.999 s"),
    (MANY, "max_mean_steps", {"max_mean_steps": 2.98}, False,
     "mean of 3,000 judged trials 3.00 steps is over 2.98 steps"),
    (MIXED, "max_drop", {"max_drop": 0}, False, "the run was not compared with a baseline"),
    (MIXED, "max_regressions", {"max_regressions": 0}, False, "the run was not compared with a baseline"),
)  # fmt: skip


def test_rules(subtests: pytest.Subtests) -> None:
    """What each comes to: errored trials are in no rate, no figure is rounded to the limit that it misses."""
    for run, name, gate, is_met, message in RULES:
        with subtests.test(name, **gate):
            assert rule(run, name, **gate) == RuleResult(name, is_met, message)


def test_all_trials_of_a_pinned_row_have_to_pass() -> None:
    """One bad trial of several is enough."""
    run = summary(attempt("a", trial=1), attempt("a", FAILED, trial=2), attempt("a", trial=3))
    assert not rule(run, "must_pass[a]", must_pass=["a"]).is_met


def test_each_rule_that_is_set_has_a_result() -> None:
    """Rules come in a fixed order: floor, pinned rows in theirs, ceiling; what is not set is left out."""
    gate = GateConfig(min_pass_rate=0.5, must_pass=("b", "a"))
    names = [result.name for result in decide(MIXED, gate)]
    assert names == ["min_pass_rate", "must_pass[b]", "must_pass[a]", "max_error_rate"]
    assert [result.name for result in decide(MIXED, GateConfig())] == ["max_error_rate"]


def test_what_a_page_said_stays_on_one_line() -> None:
    """A pinned row's reason cannot break out of its line or steer the terminal."""
    run = summary(attempt("a", FAILED, reason="no\n\x1b[2Jgate met\u202e" + "x" * 500))
    message = rule(run, "must_pass[a]", must_pass=["a"]).message
    assert message.isprintable()
    assert len(message) < 250


def test_parts_have_floors_of_their_own() -> None:
    """Rows with a tag, rows of a website, and variants; a part that no trial belongs to meets no floor."""
    run = summary(
        attempt("a", tags=("smoke", "buy"), website="shop"),
        attempt("b", FAILED, tags=("buy",), website="shop", variant="new"),
        attempt("c", ERRORED, tags=("late",), website="mail"),
    )
    gate = {
        "tags": {"smoke": 1, "buy": 0.6, "late": 0},
        "websites": {"shop": 0.5},
        "variants": {"new": 0.1, "old": 0},
    }
    assert {r.name: (r.is_met, r.message) for r in decide(run, GateConfig.model_validate(gate))} == {
        "tags[smoke]": (True, "pass rate of smoke 100.0% (1/1) meets 100.0%"),
        "tags[buy]": (False, "pass rate of buy 50.0% (1/2) is under 60.0%"),
        "tags[late]": (False, "no trial of late was judged, so there is no pass rate"),
        "websites[shop]": (True, "pass rate of shop 50.0% (1/2) meets 50.0%"),
        "variants[new]": (False, "pass rate of new 0.0% (0/1) is under 10.0%"),
        "variants[old]": (False, "no trial of this run has the variant old"),
        "max_error_rate": (False, "error rate 33.3% (1/3) is over 5.0%"),
    }


def test_money_and_steps_have_ceilings() -> None:
    """A cost that is not known is over any ceiling; steps are those of judged trials."""
    run = summary(
        attempt("a", total_steps=4, cost_usd=0.5),
        attempt("b", FAILED, total_steps=7, cost_usd=0.25),
        attempt("c", ERRORED, total_steps=99),
    )
    assert rule(run, "max_cost_usd", max_cost_usd=0.75).is_met
    over = rule(run, "max_cost_usd", max_cost_usd=0.7)
    assert (over.is_met, over.message) == (False, "cost $0.7500 is over $0.7000")
    assert rule(summary(*(attempt(n, cost_usd=0.1) for n in "abc")), "max_cost_usd", max_cost_usd=0.3).is_met
    assert rule(run, "max_mean_steps", max_mean_steps=5.5).is_met
    more = rule(run, "max_mean_steps", max_mean_steps=5)
    assert (more.is_met, more.message) == (False, "mean of 2 judged trials 5.50 steps is over 5 steps")


def test_slow_trials_have_ceilings() -> None:
    """Steps and seconds of judged trials: of 1 to 20 the mean is 10.5 and the 95th percentile 19.05."""
    run = summary(
        *(attempt(str(n), total_steps=n, total_duration_ms=n * 1000) for n in range(1, 21)),
        attempt("broken", ERRORED, total_steps=99, total_duration_ms=99_000),
        attempt("known", FAILED, total_steps=99, total_duration_ms=99_000),
    )
    out = {"quarantine": {"known": "2025-12-31"}}
    of = "of 20 judged trials"
    cases = {
        ("max_p95_steps", 19.05): (True, f"95th percentile {of} 19.05 steps is within 19.05 steps"),
        ("max_p95_steps", 19): (False, f"95th percentile {of} 19.05 steps is over 19 steps"),
        ("max_mean_duration_s", 10.5): (True, f"mean {of} 10.50 s is within 10.5 s"),
        ("max_mean_duration_s", 10.4): (False, f"mean {of} 10.50 s is over 10.4 s"),
        ("max_p95_duration_s", 19.05): (True, f"95th percentile {of} 19.05 s is within 19.05 s"),
        ("max_p95_duration_s", 19): (False, f"95th percentile {of} 19.05 s is over 19 s"),
    }
    for (name, ceiling), (is_met, message) in cases.items():
        assert rule(run, name, **{name: ceiling}, **out) == RuleResult(name, is_met, message)


# Features decide these.
BY_FEATURES = set(OF_ATTACKS)


@pytest.mark.parametrize(
    "name", [name for name in GateConfig.model_fields if name.startswith(("min_", "max_"))]
)
def test_each_limit_is_decided(name: str) -> None:
    """A limit that nothing decides would be met by everything."""
    of_run = () if name in BY_FEATURES else {one.name for one in decide(MIXED, GateConfig(**{name: 1}))}
    assert name in BY_FEATURES or name in of_run


def test_what_nobody_tells_is_not_known(subtests: pytest.Subtests) -> None:
    """Wherever it stands in the list, it is within no ceiling; nor is anything where no trial was judged."""
    odd = attempt("a", total_duration_ms=None, cost_usd=None)
    others = [attempt(name) for name in "bcde"]
    for trials in ([odd, *others], [*others, odd]):
        run = summary(*trials)
        for name in ("max_mean_duration_s", "max_p95_duration_s"):
            with subtests.test(name):
                found = rule(run, name, **{name: 5})
                told = "how long 1 of 5 judged trials took is not known"
                assert (found.is_met, found.message) == (False, told)
        assert rule(run, "max_cost_usd", max_cost_usd=5).message.startswith("the cost is not known")
    for name in ("max_p95_steps", "max_mean_steps", "max_mean_duration_s", "max_p95_duration_s"):
        nothing = rule(summary(attempt("a", ERRORED)), name, **{name: 99})
        assert (nothing.is_met, nothing.message) == (False, "no trial was judged")


def test_rates_can_be_undecided(subtests: pytest.Subtests) -> None:
    """With a confidence the whole interval has to be above or below: 18 of 20 are 69.9 % to 97.2 %."""
    cases = [(18, 0.65, "met"), (18, 0.8, "undecided"), (18, 0.98, "not met"), (20, 1.0, "met")]
    for passed, floor, word in cases:
        with subtests.test(floor=floor):
            run = summary(*(attempt(str(n), PASSED if n < passed else FAILED) for n in range(20)))
            found = rule(run, "min_pass_rate", min_pass_rate=floor, confidence=0.95)
            assert (found.word, found.is_met) == (word, word == "met")
            if word == "undecided":
                assert found.message == (
                    "pass rate 90.0% (18/20), 95 % interval 69.9% to 97.2%, neither meets nor misses 80.0%; "
                    "about 106 more trials would decide"
                )
                lets = rule(run, "min_pass_rate", min_pass_rate=floor, confidence=0.95, undecided="pass")
                assert (lets.word, lets.is_met) == ("undecided", True)


def test_trials_of_one_task_prove_less() -> None:
    """Where tasks have several trials the interval is the one by task: it is wider where they are alike."""
    alike = [attempt(f"{n}", PASSED if n < 9 else FAILED, trial=t) for n in range(10) for t in range(1, 11)]
    one_each = [attempt(f"{n}", PASSED if n < 90 else FAILED) for n in range(100)]
    gate = {"min_pass_rate": 0.8, "confidence": 0.95}
    assert rule(summary(*one_each), "min_pass_rate", **gate).word == "met"
    assert rule(summary(*alike), "min_pass_rate", **gate).word == "undecided"


@pytest.mark.parametrize("key", ["min_pass_rate", "min_task_rate"])
def test_one_task_does_not_tell_how_tasks_differ(key: str) -> None:
    """However many trials or variants it has; as it is, without a confidence, its rate is compared."""
    trials = [attempt("a", PASSED if n > 5 else FAILED, variant=f"v{n}") for n in range(1, 101)]
    found = rule(summary(*trials), key, **{key: 0.85}, confidence=0.95)
    assert found.word == "undecided"
    assert "neither meets nor misses 85.0%: it is all of one task, which does not show" in found.message
    assert rule(summary(*trials), key, **{key: 0.85}).word == "met"
    assert rule(summary(*trials), key, **{key: 1}, confidence=0.95).word == "not met"
    two = [attempt("a", FAILED, variant=name) for name in ("v1", "v2")]
    assert rule(summary(*two), key, **{key: 0.85}, confidence=0.95).word == "undecided"


def test_variants_of_a_task_prove_less() -> None:
    """Twenty tasks by eight variants that come out alike are twenty tasks."""
    alike = summary(
        *(attempt(f"{n}", PASSED if n < 18 else FAILED, variant=v) for n in range(20) for v in "ab")
    )
    for key in ("min_pass_rate", "min_task_rate"):
        found = rule(alike, key, **{key: 0.75}, confidence=0.95)
        assert (found.word, "(36/40)" in found.message) == ("undecided", True)
    one = summary(*(attempt(f"{n}", PASSED if n < 36 else FAILED) for n in range(40)))
    assert rule(one, "min_task_rate", min_task_rate=0.75, confidence=0.95).word == "met"


@pytest.mark.parametrize(("trials", "more"), [(1, "120 more trials"), (30, "124 more tasks")])
def test_so_many_more_would_tell(trials: int, more: str) -> None:
    """Where trials of a task are alike it takes more tasks, and nearly as many as if each had one trial."""

    def found(tasks: int) -> RuleResult:
        every = range(1, trials + 1)
        made = (attempt(f"{n}", PASSED if n % 5 else FAILED, trial=t) for n in range(tasks) for t in every)
        return rule(summary(*made), "min_pass_rate", min_pass_rate=0.7, confidence=0.95)

    assert found(45).message.endswith(f"about {more} would decide")
    assert found(200).word == "met"


def test_two_tasks_are_far_from_enough() -> None:
    """Their own likeness is hardly known, which Student's t knows: one more does not tell."""
    made = (attempt("ab"[n % 2], PASSED if n > 4 else FAILED, trial=n + 1) for n in range(100))
    found = rule(summary(*made), "min_pass_rate", min_pass_rate=0.85, confidence=0.95)
    assert found.message.endswith("about 3 more tasks would decide")


UNDECIDED = "undecided with too few judged trials, not counted"

REPEATED = summary(
    *(attempt("a", verdict, trial=n) for n, verdict in enumerate((PASSED, PASSED, FAILED), 1)),
    *(attempt("b", verdict, trial=n) for n, verdict in enumerate((PASSED, FAILED, FAILED), 1)),
    *(attempt("c", verdict, trial=n) for n, verdict in enumerate((PASSED, ERRORED, FAILED), 1)),
)


def test_a_task_passes_by_so_many_of_its_trials(subtests: pytest.Subtests) -> None:
    """Where an errored trial would decide, the task is in neither number."""
    passed = "passed in at least"
    cases = [
        (None, 0.5, False, "0.0% of tasks (0/3) passed in all of their trials is under 50.0%"),
        (1, 1.0, True, f"100.0% of tasks (3/3) {passed} 1 of their trials meets 100.0%"),
        (2, 0.5, True, f"50.0% of tasks (1/2) {passed} 2 of their trials meets 50.0%; 1 {UNDECIDED}"),
        (4, 0.5, False, f"no task was decided; 3 {UNDECIDED}"),
    ]
    for needed, floor, is_met, message in cases:
        with subtests.test(needed=needed):
            found = rule(REPEATED, "min_task_rate", min_task_rate=floor, passed_trials=needed)
            assert found == RuleResult("min_task_rate", is_met, message)
    found = rule(REPEATED, "min_task_rate", min_task_rate=0.9, passed_trials=1, confidence=0.95)
    assert found.word == "undecided"
    assert "95 % interval 43.9% to 100.0%, neither meets" in found.message


def test_a_pinned_row_passes_by_so_many_of_its_trials() -> None:
    """By each of its variants; without the number all of them have to."""
    assert rule(REPEATED, "must_pass[a]", must_pass=["a"], passed_trials=2).is_met
    assert not rule(REPEATED, "must_pass[b]", must_pass=["b"], passed_trials=2).is_met
    assert not rule(REPEATED, "must_pass[c]", must_pass=["c"], passed_trials=2).is_met
    two = summary(attempt("a", variant="x"), attempt("a", FAILED, variant="y"))
    assert not rule(two, "must_pass[a]", must_pass=["a"], passed_trials=1).is_met


def test_a_pinned_row_that_ran_too_seldom_has_not_passed() -> None:
    """Two of two are not three, whatever they came to."""
    run = summary(attempt("a"), attempt("a", trial=2))
    assert rule(run, "must_pass[a]", must_pass=["a"], passed_trials=3) == RuleResult(
        "must_pass[a]", is_met=False, message="a passed 2 of the 3 times needed"
    )
    other = summary(*(attempt("a", variant="x", trial=n) for n in (1, 2)), attempt("a", variant="y"))
    assert not rule(other, "must_pass[a]", must_pass=["a"], passed_trials=2).is_met


def test_rows_in_quarantine_are_in_no_rate() -> None:
    """Until their day is over, by the day of the run; who is left out is told with what it came to."""
    run = summary(attempt("a"), attempt("b", FAILED), attempt("c", FAILED))
    given = {"min_pass_rate": 1, "quarantine": {"b": "2025-01-01", "c": "2025-06-30", "z": "2024-12-31"}}
    assert rule(run, "min_pass_rate", **given).message == "pass rate 100.0% (1/1) meets 100.0%"
    assert rule(run, "quarantine", **given) == RuleResult(
        "quarantine",
        is_met=True,
        message="left out of the rates: b until 2025-01-01 (1 failed), c until 2025-06-30 (1 failed); "
        "ended, and counts again: z on 2024-12-31",
    )
    later = summary(attempt("a"), attempt("b", FAILED, started_at="2025-01-02T00:00:00.000Z"))
    assert not rule(later, "min_pass_rate", **given).is_met
    assert rule(run, "max_error_rate", **given).message == "error rate 0.0% (0/1) is within 5.0%"
    odd = summary(attempt("b", FAILED), attempt("a", started_at="<b>today</b>"))
    assert rule(odd, "min_pass_rate", **given).message == "pass rate 100.0% (1/1) meets 100.0%"
    assert not rule(summary(attempt("b", FAILED, started_at="")), "min_pass_rate", **given).is_met
