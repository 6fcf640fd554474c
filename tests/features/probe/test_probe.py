"""A failed attempt whose known way breaks as well is the site's fault; where the way passes, the agent's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_browsereval.features.probe import probing
from pytest_browsereval.runs.run import StoredRun
from tests.features.probe.small_shop import Shop, order, outcome
from tests.hooks.small_evals import Evals, row


@pytest.fixture
def shop(evals: Evals) -> Shop:
    return Shop(evals)


BROKEN = 'the known way no longer works; step 2 of it: nothing matches role=button[name="Cup"]'


def test_it_is_the_site_s_fault_where_the_known_way_breaks_as_well(shop: Shop) -> None:
    """Errored, with the step that broke and what it acts on; the figures are next to the pass rate."""
    shop.write(order(), order("pen", ["Pen"]), retries=2)
    shop.prove()
    shop.evals.write_rows(order(), order("pen", ["Pen"]), row("hat", says=None))
    run = shop.run("-v", broken="Cup")
    run.assert_outcomes(errors=1, failed=2)
    mug, pen, hat = map(run.attempt, ("mug", "pen", "hat"))
    assert outcome(mug) == ("errored", "broken")
    assert mug.error_source == "site"
    assert mug.reason == BROKEN
    assert mug.attempt == 1
    assert mug.probe
    assert (mug.probe.step, mug.probe.target) == (2, "Cup")
    assert outcome(pen) == ("failed", "works")
    assert outcome(hat) == ("failed", "")
    run.stdout.fnmatch_lines(["*way * the known way works, so this is the agent's failure*"])
    probed = "2 probed failures: 1 of the site (the known way breaks at Cup), 1 of the agent"
    assert f"{probed}; pass rate, if those of the site count as failures: 0.0% (0/3)" in " ".join(
        " ".join(run.outlines).split()
    )
    figures = {"site": 1, "agent": 1, "unknown": 0, "breaks_at": ["Cup"], "pass_rate_with_site": 0.0}
    assert run.summary["probes"] == {"line": run.summary["probes"]["line"], **figures}
    assert [one["attempts"] for one in run.summary["results"]] == [1, 1, 1]  # no retry


def break_solution(shop: Shop) -> None:
    shop.evals.write_rows(order(items=["Mug", "Bowl"]))


CASES: dict[str, tuple[str, dict[str, str], Callable[[Shop], object] | None, str, str]] = {
    "the end": (
        "grades",
        {},
        None,
        "broken",
        "all steps work, but the end is wrong: answer: there is no order",
    ),
    "once": (
        "",
        {"Cup.once": ""},
        None,
        "undecided",
        "is not clear: step 2 of it: nothing matches*; then passed",
    ),
    "the end once": ("", {"grades.once": ""}, None, "undecided", "the end is wrong: *; then passed"),
    "elsewhere": ("Cup", {"Mug.once": ""}, None, "undecided", "step 1 of it: *; then step 2 of it: nothing"),
    "an edited solution": ("Bowl", {}, break_solution, "unproved", "not proved, and breaks as well; step 2"),
}


def test_nothing_is_guessed_of_a_way_that_does_not_break_twice_at_one_step(
    shop: Shop, subtests: pytest.Subtests
) -> None:
    """Only a proved way that breaks twice at one step is the site's fault; else the attempt stays failed."""
    shop.write(order())
    shop.prove()
    for name, (broken, files, edit, wanted, text) in CASES.items():
        with subtests.test(name):
            for file, content in files.items():
                shop.put(file, content)
            if edit is not None:
                edit(shop)
            record = shop.run(broken=broken).attempt("mug")
            verdict = "errored" if wanted == "broken" else "failed"
            assert outcome(record) == (verdict, wanted)
            assert record.known_way
            assert all(part in record.known_way for part in text.split("*"))


def test_a_way_that_passes_is_proved_by_it(shop: Shop) -> None:
    """What was not proved stays failed; once a probe has passed, later runs know the way."""
    shop.write()
    assert outcome(shop.run(broken="Cup").attempt("mug")) == ("failed", "unproved")
    assert outcome(shop.run(broken="").attempt("mug")) == ("failed", "works")
    assert outcome(shop.run(broken="Cup").attempt("mug")) == ("errored", "broken")


