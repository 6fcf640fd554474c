"""Members from conftests and packages, and the hooks that change or watch a run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.small_evals import WORKERS, Evals, row

MEMBER = """
from typing import Literal
from pytest_browsereval import AgentConfig

class Mine(AgentConfig):
    type: Literal["{name}"] = "{name}"

    def build(self, context):
        raise NotImplementedError

def pytest_browsereval_register(registry):
    registry.register(Mine)
"""


def install(evals: Evals, module: str, text: str, name: str = "acme") -> None:
    """Write what an installed package leaves behind: a module and the metadata that pip writes."""
    site = evals.path / "site-packages"
    info = site / f"{module}-2.5.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 2.5\n")
    (info / "entry_points.txt").write_text(f"[pytest_browsereval]\n{name} = {module}\n")
    (site / f"{module}.py").write_text(text)
    evals.pytester._monkeypatch.setenv("PYTHONPATH", str(site))  # for workers
    evals.pytester.syspathinsert(site)


BROKEN = {
    "import": (
        "import nothing_of_that_name",
        "the entry point 'acme' = 'acme_kit' of acme_kit 2.5 cannot be loaded: ModuleNotFoundError: *:acme.",
    ),
    "prefix": (
        MEMBER.format(name="clicker"),
        "acme_kit 2.5 registers the agent 'clicker'. Members of an installed package are named 'acme/...'*",
    ),
    "hook": (
        "def pytest_browsereval_register(registry):\n    registry.register(1 / 0)\n",
        "pytest_browsereval_register of acme_kit 2.5 fails: ZeroDivisionError: *acme_kit.py:2*",
    ),
    "leaves": (
        "import sys\nsys.exit(0)\n",
        "the entry point 'acme' = 'acme_kit' of acme_kit 2.5 cannot be loaded: SystemExit: 0*",
    ),
    "exit": (
        "import sys\ndef pytest_browsereval_register(registry):\n    sys.exit(0)\n",
        "pytest_browsereval_register of acme_kit 2.5 fails: SystemExit: 0*",
    ),
    "signature": (
        "def pytest_browsereval_grade(grader, nothing_of_that_name): ...\n",
        "the entry point 'acme' = * cannot be loaded: the hook *:1) takes 'nothing_of_that_name', which is*",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_stops_an_eval_and_nothing_else(evals: Evals, case: str) -> None:
    """A package that cannot be used ends an eval with exit code 4; runs without an eval never load it."""
    text, message = BROKEN[case]
    install(evals, "acme_kit", text)
    evals.write([row("a")])
    evals.pytester.makepyfile(test_other="def test_other(): pass")
    result = evals.run("--eval-config=shop.eval.yaml")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    if case == "import":
        bare = evals.run("--co")  # the eval file is found in the middle of collecting
        assert bare.ret == 4
        bare.stderr.fnmatch_lines([f"ERROR: {message}"])
        assert evals.run("shop.eval.yaml", "--co", "-p", "no:acme").ret == 0
        evals.run("test_other.py").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "way",
    [["."], ["--eval-config=sub/shop.eval.yaml"], pytest.param(["-n2"], marks=pytest.mark.slow)],
    ids=["bare", "option", "xdist"],
)
def test_a_clash_of_two_conftests_names_both(evals: Evals, way: list[str]) -> None:
    """Two conftests that bring a member of one name end the run with exit code 4, whenever they come up."""
    for folder in ("", "sub"):
        (evals.path / folder).mkdir(exist_ok=True)
        (evals.path / folder / "conftest.py").write_text(MEMBER.format(name="mine"))
    evals.write_rows(row("a"), name="sub/rows.jsonl")
    evals.write_config("sub/shop.eval.yaml")
    result = evals.run(*way)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert (
        "Two members of the family 'agent' are named 'mine': conftest.Mine (from conftest.py) and "
        "conftest.Mine (from sub/conftest.py). Rename one"
    ) in text
    assert "INTERNALERROR" not in text


@WORKERS
def test_a_bad_file_that_a_bare_run_finds_is_not_green(evals: Evals, workers: list[str]) -> None:
    """A bare ``pytest`` that comes upon an eval file that cannot be used ends with exit code 4, not 0."""
    evals.write_rows(row("a"), name="sub/rows.jsonl")
    evals.write_config("sub/shop.eval.yaml", lanez=3)
    evals.pytester.makepyfile(test_other="def test_other(): pass")
    result = evals.run(*workers)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert text.count("Did you mean 'lanes'") == 1
    assert "INTERNALERROR" not in text


WRONG = {
    "async": (
        "async def pytest_browsereval_task_done(metadata): ...",
        "ERROR: the hook pytest_browsereval_task_done (*conftest.py:1) is `async def`, but hooks are not *",
    ),
    "name": (
        "def pytest_browsereval_task_don(metadata): ...",
        "ERROR: there is no hook * (*conftest.py:1). Did you mean 'pytest_browsereval_task_done'? Hooks: *",
    ),
    "argument": (
        "def pytest_browsereval_task_done(metadatas): ...",
        "ERROR: the hook * (*conftest.py:1) takes 'metadatas', *. Did you mean 'metadata'? Its arguments: *",
    ),
}


@pytest.mark.parametrize(
    "options", [[], pytest.param(["-n1"], marks=pytest.mark.slow), ["--co"]], ids=["plain", "xdist", "list"]
)
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_hook_is_refused_in_a_sentence(evals: Evals, case: str, options: list[str]) -> None:
    """A hook that is async, misspelt, or takes what there is not ends the run with exit code 4, once told."""
    text, message = WRONG[case]
    evals.pytester.makeconftest(text)
    result = evals.play([row("a")], *options)
    assert result.ret == 4
    result.stderr.fnmatch_lines([message])
    everything = result.stdout.str() + result.stderr.str()
    assert everything.count("conftest.py:1)") == 1
    assert "INTERNALERROR" not in everything
    assert "Traceback" not in everything
    assert not (evals.path / "results").exists()


HOOKS = """
import json, pathlib, threading
from typing import Literal
import pytest
from pytest_browsereval import (
    AgentConfig, AgentEvaluator, AgentResult, EvalConfig, GraderConfig, GraderResult, Recorded, Registry,
    Task, TaskMetadata, Verdict,
)
LOG = pathlib.Path("hooks.jsonl")

