"""Rows that depend on others, and rows that share the state of a site: with lanes and with workers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.launched import FUNCTION
from tests.hooks.small_evals import Evals, row

AGENT = """
import asyncio, os, pathlib, time

def have_met(log):
    running = set()
    for line in log.read_text().splitlines():
        name = line[1:].partition(" ")[0]
        if line[0] == "-":
            running.discard(name)
        elif running - {name}:
            return True
        else:
            running.add(name)
    return False

async def solve(context):
    name = context.task.query_id
    log = pathlib.Path(context.base_dir) / "log.txt"
    with log.open("a") as file:
        file.write(f"+{name} {os.getpid()}\\n")
    died = log.with_name("died")
    if name.startswith("dies") and not died.exists():
        died.touch()
        os._exit(77)
    deadline = time.monotonic() + 120
    while name.startswith("free") and not have_met(log) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.1)
    with log.open("a") as file:
        file.write(f"-{name} {os.getpid()}\\n")
    return "wrong" if name.startswith("bad") else "right"
"""
"""Logs when it begins and ends; a free row stays until two rows have been at work at once."""


@pytest.fixture
def logged(evals: Evals) -> Evals:
    """An eval whose agent logs when it begins and ends, and in which process."""
    (evals.path / "my_agent.py").write_text(AGENT)
    evals.write_config(agent=FUNCTION, lanes=4)
    return evals


def events(evals: Evals) -> list[str]:
    path = evals.path / "log.txt"
    return [line.partition(" ")[0] for line in path.read_text().splitlines()] if path.exists() else []


def processes(evals: Evals, *names: str) -> set[str]:
    """Return the processes that some rows were run in."""
    lines = (line.split() for line in (evals.path / "log.txt").read_text().splitlines())
    return {pid for event, pid in lines if event[1:] in names}


def overlap(evals: Evals, *names: str) -> bool:
    """Whether two of these rows, or of all, ever ran at the same time."""
    running, found = 0, False
    for event in events(evals):
        if event[1:] in names or not names:
            running += 1 if event[0] == "+" else -1
            found |= running > 1
    return found


def reasons(evals: Evals) -> dict[str, tuple[str, str]]:
    return {r["query_id"]: (r["verdict"], r["reason"]) for r in evals.summary()["results"]}


def chain() -> list[dict[str, Any]]:
    """Rows in the wrong order: c needs b, which needs a; others need nothing."""
    needs = {"c": ["b"], "b": ["a"]}
    names = ("c", "free1", "b", "free2", "a", "free3")
    return [row(name, depends_on=needs.get(name, [])) for name in names]


def assert_in_turn(evals: Evals, *names: str) -> None:
    found = [event for event in events(evals) if event[1:] in names]
    assert found == [f"{sign}{name}" for name in names for sign in "+-"]


def test_rows_come_after_those_that_they_need(logged: Evals) -> None:
    """In lanes, beside rows that wait for nothing; also where the cache would turn the order round.

    One that is selected without those that it needs runs, which is told before the first attempt.
    """
    logged.write_rows(*chain(), row("bad", depends_on=["a"]))
    result = logged.run("shop.eval.yaml", "-v")
    result.assert_outcomes(passed=6, failed=1)
    shown = [line.partition("::")[2].partition(" ")[0] for line in result.outlines if line.endswith("%]")]
    assert shown == ["a", "b", "c", "free1", "free2", "free3", "bad"]
    assert_in_turn(logged, "a", "b", "c")
    assert overlap(logged)
    (logged.path / "log.txt").unlink()
    logged.run("shop.eval.yaml", "--ff").assert_outcomes(passed=6, failed=1)
    assert_in_turn(logged, "a", "bad")
    result = logged.run("shop.eval.yaml", "-k", "c or free1")
    result.assert_outcomes(passed=2, deselected=5)
    text = "note: these rows run without the rows that they depend on, which are not selected: c (needs b)"
    assert f"eval shop: {text}" in result.outlines


BANK_ROWS, POST_ROWS = ("bank0", "bank1", "both"), ("post0", "post1", "both")


@pytest.mark.parametrize(
    "workers",
    [
        (),
        *(pytest.param(each, marks=pytest.mark.slow) for each in (("-n2",), ("-n2", "--dist", "worksteal"))),
    ],
    ids=" ".join,
)
def test_what_belongs_together(logged: Evals, workers: tuple[str, ...]) -> None:
    """Rows that need each other, or share a site that nobody runs for us: one process, one at a time.

    Others go on beside them; what needs a bad row is errored with the reason, and nothing is spent on it.
    """
    logged.write_rows(
        *chain(),
        row("bad"),
        row("second", depends_on=["bad"]),
        row("third", depends_on=["second"]),
        row("other", depends_on=["free1"]),
        *(row(f"bank{n}", sites=["bank"]) for n in range(2)),
        row("both", sites=["bank", "post"]),
        *(row(f"post{n}", sites=["post"]) for n in range(2)),
    )
    logged.run("shop.eval.yaml", *workers).assert_outcomes(passed=12, failed=1, errors=2)
    assert_in_turn(logged, "a", "b", "c")
    assert_in_turn(logged, "free1", "other")
    assert not overlap(logged, *BANK_ROWS)
    assert not overlap(logged, *POST_ROWS)
    assert overlap(logged)
    for together in (("a", "b", "c"), ("free1", "other"), (*BANK_ROWS, *POST_ROWS)):
        assert len(processes(logged, *together)) == 1
    assert len(processes(logged, *(event[1:] for event in events(logged)))) == (2 if workers else 1)
    assert len(events(logged)) == 2 * 13
    told = reasons(logged)
    assert told["second"] == ("errored", "it depends on 'bad', which failed: it was not run")
    assert told["third"] == ("errored", "it depends on 'second', which errored: it was not run")
    assert logged.summary()["errors_by_source"] == {"harness": 2}


@pytest.mark.slow
def test_a_worker_that_dies_does_not_tear_rows_apart(logged: Evals) -> None:
    """What has passed before counts, and the rest runs in order, in the process that takes over."""
    logged.write_config(agent=FUNCTION, lanes=4, retries=1)
    logged.write_rows(
        row("last", depends_on=["dies", "first"]),
        row("dies", depends_on=["first"]),
        row("first"),
        row("free"),
    )
    logged.run("shop.eval.yaml", "-n2").assert_outcomes(passed=4)
    found = [event for event in events(logged) if event[1:] != "free"]
    assert found == ["+first", "-first", "+dies", "+dies", "-dies", "+last", "-last"]