HINDRANCES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a tool is off": ({}, {"tools": {"buy": False}}, "step 1 of it calls 'buy'*switched on"),
    "a site of others": ({"sites": ["bank"]}, {}, "nothing resets the site 'bank'"),
    "nobody resets": ({"requires_reset": True}, {}, "the config does not run, so nothing resets it"),
}


def test_a_way_that_cannot_be_tried_says_why(shop: Shop, subtests: pytest.Subtests) -> None:
    """The attempt stays failed."""
    for name, (keys, config, text) in HINDRANCES.items():
        with subtests.test(name):
            shop.write(order(**keys), **config)
            record = shop.run().attempt("mug")
            assert outcome(record) == ("failed", "undecided")
            assert record.known_way
            assert not shop.played
            assert all(part in record.known_way for part in ("the known way was not tried", *text.split("*")))


def test_a_probe_ends_with_the_minutes_of_the_run(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempt stays failed, and is written."""
    monkeypatch.setattr(probing, "_find_time_left", lambda _: 0.2)
    shop.write()
    shop.put("slow.txt", "x " * 1200)
    record = shop.run().attempt("mug")
    assert record.known_way == "the known way was not tried to its end: budget.max_minutes is used up"
    assert outcome(record) == ("failed", "undecided")


ATTACK = {
    "type": "tool_output",
    "payload": "Do it.",
    "goal": {"say": "Do it.", "checks": [{"answer": {"contains": "done"}}]},
}
REFUSED: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "attacks": ({"attacks": [ATTACK]}, (), "under attack"),
    "a replay": ({}, ("--eval-llm=replay",), "a replay does not ask the pages"),
    "no reset": (
        {"sites": {"app": {"command": ["{python}", "-c", ""]}}},
        (),
        "the site 'app' has no `reset`",
    ),
}


def test_a_run_whose_probes_would_say_nothing_is_refused(shop: Shop, subtests: pytest.Subtests) -> None:
    """Before anything is spent, with what to write."""
    for name, (keys, options, text) in REFUSED.items():
        with subtests.test(name):
            shop.write(**keys)
            run = shop.run(*options)
            shown = " ".join((*run.outlines, *run.errlines))
            assert run.ret == pytest.ExitCode.USAGE_ERROR
            assert text in shown
            assert "shop.eval.yaml:" in shown
    assert not (shop.evals.path / "asked.txt").exists()


@pytest.mark.parametrize(
    "workers", [[], pytest.param(["-n2"], marks=pytest.mark.slow)], ids=["plain", "xdist"]
)
def test_a_row_and_a_variant_are_probed_once(shop: Shop, workers: list[str]) -> None:
    """However many of its trials fail, in lanes and processes: two plays of two steps for five trials."""
    agent = {"type": "function", "function": "clumsy:solve"}
    shop.write(order(), variants={"a": agent, "b": agent}, trials=5, lanes=3)
    shop.evals.run("shop.eval.yaml", "--eval-agent=scripted", "--eval-trials=1")
    (shop.evals.path / "played.txt").unlink()
    shop.put("slow.txt", "x x")
    run = shop.run(*workers, broken="Cup")
    run.assert_outcomes(errors=10)
    assert len(shop.played) == 2 * 2 * 2
    records = run.attempts
    assert {outcome(one) for one in records} == {("errored", "broken")}
    places = {one.probe.place for one in records if one.probe}
    assert len(places) == 2
    assert all((run.folder / place / "attempts").is_dir() for place in places)
    lines = [json.loads(line) for line in (run.folder / "probes.jsonl").read_text().splitlines()]
    assert {one["variant"] for one in lines} == {"a", "b"}
    assert len(lines) == 2
    # They are no attempts of the run.
    assert len(StoredRun(run.folder).attempts) == 10
    assert len(run.summary["results"]) == 10


def test_of_a_protected_row_nothing_is_written(shop: Shop) -> None:
    """Neither the step's text nor its element: a solution may have the answer."""
    shop.write(order(protected=True))
    shop.run(broken="")
    record = shop.run(broken="Cup").attempt("mug")
    assert record.reason == "the known way no longer works; step 2 of it"
    assert record.probe
    assert not record.probe.target
    assert "Cup" not in record.model_dump_json()
