"""pytest's JUnit file, as schemas allow it and as a reader of others finds it."""

from __future__ import annotations

from pathlib import Path

import junitparser
import pytest

from tests.hooks.launched import FUNCTION, write_agent
from tests.hooks.small_evals import Evals, errored_row, row

SCHEMAS = Path(__file__).parent / "junit"
HOSTILE = "]]><system-out>[[ATTACHMENT|/etc/passwd]]</system-out>\x1b[31m\x00\u202e"


def read(file: Path, *schemas: str) -> junitparser.TestSuite:
    """Check a file against schemas, and return its suite."""
    import xmlschema  # takes a second, and most workers run none of this

    for name in schemas or ("jenkins.xsd", "xunit2.xsd"):
        xmlschema.XMLSchema(str(SCHEMAS / name)).validate(str(file))
    (suite,) = junitparser.JUnitXml.fromfile(str(file))
    return suite


def told(properties: object) -> dict[str, str]:
    return {one.name: one.value for one in properties}  # type: ignore[attr-defined]


def results(suite: junitparser.TestSuite) -> dict[str, list[str]]:
    return {case.name: [type(result).__name__ for result in case.result] for case in suite}


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=["one process", "workers"]
)
def test_readers_find_results_figures_and_pictures(evals: Evals, args: tuple[str, ...]) -> None:
    """Errors apart from failures, figures of the run at the suite, and the last picture of each trial."""
    evals.write_rows(row("good"), row("bad", says=HOSTILE, query=HOSTILE), errored_row("broken"))
    evals.write_config(trials=2, capture={"trace": True}, browser="playwright")
    options = ("--junitxml=out/junit.xml", "--eval-min-pass-rate=0.5", "--eval-set=gate.rows=fail")
    evals.run(*options, *args)
    suite = read(evals.path / "out/junit.xml")
    assert results(suite) == {
        "good[1]": [],
        "good[2]": [],
        "bad[1]": ["Failure"],
        "bad[2]": ["Failure"],
        "broken[1]": ["Error"],
        "broken[2]": ["Error"],
        "min_pass_rate": [],
        "max_error_rate": ["Failure"],
    }
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (8, 3, 2, 0)
    found = told(suite.properties())
    run = evals.run_folder()
    expected = {
        "eval": "shop",
        "run": run.name,
        "run_folder": run.as_posix(),
        "agent": "scripted",
        "pass_rate": "0.5",
        "judged": "4",
        "passed": "2",
        "failed": "2",
        "errored": "2",
        "selected": "6",
        "cost_usd": "0.0",
        "gate": "not met",
    }
    assert {name: found[name] for name in expected} == expected
    assert found["browser"].startswith("Chromium")
    assert 0 < float(found["pass_rate_low"]) < 0.5 < float(found["pass_rate_high"]) < 1
    for case in suite:
        *pictures, trace = str(case.system_out or "").splitlines() or [""]
        files = [one.removeprefix("[[ATTACHMENT|").removesuffix("]]") for one in (*pictures, trace)]
        assert len(pictures) == case.name.startswith(("good", "bad"))
        assert all((evals.path / file).read_bytes()[:2] == b"\xff\xd8" for file in files[:-1])
        is_trial = not case.classname.startswith("gate")
        assert files[-1].endswith("/attempt-1/trace.zip") == is_trial
        assert (evals.path / files[-1]).is_file() == is_trial


def test_captured_output_and_attachments_are_one_text(evals: Evals) -> None:
    """A test case has one system-out, also where pytest writes one; paths are such as the reader resolves."""
    evals.write([row("good")])
    evals.pytester.makeconftest(
        "import pytest\n@pytest.fixture(autouse=True)\ndef says():\n    print('hello'); yield; assert 0"
    )
    evals.pytester._monkeypatch.setenv("JENKINS_URL", "http://127.0.0.1:9/")
    evals.run("--junitxml=junit.xml", "-ojunit_logging=system-out")
    suite = read(evals.path / "junit.xml")
    (case,) = suite
    assert results(suite) == {"good": ["Error"]}
    lines = str(case.system_out).splitlines()
    assert "hello" in lines
    (attachment,) = [line for line in lines if line.startswith("[[")]
    assert attachment.startswith(f"[[ATTACHMENT|{evals.run_folder().as_posix()}/tasks/good/")


