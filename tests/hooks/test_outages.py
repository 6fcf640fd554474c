"""Sites and models that do not answer: the run stops after two rows, and says what to do."""

from __future__ import annotations

import shlex
import socket
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval.testing import ScriptedModel, done, refuses
from tests.hooks.launched import verdicts
from tests.hooks.small_evals import Evals, row, single_agent

ENDS = "print('no such database')\nraise SystemExit(5)\n"
"""A site that never comes up."""

TRUSTED = {"type": "jsonl", "path": "rows.jsonl", "trusted": True}

PATH = {"path": "a", "equals": 1}

PRICES = {"prices": {"input_per_mtok": 1, "output_per_mtok": 1}}

NAMES = [f"r{number}" for number in range(8)]


@pytest.fixture
def dead_url() -> Iterator[str]:
    """Return the address of a model server that is not there; nobody else can have its port meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/v1"


@pytest.fixture
def dead(evals: Evals, dead_url: str, request: pytest.FixtureRequest) -> Evals:
    """Return an eval of eight rows whose site or model does not answer."""
    if request.param == "site":
        evals.write_rows(*(row(name, start_url="{shop}/") for name in NAMES))
        (evals.path / "app.py").write_text(ENDS)
        evals.write_config(sites={"shop": {"command": [sys.executable, "app.py"]}}, retries=1)
    else:
        evals.write([row(name) for name in NAMES], agent=single_agent(dead_url, **PRICES), retries=1)
    return evals


def attempts(evals: Evals) -> int:
    return len(list(evals.path.glob("results/shop/*/tasks/*/*/*/attempt-*/metadata.json")))


ALONE, LANES, WORKERS = (), ("--eval-lanes=3",), ("-n2",)


@pytest.mark.parametrize(
    "args", [ALONE, LANES, pytest.param(WORKERS, marks=pytest.mark.slow)], ids=["alone", "lanes", "workers"]
)
@pytest.mark.parametrize("dead", ["site", "model"], indirect=True)
def test_the_run_stops_after_two_rows(dead: Evals, args: tuple[str, ...]) -> None:
    """Exit code 1; the other rows are counted as not run and named, in terminal, summary and JUnit too."""
    result = dead.run("shop.eval.yaml", "--junit-xml=junit.xml", *args)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    summary = dead.summary()
    made = [found["query_id"] for found in summary["results"]]
    assert (len(made), summary["errored"], summary["selected"]) == (2, 2, 8)
    assert summary["not_run"] == [name for name in NAMES if name not in made]
    assert attempts(dead) <= 4  # one more try each
    result.stdout.fnmatch_lines(["*= eval not finished =*", "not run: 6 of 8 trials:"])
    result.stdout.fnmatch_lines([f"  shop.eval.yaml::{name}" for name in summary["not_run"]])
    result.stdout.fnmatch_lines(
        ["Resume the run with", f"  pytest * shop.eval.yaml *--eval-resume={result.folder.name}"]
    )
    cases = list(ET.parse(dead.path / "junit.xml").iter("testcase"))  # noqa: S314 our own
    errors = [case.get("name") for case in cases if case.find("error") is not None]
    said = result.stdout.str().count("no such database")  # what the site printed, with the first row alone
    assert (said, "met the same error.)" in result.stdout.str()) in ((0, True), (1, True))
    assert sorted(filter(None, errors)) == sorted(made)
    assert all(case.find("skipped") is not None for case in cases if case.get("name") not in made)


def test_a_judge_that_does_not_answer_stops_the_run_as_well(evals: Evals, dead_url: str) -> None:
    """Agents are not paid for what nobody can judge."""
    judge = {"provider": "openai-compatible", "model": "j", "base_url": dead_url, "max_tries": 1}
    result = evals.play((row(name, graders=["browsecomp"]) for name in NAMES), judge=judge)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert list(verdicts(evals.summary()).values()) == ["errored (grader)"] * 2
    assert evals.summary()["not_run"] == NAMES[2:]
    evals.run("shop.eval.yaml", "--eval-keep-going").assert_outcomes(errors=8)


def test_a_judge_that_does_not_answer_stops_a_regrading(evals: Evals, dead_url: str) -> None:
    """After two rows, of which the second keeps its grades; the command that grades the rest is printed."""
    run = evals.play([row(name) for name in NAMES]).folder.name
    judge = {"provider": "openai-compatible", "model": "j", "base_url": dead_url, "max_tries": 1}
    evals.write_config(judge=judge, graders=["browsecomp"])
    result = evals.run("shop.eval.yaml", "--eval-regrade=latest")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    found = list(verdicts(evals.summary()).values())
    assert found == ["errored (grader)", *["passed"] * 7]
    result.stdout.fnmatch_lines(["not regraded: 6 of 8 trials:", "  shop.eval.yaml::r2"])
    result.stdout.fnmatch_lines(["Regrade the rest with", f"  pytest * --eval-regrade={run}"])


def test_the_command_that_is_printed_resumes_the_run(evals: Evals, dead_url: str) -> None:
    """Typed as it stands, once the model answers; what an earlier session met is over."""
    evals.write([row(name) for name in NAMES], agent=single_agent(dead_url, **PRICES))
    stopped = evals.run("--eval-config=shop.eval.yaml", "-k", "r1 or r2 or r3")
    assert stopped.ret == pytest.ExitCode.TESTS_FAILED
    (command,) = (line for line in stopped.outlines if line.startswith("  pytest "))
    program, *typed = shlex.split(command)
    assert program == "pytest"
    with ScriptedModel(lambda _: done("right")) as server:
        evals.write_config(agent=single_agent(server.base_url, **PRICES))
        again = evals.run(*typed, "--eval-resume-anyway")
    assert again.ret == 0, again.stdout.str()
    assert again.folder == stopped.folder
    assert verdicts(evals.summary()) == dict.fromkeys(["r1", "r2", "r3"], "passed")


def test_an_answer_in_between_is_no_outage(evals: Evals) -> None:
    """Rows that err one here and one there do not stop the run."""
    replies = iter(range(100))

    def reply(_: Any) -> Any:
        return refuses(503) if next(replies) % 2 == 0 else done("right")

    with ScriptedModel(reply) as server:
        evals.play([row(name) for name in NAMES], agent=single_agent(server.base_url, **PRICES))
    assert list(verdicts(evals.summary()).values()) == ["errored (provider)", "passed"] * 4


def test_a_refused_key_ends_the_run_at_once(evals: Evals) -> None:
    """One row is errored, the others are named as not run; ``--eval-keep-going`` tries them all."""
    with ScriptedModel(lambda _: refuses(401)) as server:
        result = evals.play([row(name) for name in NAMES], agent=single_agent(server.base_url, **PRICES))
        assert len(server.requests) == 1
        assert evals.summary()["not_run"] == NAMES[1:]
        result.stdout.fnmatch_lines(["*answered 401*", "not run: 7 of 8 trials:"])
        evals.run("shop.eval.yaml", "--eval-keep-going").assert_outcomes(errors=8)
        assert len(server.requests) == 9


@pytest.mark.parametrize(
    "wrong",
    [
        {"start_url": "{shpo}/cart"},
        {"graders": ["page_state"], "checks": [{"url": "{shpo}/cart"}]},
        {"graders": [{"type": "state_diff", "source": {"url": "{shpo}/cart"}}], "checks": [PATH]},
        {"solution": [{"tool": "navigate", "url": "{shpo}/cart"}]},
    ],
    ids=["start page", "check", "grader", "solution"],
)
def test_a_site_that_is_misspelt_is_refused_before_the_run(evals: Evals, wrong: dict[str, Any]) -> None:
    """With file, line and the nearest site; nothing is started."""
    evals.write_rows(row("right", start_url="{shop}/"), row("wrong", **wrong))
    (evals.path / "shop").mkdir()
    evals.write_config(sites={"shop": {"static": "shop"}}, browser="playwright", dataset=[TRUSTED])
    result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = "rows.jsonl:2: row 'wrong': the address is '{shpo}/cart', and 'shpo' is not a site of the config. "
    assert f"{told}Did you mean 'shop'? Sites: shop." in result.stderr.str()
    assert not (evals.path / "results").exists()
