"""The pass rate: what is counted, what is left out, and how sure it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.passrate import pass_rate
from pytest_browsereval.stats.statistics import Share, pool_groups, wilson
from tests import recorded
from tests.recorded import ERRORED, FAILED, PASSED


def attempt(query_id: str, verdict: Verdict = PASSED, **more: Any) -> StoredAttempt:
    """Return an attempt of a run."""
    return recorded.stored(recorded.attempt(query_id, verdict, **more))


def test_what_is_left_out_is_counted() -> None:
    """Errored trials by what broke, and trials that were not run, are in neither number."""
    trials = [
        *(attempt(name) for name in "abc"),
        attempt("d", FAILED),
        *(attempt(name, ERRORED) for name in "ef"),
        attempt("g", ERRORED, error_source=ErrorSource.PROVIDER),
    ]
    found = pass_rate(trials, 10)
    assert (found.passed, found.judged, found.value) == (3, 4, 0.75)
    assert found.excluded == {"errored: site": 2, "errored: provider": 1, "not run": 3}
    assert (found.errors, found.interval) == (Share(3, 7), wilson(3, 4))
    assert pass_rate(trials).excluded == {"errored: site": 2, "errored: provider": 1}


def test_nothing_judged_has_no_rate() -> None:
    """With errors only, and with nothing, there is no rate and no interval."""
    cases: list[list[StoredAttempt]] = [[attempt("a", ERRORED)], []]
    for trials in cases:
        found = pass_rate(trials, 1)
        assert (found.value, found.interval, found.by_site, found.by_task) == (None, None, None, None)
        assert json.loads(json.dumps(found.as_json()))["judged"] == 0


def test_trials_on_one_site_are_alike() -> None:
    """The interval by site is over the judged trials of each; one whose site is unknown leaves none."""
    sites = {"shop": (4, 5), "mail": (1, 6), "maps": (3, 3)}
    trials = [
        attempt(f"{site}-{n}", PASSED if n < hits else FAILED, website=site)
        for site, (hits, of) in sites.items()
        for n in range(of)
    ]
    broken = attempt("x", ERRORED, website="other")
    found = pass_rate([*trials, broken])
    assert (found.by_site, found.sites) == (pool_groups(Share(*site) for site in sites.values()), 3)
    assert found.by_task is None
    assert pass_rate([*trials, attempt("y")]).by_site is None


def test_trials_of_one_task_are_alike() -> None:
    """Where tasks have several trials there is an interval by task as well."""
    trials = [
        attempt(name, FAILED if name == "b" or n == 3 else PASSED, trial=n)
        for name in "abc"
        for n in (1, 2, 3)
    ]
    found = pass_rate(trials)
    assert found.by_task == pool_groups([Share(2, 3), Share(0, 3), Share(2, 3)])
    assert found.as_json()["by_task"]["groups"] == 3
    assert found.as_json()["by_task"]["standard_error"] == pytest.approx(2 / 9)