def test_earlier_attempts_are_told(evals: Evals) -> None:
    """A trial that errored and was tried again says so; each eval's figures have its name before them."""
    evals.write_rows(errored_row("broken"))
    evals.write_rows(row("good"), name="more.jsonl")
    evals.write_config(retries=1)
    evals.write_config("other.eval.yaml", dataset="more.jsonl")
    evals.run("shop.eval.yaml", "other.eval.yaml", "--junitxml=junit.xml")
    suite = read(evals.path / "junit.xml", "jenkins.xsd", "xunit2.xsd")
    cases = {case.name: told(case.child(junitparser.Properties)) for case in suite}
    assert cases["broken"]["attempt"] == "2"
    assert cases["broken"]["earlier_attempts"].startswith("attempt 1: errored (navigation): ")
    assert "earlier_attempts" not in cases["good"]
    found = told(suite.properties())
    assert (found["shop.errored"], found["other.errored"], found["other.pass_rate"]) == ("1", "0", "1.0")
    assert "shop.pass_rate" not in found  # nothing was judged


@pytest.mark.slow
def test_a_worker_that_dies_leaves_no_half_test_case(evals: Evals) -> None:
    """What it was at is run by another one, and told once."""
    write_agent(
        evals,
        """
import os, signal

async def solve(context):
    begins(context)
    if context.task.query_id == "r1" and not pathlib.Path("died").exists():
        while not pathlib.Path("r3.begun").exists():  # two are in flight when it dies: nobody is blamed
            await asyncio.sleep(0.02)
        pathlib.Path("died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    while not pathlib.Path("died").exists():
        await asyncio.sleep(0.02)
    return "right"
""",
    )
    rows = [row(f"r{number}") for number in range(4)]
    run = evals.play(rows, "-n2", "--junitxml=junit.xml", agent=FUNCTION, lanes=2)
    assert run.ret == 0, run.stdout.str()
    suite = read(evals.path / "junit.xml")
    assert results(suite) == {f"r{number}": [] for number in range(4)}
    assert suite.tests == 4


def test_evals_of_one_name_are_told_apart(evals: Evals) -> None:
    """By their files: else the gate of one would hide that of the other. Other evals keep their names."""
    for folder, says in (("a", "wrong"), ("b", "right")):
        evals.write_rows(row("x", says=says), name=f"{folder}/rows.jsonl")
        evals.write_config(f"{folder}/shop.eval.yaml", gate={"min_pass_rate": 0.5})
    evals.write_config("b/other.eval.yaml", gate={"min_pass_rate": 0.5})
    assert evals.run("--junitxml=junit.xml").ret == 1
    suite = read(evals.path / "junit.xml")
    rules = [(case.classname, bool(case.result)) for case in suite if case.name == "min_pass_rate"]
    assert sorted(rules) == [
        ("gate.other", False),
        ("gate.shop (a/shop.eval.yaml)", True),
        ("gate.shop (b/shop.eval.yaml)", False),
    ]
    names = [one.name for one in suite.properties()]
    assert len(names) == len(set(names))
    found = told(suite.properties())
    gates = [found[f"shop ({name}/shop.eval.yaml).gate"] for name in "ab"]
    assert (gates, found["other.gate"]) == (["not met", "met"], "met")


def test_what_nobody_knows_is_no_property(evals: Evals) -> None:
    """An errored grade has no score and a model without a price no cost: neither reads "None"."""
    evals.write([row("a", graders=["mine"])])
    (evals.path / "conftest.py").write_text(
        """
from typing import Literal
from pytest_browsereval import GraderConfig, GraderResult
from pytest_browsereval.model.usage import Usage

class Mine(GraderConfig):
    type: Literal["mine"] = "mine"
    async def grade(self, recorded):
        used = Usage(input_tokens=1, requests=1)
        return GraderResult(grader="mine", verdict="errored", reasoning="oh", usage=used)

def pytest_browsereval_register(registry):
    registry.register(Mine)
"""
    )
    evals.run("--junitxml=junit.xml", "shop.eval.yaml")
    (case,) = read(evals.path / "junit.xml")
    found = told(case.child(junitparser.Properties))
    assert found["judge_tokens_in"] == "1"
    assert not {"score.mine", "cost_usd", "judge_cost_usd"} & set(found)
    assert "None" not in found.values()
