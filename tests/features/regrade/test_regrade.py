"""Stored attempts graded again: same items, no agent, no browser, and no grade lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.testing import Reply, ScriptedModel
from tests.hooks.small_evals import Driver, Evals, errored_row, row
from tests.recorded import read_history, remove_lines
from tests.support import LEFT_OUT

NO_BROWSER = {"type": "cdp", "url": "http://127.0.0.1:9"}
"""A browser that nothing answers for: whatever would open a window ends with an error."""

JUDGE_PLUGIN = '''
from typing import ClassVar, Literal

from pytest_browsereval import GraderConfig
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.model.grades import GraderResult, Verdict


class Titled(GraderConfig):
    """Passes if the page had a title when it looked; it can only look while the window is open."""

    type: Literal["titled"] = "titled"

    async def observe(self, window, task, site_urls):
        return {"url": window.url}

    async def grade(self, recorded):
        seen = recorded.evidence.get(self.label) or {}
        return GraderResult(
            grader=self.label, verdict=Verdict.PASSED, score=1.0, reasoning=f"saw {seen.get('url')}"
        )


def pytest_browsereval_register(registry):
    registry.register(Titled)
'''


def attempt(evals: Evals, query_id: str) -> Path:
    """Return the folder of a row's only attempt."""
    return evals.run_folder() / "tasks" / query_id / "default/1/attempt-1"


def read(evals: Evals, query_id: str, name: str = "metadata.json") -> Any:
    return json.loads((attempt(evals, query_id) / name).read_text())


def history(evals: Evals, query_id: str) -> list[dict[str, Any]]:
    """Return the earlier lines of a row's only attempt."""
    return read_history(evals.run_folder(), query_id)[:-1]


ROWS = (
    row("a"),
    row("b", says="Right."),
    errored_row("c"),
    row("p", protected=True),
    row("t", graders=["titled"]),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an eval and a run of it, which tests copy."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "conftest.py").write_text(JUDGE_PLUGIN)
    (folder / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ROWS))
    (folder / "shop.eval.yaml").write_text("{agent: scripted, dataset: rows.jsonl, retries: 0, lanes: 3}")
    ran = Driver(folder, options=LEFT_OUT).run("shop.eval.yaml", "-v")
    assert ran.ret == 1, ran.stdout
    (folder / "output.txt").write_text(ran.stdout.str())
    return folder


@pytest.fixture
def ran(evals: Evals, finished: Path) -> Evals:
    """Return an eval that was run: a and p passed, b failed, c errored, t passed by what it had observed."""
    shutil.copytree(finished, evals.path, dirs_exist_ok=True)
    return evals


def ids(lines: list[str]) -> list[str]:
    return [line.split()[0] for line in lines if line.startswith("shop.eval.yaml::")]


@pytest.mark.slow
def test_another_grader_judges_what_is_stored(ran: Evals) -> None:
    """Same items, the new verdicts, the old ones in the history; what errored before grading stays."""
    before = read(ran, "b")
    ran.write_config(graders=[{"type": "answer", "match": "includes"}], browser=NO_BROWSER, agent="noop")
    again = ran.run("--eval-config=shop.eval.yaml", "--eval-regrade=latest", "-v")
    again.assert_outcomes(passed=4, errors=1)
    assert sorted(ids(again.outlines)) == sorted(ids((ran.path / "output.txt").read_text().splitlines()))
    again.stdout.fnmatch_lines(
        [
            "*regrading results/shop/*",
            "errored (navigation): not regraded, errored as it was:*before its grades could count*",
            "regraded 4 attempts: 1 failed -> passed, 3 unchanged",
            "*b: failed -> passed",
        ]
    )
    after, (old,) = read(ran, "b"), history(ran, "b")
    assert old["verdict"] == "failed"
    assert old["grader_results"] == before["grader_results"]
    assert (old["revision"], after["revision"]) == (1, 2)
    assert after["regraded_at"] > before["completed_at"]
    assert after["grader_results"]["answer"]["fingerprint"] != old["grader_results"]["answer"]["fingerprint"]
    assert read(ran, "b", "grades.json") == after["grader_results"]
    graded = (
        "revision",
        "grader_results",
        "verdict",
        "reason",
        "regraded_at",
        "grading_duration_ms",
        "error_source",
    )
    assert {k: v for k, v in after.items() if k not in graded} == {
        k: v for k, v in before.items() if k not in graded
    }
    assert ran.summary()["passed"] == 4
    assert "regraded_at" not in {k for k, v in read(ran, "c").items() if v is not None}
    assert history(ran, "c") == []


