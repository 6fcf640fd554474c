"""What a plug-in raises or returns against its contract: it is named, and the run ends in order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

MEMBERS = """
from pathlib import Path
from typing import ClassVar, Literal
from pytest_browsereval import (
    AgentConfig, DatasetConfig, GraderConfig, RowRef, Task, Toolkit, ToolkitConfig, ToolError,
)
from pytest_browsereval.testing.blank import BlankBrowser, BlankBrowserConfig

class Agent(AgentConfig):
    type: Literal["nimbus/agent"] = "nimbus/agent"

    def build(self, context):
        raise AssertionError("no attempt begins")

class Rows(DatasetConfig):
    type: Literal["nimbus/rows"] = "nimbus/rows"

    def index(self, base_dir, ids=None):
        lines = self.file(base_dir).read_text().splitlines()
        return [RowRef(line.split(",")[0], self.file(base_dir), n, n - 1) for n, line in enumerate(lines, 1)]

    def read(self, ref):
        line = ref.path.read_text().splitlines()[ref.offset]
        name, tags = line.split(",")
        return Task(
            query_id=name, query="Say right", dataset="nimbus", graders=("answer",), answer="right",
            tags=tuple(tags.split()), solution=({"tool": "done", "answer": "right"},),
        )

class Grader(GraderConfig):
    type: Literal["nimbus/grader"] = "nimbus/grader"

    async def grade(self, recorded):
        raise AssertionError("no attempt begins")

class Kit(ToolkitConfig):
    type: Literal["nimbus/kit"] = "nimbus/kit"

    def build(self):
        return Toolkit("nimbus/kit", "Kit", (), needs_page=False)

class Windows(BlankBrowserConfig):
    type: Literal["nimbus/windows"] = "nimbus/windows"

    def build(self):
        return Blank()

class Blank(BlankBrowser):
    pass

def boom(*args, **kwargs):
    raise RuntimeError("no such luck")

async def aboom(*args, **kwargs):
    raise RuntimeError("no such luck")

async def interrupted(*args, **kwargs):
    raise KeyboardInterrupt("by itself")

async def exits(*args, **kwargs):
    raise SystemExit(7)

async def anone(*args, **kwargs):
    return None

def pytest_browsereval_register(registry):
    for member in (Agent, Rows, Grader, Kit, Windows):
        registry.register(member)
"""

RAISED = "raised RuntimeError: no such luck ({conftest}:"
CONFIGS: dict[str, dict[str, Any]] = {
    "Agent": {"agent": "nimbus/agent"},
    "Rows": {"dataset": {"type": "nimbus/rows", "path": "rows.csv"}},
    "Grader": {"graders": ["nimbus/grader"]},
    "Kit": {"toolkits": ["nimbus/kit"]},
    "Windows": {"browser": "nimbus/windows"},
    "Blank": {"browser": "nimbus/windows"},
}
FAMILIES = {"Agent": "agent", "Rows": "dataset", "Grader": "grader", "Kit": "toolkit", "Windows": "browser"}
NAMES = {
    member: f"the {family} 'nimbus/{member.lower()}' (conftest.{member}): "
    for member, family in FAMILIES.items()
}
NAMES["Blank"] = NAMES["Windows"]
NONE = "returned None, which is not "
BEFORE: dict[str, tuple[str, str]] = {
    "Agent.check = boom": ("Agent", f"`check` {RAISED}"),
    "Agent.secrets = boom": ("Agent", f"`secrets` {RAISED}"),
    "Agent.secrets = lambda self: (1,)": ("Agent", "`secrets` returned a `int`, which is not a string"),
    "Grader.needs = boom": ("Grader", f"`needs` {RAISED}"),
    "Grader.needs = lambda *args: None": ("Grader", f"`needs` {NONE}a Needs ({{conftest}}:"),
    "Rows.index = boom": ("Rows", f"`index` {RAISED}"),
    "Rows.index = lambda *args: ['a']": ("Rows", "`index` returned a `str`, which is not a RowRef"),
    "Rows.read = boom": ("Rows", f"`read` {RAISED}"),
    "Rows.read = lambda *args: {'query_id': 'a'}": ("Rows", "`read` returned a `dict`, which is not a Task"),
    "Rows.relates = boom": ("Rows", f"`relates` {RAISED}"),
    "Kit.build = lambda self: None": ("Kit", f"`build` {NONE}a Toolkit ({{conftest}}:"),
    "Windows.survey = aboom": ("Windows", f"`survey` {RAISED}"),
    "Windows.build = lambda self: None": ("Windows", f"`build` {NONE}a Browser ({{conftest}}:"),
    "Blank.start = aboom": ("Blank", f"`Blank.start` {RAISED}"),
    "Blank.start = exits": ("Blank", "`Blank.start` raised SystemExit: 7 ({conftest}:"),
    "Blank.start = interrupted": ("Blank", "`Blank.start` raised KeyboardInterrupt: by itself ({conftest}:"),
}
"""What a plug-in does, the member that it is of, and what is said of it."""


def written(evals: Evals, does: str, member: str) -> None:
    evals.pytester.makeconftest(f"{MEMBERS}\n{does}\n")
    (evals.path / "rows.csv").write_text("a,smoke\n" + "b,\n" * ("relates" in does))
    evals.write([row("a", tags=["x"])], **CONFIGS.get(member, {}))


@pytest.mark.parametrize("does", BEFORE)
def test_a_fault_before_the_run_names_the_plug_in(evals: Evals, does: str) -> None:
    """The run ends with exit code 4 and one message with type, class, method and line; nothing is spent."""
    member, told = BEFORE[does]
    written(evals, does, member)
    if "relates" in does:
        (evals.path / "rows.csv").write_text("".join(f"r{number},x\n" for number in range(30)))
    result = evals.run("shop.eval.yaml")
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert NAMES[member] + told.format(conftest=evals.path / "conftest.py") in text
    assert "Fix the plug-in." in text
    assert "INTERNALERROR" not in text
    assert "Traceback" not in text
    assert not (evals.path / "results").exists()


VALIDATED = """
from pydantic import field_validator
class Odd(GraderConfig):
    type: Literal["odd"] = "odd"
    word: str = "x"

    @field_validator("word")
    @classmethod
    def _is_known(cls, value):
        return {"right": 1}[value]

    async def grade(self, recorded):
        raise AssertionError("no attempt begins")