def log(hook, **told):
    with LOG.open("a") as file:
        is_main = threading.current_thread() is threading.main_thread()
        file.write(json.dumps({"hook": hook, "main": is_main, **told}) + "\\n")

class Parrot(AgentConfig):
    type: Literal["parrot"] = "parrot"

    def build(self, context):
        raise AssertionError("the hook stands in for it")

class Repeats(AgentEvaluator):
    def __init__(self, context):
        self.context = context

    async def execute(self):
        result = await self.context.tools.call("done", {"answer": self.context.task.query})
        return AgentResult(self.context.tools.answer)

def pytest_browsereval_register(registry):
    assert isinstance(registry, Registry)
    registry.register(Parrot)
    log("register")

def pytest_browsereval_modify_task(task, config):
    assert isinstance(task, Task) and isinstance(config, EvalConfig)
    log("modify_task", row=task.query_id)
    if task.query_id == "a":
        return task.model_copy(update={"query": "right"})

def pytest_browsereval_window_opened(window, task):
    log("window_opened", row=task.query_id, url=window.url)

def pytest_browsereval_create_agent(context):
    log("create_agent", row=context.task.query_id)
    return Repeats(context)

def pytest_browsereval_message(node_id, message):
    log("message", row=node_id, kind=message.type)

def pytest_browsereval_grade(grader, recorded):
    assert isinstance(grader, GraderConfig) and isinstance(recorded, Recorded)
    log("grade", row=recorded.task.query_id, answer=recorded.final_answer)
    if recorded.task.query_id == "c":
        return GraderResult(grader=grader.label, verdict=Verdict.PASSED, score=0.75, reasoning="by the hook")

def pytest_browsereval_task_done(metadata, folder):
    assert isinstance(metadata, TaskMetadata) and (folder / "metadata.json").exists()
    log("task_done", row=metadata.query_id, verdict=str(metadata.verdict))

def pytest_browsereval_run_summary(summary, run_folder):
    log("run_summary", trials=len(summary.trials), folder=str(run_folder))
"""

COURSE = [
    ("modify_task", None),
    ("window_opened", "about:blank"),
    ("message", "user"),
    ("create_agent", None),
    ("message", "tool_call"),
    ("message", "tool_result"),
    ("grade", None),
    ("task_done", None),
]
"""The hooks of one attempt, in order, with what tells them apart."""


def told_by(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "hooks.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    "options",
    [["--eval-lanes=1"], ["--eval-lanes=3"], pytest.param(["--eval-lanes=2", "-n2"], marks=pytest.mark.slow)],
    ids=["one lane", "three lanes", "two workers"],
)
def test_hooks_come_in_order_with_their_arguments(evals: Evals, options: list[str]) -> None:
    """Each hook is called at its place of every attempt, and what it returns counts, lanes or not."""
    evals.pytester.makeconftest(HOOKS)
    evals.write_rows(*(row(query_id, query=f"Say {query_id}", solution=[]) for query_id in "abc"))
    evals.write_config(agent="parrot", capture={"screenshots": "off"})
    result = evals.run("shop.eval.yaml", *options)
    result.assert_outcomes(passed=2, failed=1)
    told = told_by(evals.path)
    processes = 3 if "-n2" in options else 1
    assert Counter(one["hook"] for one in told)["register"] == processes
    assert told[0]["hook"] == "register"
    assert (told[-1]["hook"], told[-1]["trials"], told[-1]["folder"]) == (
        "run_summary",
        3,
        str(evals.run_folder()),
    )
    for query_id in "abc":
        own = [one for one in told if one.get("row") in (query_id, f"shop.eval.yaml::{query_id}")]
        assert [(one["hook"], one.get("url", one.get("kind"))) for one in own] == COURSE
        assert [one["main"] for one in own] == [False] * 7 + [True]
    if "--eval-lanes=1" in options:
        assert [one["row"] for one in told if one["hook"] == "task_done"] == ["a", "b", "c"]
    answers = {one["row"]: one["answer"] for one in told if one["hook"] == "grade"}
    assert answers == {"a": "right", "b": "Say b", "c": "Say c"}
    scores = {r["query_id"]: r["grades"]["answer"]["score"] for r in evals.summary()["results"]}
    assert scores == {"a": 1.0, "b": 0.0, "c": 0.75}