@pytest.mark.slow
def test_a_subset_with_workers_and_a_gate(evals: Evals) -> None:
    """Node ids select, xdist's workers share, trials and variants keep their names, the gate decides."""
    keys: dict[str, Any] = {"trials": 2, "variants": {"x": "scripted", "y": "scripted"}, "lanes": 4}
    evals.play((row(name, says="Right.") for name in "ab"), **keys).assert_outcomes(failed=8)
    evals.write_config(**keys, graders=[{"type": "answer", "match": "includes"}], gate={"min_pass_rate": 0.5})
    some = evals.run("shop.eval.yaml::a[x-2]", "shop.eval.yaml::b[y-1]", "--eval-regrade=latest", "-n2", "-v")
    some.assert_outcomes(passed=3, failed=1)
    some.stdout.fnmatch_lines(
        [
            "gate::min_pass_rate FAILED*",
            "regraded 2 attempts: 2 failed -> passed",
            "*a[[]x-2]: failed -> passed",
        ]
    )
    assert evals.summary()["selected"] == 8
    run = evals.run_folder().name
    every = evals.run("shop.eval.yaml", f"--eval-regrade={run}", "--eval-set=lanes=3")
    every.assert_outcomes(passed=10)
    assert evals.summary()["passed"] == 8
    revisions = [one.revision for one in StoredRun(evals.run_folder()).attempts]
    assert sorted(revisions) == [2, 2, 2, 2, 2, 2, 3, 3]