def pytest_browsereval_register(registry):
    registry.register(Odd)
"""


@pytest.mark.parametrize("place", ["config", "row"])
def test_a_validator_that_raises_names_its_member(evals: Evals, place: str) -> None:
    """A block whose class raises what pydantic does not expect: exit code 4, the class, and the line."""
    written(evals, VALIDATED, "")
    blocks = [{"type": "odd", "word": "wrong"}]
    keys: dict[str, Any] = {"graders": blocks} if place == "config" else {}
    result = evals.play([row("a", graders=blocks if place == "row" else ["answer"])], **keys)
    assert result.ret == 4
    text = result.stderr.str()
    assert "the grader 'odd' (conftest.Odd) cannot be built from its block: KeyError: 'wrong' (" in text
    assert "conftest.py:" in text


@pytest.mark.parametrize(
    "does", ["Agent.check = quotes", "Agent.preflight = quotes", "Blank.start = aquotes"]
)
def test_a_fault_that_quotes_a_secret_is_redacted(evals: Evals, does: str) -> None:
    """What a plug-in raises before the run is told without the secrets of the config's members."""
    quoting = """
def quotes(*args):
    raise RuntimeError("tok-0123456 was refused")
async def aquotes(*args):
    quotes()
Agent.secrets = Windows.secrets = lambda self: ("tok-0123456",)
"""
    written(evals, f"{quoting}{does}", does.partition(".")[0])
    result = evals.run("shop.eval.yaml")
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "raised RuntimeError: [redacted] was refused" in text
    assert "tok-0123456" not in text


DURING: dict[str, str] = {
    "anone": f"{NONE}a Window ({{conftest}}:",
    "interrupted": "raised KeyboardInterrupt: by itself ({conftest}:",
    "aboom": RAISED,
}


HOOKS = {"modify_task": "harness", "window_opened": "harness", "create_agent": "agent"}


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_raises_in_an_attempt_is_named(evals: Evals, hook: str) -> None:
    """With the plug-in that has it, though another one has it too and the error is raised in a library."""
    evals.pytester.makepyfile(other=f"def pytest_browsereval_{hook}(): return None\n")
    evals.pytester.syspathinsert()
    written(evals, f"import json\ndef pytest_browsereval_{hook}(): json.loads('{{{{')", "")
    result = evals.run("shop.eval.yaml", "-p", "other")
    result.assert_outcomes(errors=1)
    metadata = result.attempt("a")
    assert metadata.error_source == HOOKS[hook]
    place = evals.path / "conftest.py"
    assert f"pytest_browsereval_{hook} ({place}:" in metadata.reason
    assert ") raised JSONDecodeError: " in metadata.reason
    assert "other.py" not in metadata.reason


@pytest.mark.parametrize("does", DURING)
def test_a_fault_in_an_attempt_names_the_plug_in(evals: Evals, does: str) -> None:
    """The row is errored, and its reason says whose method it was; the run ends as usual."""
    written(evals, f"Blank.open_window = {does}", "Blank")
    result = evals.run("shop.eval.yaml")
    result.assert_outcomes(errors=1)
    metadata = result.attempt("a")
    assert metadata.error_source == "window_creation"
    told = DURING[does].format(conftest=evals.path / "conftest.py")
    assert f"{NAMES['Blank']}`open_window` {told}" in metadata.reason


@pytest.mark.parametrize(
    "options", [[], pytest.param(["-n1"], marks=pytest.mark.slow)], ids=["plain", "xdist"]
)
@pytest.mark.parametrize("how", ["aboom", "interrupted", "exits"])
def test_a_browser_that_cannot_be_closed_costs_no_report(evals: Evals, how: str, options: list[str]) -> None:
    """Table, JUnit file and the exit code of the verdicts are there; what went wrong is told behind them."""
    written(evals, f"Blank.close = {how}", "Blank")
    result = evals.run("shop.eval.yaml", "--junit-xml=junit.xml", *options)
    assert result.ret == 0
    result.assert_outcomes(passed=1)
    told = f"{NAMES['Blank']}`Blank.close` raised "
    text = result.stdout.str()
    assert text.index("pass rate 100.0%") < text.index("eval cleanup errors") < text.index(told)
    assert text.count(told) == 1
    assert 'testcase classname="shop.eval.yaml" name="a"' in (evals.path / "junit.xml").read_text()
    assert evals.summary()["passed"] == 1
