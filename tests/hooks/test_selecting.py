"""Rows that are named on the command line: by node id, by their own id, by tag."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

ODD = "wrong <&> ünï"
ROWS = (row("plain"), row(ODD), row("a::b[1]"), row("漢字 1"))


@pytest.fixture
def odd(evals: Evals) -> Evals:
    """Return an eval whose rows have ids of any characters."""
    evals.write(ROWS)
    return evals


def test_a_row_is_selected_by_its_own_id(odd: Evals) -> None:
    """`FILE::ID` takes the id as the row and the table have it, and as it stands in node ids; `-k` too."""
    node_id = "wrong+20+3c+26+3e+20+c3+bcn+c3+af"
    for query_id, typed in (*((one["query_id"],) * 2 for one in ROWS), (ODD, node_id)):
        ran = odd.run(f"shop.eval.yaml::{typed}")
        ran.assert_outcomes(passed=1)
        assert ran.attempts[0].query_id == query_id
    for keyword, query_id in (("ünï", ODD), ("漢字", "漢字 1"), ("PLAIN", "plain")):
        ran = odd.run("shop.eval.yaml", "-k", keyword)
        ran.assert_outcomes(passed=1, deselected=3)
        assert [attempt.query_id for attempt in ran.attempts] == [query_id]


@pytest.mark.slow
def test_workers_take_them_too(odd: Evals) -> None:
    """Several ids at once, in the processes of xdist, for a config that is named by the option."""
    named = (f"shop.eval.yaml::{one['query_id']}" for one in ROWS[1:])
    odd.run("--eval-config=shop.eval.yaml", *named, "-n1").assert_outcomes(passed=3)


def test_trials_of_an_odd_id(evals: Evals) -> None:
    """Variant and trial follow the id as the table prints them."""
    evals.write([row(ODD), row("plain")], trials=2, variants={"x": "scripted", "y": "scripted"})
    evals.run(f"shop.eval.yaml::{ODD}").assert_outcomes(passed=4)
    one = evals.run(f"shop.eval.yaml::{ODD}[x-2]", "shop.eval.yaml::plain[y-1]")
    one.assert_outcomes(passed=2)
    assert {(a.query_id, a.variant, a.trial) for a in one.attempts} == {(ODD, "x", 2), ("plain", "y", 1)}