@pytest.mark.slow
def test_a_refused_key_costs_no_grade(ran: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge whose key is refused stops the session, and what was graded before stays as it was."""
    monkeypatch.setenv("KEY_OF_JUDGE", "secret-key")
    before = read(ran, "a")
    with ScriptedModel([Reply(status=401, error="no such key")]) as model:
        judge = {"model": "scripted", "base_url": model.base_url, "api_key": "KEY_OF_JUDGE"}
        ran.write_config(graders=["webvoyager"], judge=judge)
        result = ran.run("shop.eval.yaml::a", "shop.eval.yaml::p", "--eval-regrade=latest")
    assert result.ret == 1
    result.assert_outcomes(errors=1)
    assert read(ran, "a") == before
    assert ran.summary()["passed"] == 3
    assert "secret-key" not in result.stdout.str()


@pytest.mark.slow
def test_evidence_of_the_live_page(ran: Evals) -> None:
    """Graders read what they observed in the run; one that did not observe then says so and errs."""
    late = {"type": "titled", "name": "late"}
    both = {"type": "combined", "name": "both", "graders": ["answer", {**late, "name": "later"}]}
    said = {**both, "name": "said", "graders": [{"type": "answer", "name": name} for name in "cd"]}
    ran.write_config(graders=["titled", late, both, said], browser=NO_BROWSER)
    ran.run("shop.eval.yaml::t", "--eval-regrade=latest").assert_outcomes(errors=1)
    grades = read(ran, "t")["grader_results"]
    assert grades["titled"]["reasoning"] == "saw about:blank"
    verdicts = {"titled": "passed", "late": "errored", "both": "errored", "said": "passed"}
    assert {name: grade["verdict"] for name, grade in grades.items()} == verdicts
    for name in ("late", "both"):
        assert "the run did not observe it for this grader" in grades[name]["reasoning"]


@pytest.mark.slow
def test_edited_and_protected_rows(ran: Evals) -> None:
    """An edited row's attempt is judged by the stored task; a protected one needs its row, unchanged."""
    assert "right" not in (attempt(ran, "p") / "task.json").read_text()
    some = ("shop.eval.yaml::a", "shop.eval.yaml::p", "--eval-regrade=latest")
    ran.write_rows(row("a", answer="something else"), row("p", protected=True))
    edited = ran.run(*some)
    edited.assert_outcomes(passed=2)
    edited.stdout.fnmatch_lines(
        [
            "*note: 1 of the rows were edited since the run (a)*",
            "*tasks that the run has stored: the config's datasets have no row for 3 of the run's trials*",
        ]
    )
    ran.write_rows(row("a"), row("p", protected=True, answer="something else"))
    refused = ran.run(*some)
    assert refused.ret == 4
    assert "its answers are protected and are only in the dataset" in refused.stderr.str()
    (ran.path / "rows.jsonl").unlink()
    alone = ran.run("shop.eval.yaml::a", "--eval-regrade=latest")
    alone.assert_outcomes(passed=1)
    alone.stdout.fnmatch_lines(
        ["*note: these trials are judged by the tasks that the run has stored:*rows.jsonl*"]
    )


WRONG = (
    (["shop.eval.yaml", "--eval-regrade="], "there is no run ''"),
    (["shop.eval.yaml", "--eval-regrade=latest", "--eval-agent=noop"], "runs no agent"),
    (["test_other.py", "--eval-regrade=latest"], "needs the config of the run"),
)
SAID = '{"type": "user", "content": "Go.", "timestamp": ""}\n'
DAMAGED = (
    ("task.json", "{", "task.json is damaged"),
    ("evidence.json", "[1]", "evidence.json is damaged"),
    ("messages.jsonl", SAID + '{"type\n' + SAID, "messages.jsonl:2 is damaged"),
)


def test_what_cannot_be_graded_is_refused_early(ran: Evals) -> None:
    """A wrong run, contradicting options and damaged files end with exit code 4 before anything is graded."""
    before = read(ran, "t")
    ran.pytester.makepyfile(test_other="def test_other(): raise SystemExit('it ran')")
    for arguments, message in WRONG:
        result = ran.run(*arguments)
        assert (result.ret, message in result.stderr.str()) == (4, True), message
    for name, text, message in DAMAGED:
        file = attempt(ran, "t") / name
        whole = file.read_text()
        file.write_text(text)
        result = ran.run("shop.eval.yaml", "--eval-regrade=latest")
        file.write_text(whole)
        assert (result.ret, message in result.stderr.str()) == (4, True), message
    assert read(ran, "t") == before
    assert len(list((ran.path / "results/shop").iterdir())) == 1


def test_a_run_that_lacks_something_meets_no_gate(ran: Evals) -> None:
    """What it passed says nothing of trials that it did not come to; what was not graded again is red."""
    run, some = ran.run_folder(), ("shop.eval.yaml::a", "shop.eval.yaml::p", "--eval-regrade=latest")
    ran.write_config(gate={"min_pass_rate": 0.5})
    remove_lines(run, "c")
    ended = ran.run(*some)
    assert ended.ret == 1
    ended.stdout.fnmatch_lines(["gate complete: 1 of the run's 5 trials have no result*"])
    (run / "summary.json").unlink()
    for _ in range(2):  # the first one must not write down what it does not know
        killed = ran.run(*some)
        assert killed.ret == 1
        killed.stdout.fnmatch_lines(
            ["gate complete: the run was ended before its summary.json was written:*"]
        )
    assert ran.summary()["selected"] is None
    (run / "summary.json").write_text('{"selected": 4}')
    (run / "selected.jsonl").unlink()
    (attempt(ran, "a") / "task.json").unlink()
    kept = ran.run(*some)
    kept.assert_outcomes(passed=3, errors=1)
    assert "not regraded, passed as it was: its folder has no task.json" in kept.stdout.str()


def test_a_run_that_is_regraded_by_half_meets_no_gate(ran: Evals) -> None:
    """Grades of two graders make no pass rate: neither in that session nor later, until all are new."""
    run = str(ran.run_folder())
    ran.write_config(graders=["answer"], gate={"min_pass_rate": 0.1, "max_error_rate": 1.0})
    first = ran.run_command("gate", run, "--config", "shop.eval.yaml")
    assert first.ret == 0, first.stdout.str()
    refused = ran.run("shop.eval.yaml", "--eval-regrade=latest", "--eval-set=gate.baseline=none.json")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert ran.run_command("gate", run, "--config", "shop.eval.yaml").ret == 0  # it has changed nothing
    half = ran.run("shop.eval.yaml", "--eval-regrade=latest", "-x", "--eval-set=gate.rows=fail")
    assert half.ret == pytest.ExitCode.TESTS_FAILED
    assert "regraded_at" in read(ran, "a")
    gate = ran.run_command("gate", run, "--config", "shop.eval.yaml")
    assert gate.ret == 1
    gate.stdout.fnmatch_lines(["*complete*2 trials kept older grades when the run was regraded: p, t.*"])
    ran.run("shop.eval.yaml", "--eval-regrade=latest")
    assert ran.run_command("gate", run, "--config", "shop.eval.yaml").ret == 0


def test_a_row_that_was_skipped_is_not_lacking(evals: Evals) -> None:
    """It had no result before and has none after: the run is as complete as it was."""
    evals.pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def only_some(request):
            if "later" in request.node.name:
                pytest.skip("not today")
        """
    )
    evals.write([row("now"), row("later")], gate={"min_pass_rate": 1.0})
    for args in ([], ["--eval-regrade=latest"]):
        run = evals.run("shop.eval.yaml", *args)
        assert run.ret == pytest.ExitCode.OK, run.stdout
        assert "have no result" not in " ".join(run.stdout.str().split())  # notes wrap


DEADLY_PLUGIN = """
import os
from pathlib import Path


def pytest_browsereval_grade(grader, recorded):
    if Path("deadly").exists() and recorded.task.query_id == "b":
        os._exit(9)
"""


@pytest.mark.slow
def test_a_process_that_dies(ran: Evals) -> None:
    """Killed alone, all is as it was; killed in a worker, the row is errored and its old grade is kept."""
    ran.pytester.makeconftest(DEADLY_PLUGIN)
    some = ("shop.eval.yaml::a", "shop.eval.yaml::b", "--eval-regrade=latest")
    before = read(ran, "b")
    (ran.path / "deadly").touch()
    assert ran.run_process(*some[1:]).ret == 9
    assert read(ran, "b") == before
    ran.run(*some, "-n1").assert_outcomes(passed=1, errors=1)
    assert "died while this attempt ran alone in it" in read(ran, "b")["reason"]
    assert [entry["verdict"] for entry in history(ran, "b")] == ["failed"]
    assert ran.summary()["errored"] == 2
    (ran.path / "deadly").unlink()
    ran.run(*some).assert_outcomes(passed=1, failed=1)
    assert [entry["verdict"] for entry in history(ran, "b")] == ["failed", "errored"]
    assert not list((ran.run_folder() / "in-flight").iterdir())
