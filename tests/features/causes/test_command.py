"""``browsereval causes`` as it is typed, on runs that pytest has made."""

from __future__ import annotations

import json

import pytest

from pytest_browsereval.model.display import width_of
from tests.features.causes.played import click, done, write_attempt, write_manifest
from tests.hooks.small_evals import Evals, errored_row, row
from tests.recorded import FAILED, attempt

EVIL = "<img src=x>\x1b[31m| `a` [b](c)"


def write_shop(evals: Evals) -> None:
    """Write four rows that do not pass: two with a wrong answer, one that gives up, one that errs."""
    evals.write_rows(
        row("tea"),
        row("mug", says="wrong"),
        row("cup", says=EVIL),
        row("pen", says="I cannot say."),
        errored_row("far"),
    )


def test_the_groups_of_a_run(evals: Evals) -> None:
    """Failed apart from errored, the largest group first; JSON has all, Markdown no markup."""
    write_shop(evals)
    evals.write_config()
    assert evals.run("shop.eval.yaml").ret == pytest.ExitCode.TESTS_FAILED
    result = evals.run_command("causes", "latest")
    assert result.ret == 0
    assert max(map(width_of, result.outlines)) <= 100
    assert result.outlines[:8] == [
        "3 trials failed, by cause:",
        "cause             trials  share",
        "likely wrong row       2    67%",
        "    cup: at step 1: answers '<img src=x> [31m| `a` [b](c)', as the solution does",
        "    mug: at step 1: answers 'wrong', as the solution does",
        "likely gave up         1    33%",
        "    pen: at step 1: answers 'I cannot say.', as the solution does",
        "",
    ]
    assert result.outlines[8:11] == [
        "1 trial errored, by cause:",
        "cause                 trials  share",
        "errored (navigation)       1   100%",
    ]
    assert evals.run_command("causes", "latest", "--json", "a.json", "--markdown", "a.md").ret == 0
    groups = json.loads((evals.path / "a.json").read_text())["groups"]
    assert [(one["verdict"], one["cause"], one["count"]) for one in groups] == [
        ("failed", "wrong_row", 2),
        ("failed", "gave_up", 1),
        ("errored", "navigation", 1),
    ]
    first = groups[0]["attempts"][0]
    assert (first["query_id"], first["step"], first["steps"]) == ("cup", 1, [1])
    assert groups[0]["share"] == pytest.approx(2 / 3)
    text = (evals.path / "a.md").read_text()
    assert "<img" not in text
    assert "| likely wrong row | 2 | 67% | cup: at step 1: answers '&lt;img src=x&gt;" in text


def test_variants_and_earlier_runs(evals: Evals) -> None:
    """A table counts each group by variant and by run, the oldest first."""
    write_shop(evals)
    evals.write_config(variants={"a": "scripted", "b": "noop"})
    evals.run("shop.eval.yaml", "-k", "mug or cup")
    evals.run("shop.eval.yaml", "-k", "mug")
    result = evals.run_command("causes", "latest", "--last", "3")
    table = [line for line in result.outlines if line[:1] in tuple("lac") and " = " not in line]
    assert table == [
        "cause             trials  share  a  b  c  d",
        "likely gave up         3    50%  0  2  0  1",
        "likely wrong row       3    50%  2  0  1  0",
    ]
    ids = [path.parent.name for path in sorted(evals.path.glob("results/shop/*/manifest.json"))]
    assert [line for line in result.outlines if " = " in line] == [
        f"a = {ids[0]}, a",
        f"b = {ids[0]}, b",
        f"c = {ids[1]}, a",
        f"d = {ids[1]}, b",
    ]
    assert evals.run_command("causes", "latest", "latest").ret == 4


def test_one_cause_of_many(evals: Evals) -> None:
    """What attempts share is counted, three are named, and the rest is counted."""
    run = evals.path / "results/shop/20260101T000000Z-aaaaaa"
    write_manifest(run)
    way = (click("Red"), done())
    for number in range(5):
        write_attempt(run, (click("Blue"), done()), attempt(f"row-{number}", FAILED), solution=way)
    lines = evals.run_command("causes", str(run)).outlines
    assert lines[2:4] == ["likely wrong target       5   100%", "    5 of them: clicks 'Red'"]
    assert lines[-1] == "    and 2 more; --json FILE has them all"
    write_attempt(run.with_name("20260102T000000Z-aaaaaa"), way, attempt("tea"))
    write_manifest(run.with_name("20260102T000000Z-aaaaaa"))
    assert evals.run_command("causes", "latest").outlines == ["All trials passed: there is no cause to show."]
