"""Features are plug-ins of pytest like anybody's, and anybody may bring subcommands and formats."""

from __future__ import annotations

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row
from tests.hooks.test_registration import install

STARTS = """
def pytest_browsereval_start(config):
    print("started:", __file__.rpartition("/")[0].rpartition("/")[2], hasattr(config, "workerinput"))
"""


def test_a_feature_is_left_out_by_its_name(evals: Evals) -> None:
    """``-p no:browsereval.github`` leaves its summary out; its options are unknown then."""
    evals.write_rows(row("a"))
    evals.write_config()
    summary = evals.path / "summary.md"
    evals.pytester._monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert evals.run("shop.eval.yaml", "-p", "no:browsereval.github").ret == 0
    assert not summary.exists()
    assert evals.run("shop.eval.yaml").ret == 0
    assert summary.exists()
    refused = evals.run("shop.eval.yaml", "-p", "no:browsereval.dashboard", "--eval-dashboard")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*unrecognized arguments: --eval-dashboard*"])


def test_a_feature_that_there_is_not_is_warned_of(evals: Evals) -> None:
    """A typo would leave nothing out, and nobody would see it."""
    evals.write_rows(row("a"))
    evals.write_config()
    result = evals.run("shop.eval.yaml", "-p", "no:browsereval.dashbord", "-p", "no:browsereval.html")
    assert result.ret == 0
    text = " ".join(result.stdout.str().split())
    assert (
        "-p no:browsereval.dashbord: there is no such feature, so nothing is left out. Did you mean" in text
    )
    assert "Features: browseros, " in text
    assert "no:browsereval.html" not in text


def test_a_feature_starts_once(evals: Evals) -> None:
    """The hook is called when an eval is asked for, also in a conftest that comes up after that."""
    evals.write_rows(row("a"), row("b"))
    evals.write_config()
    (evals.path / "conftest.py").write_text(STARTS)
    below = evals.path / "z_below"
    below.mkdir()
    (below / "conftest.py").write_text(STARTS)
    (below / "test_more.py").write_text("def test_more(): pass\n")
    result = evals.run("-s")
    assert result.ret == 0
    started = [line.split("started: ")[1] for line in result.outlines if "started: " in line]
    assert sorted(started) == sorted([f"{evals.path.name} False", "z_below False"])
    other = evals.run("-s", "z_below")
    assert "started: " not in other.stdout.str()


@pytest.mark.slow
def test_a_worker_starts_features_too(evals: Evals) -> None:
    """Each process calls the hook, and can tell which it is."""
    evals.write_rows(row("a"), row("b"))
    evals.write_config()
    (evals.path / "conftest.py").write_text(
        "def pytest_browsereval_start(config):\n"
        "    name = getattr(config, 'workerinput', {}).get('workerid', 'main')\n"
        f"    open({str(evals.path)!r} + '/started-' + name, 'x').close()\n"
    )
    assert evals.run_process("shop.eval.yaml", "-n1").ret == 0
    assert sorted(path.name for path in evals.path.glob("started-*")) == ["started-gw0", "started-main"]


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("raise RuntimeError('no such luck')", "RuntimeError: no such luck ("),
        ("sys.exit(0)", "SystemExit: 0 ("),
        ("pytest.exit('enough', 0)", "pytest.exit(): enough ("),
    ],
)
def test_a_start_that_fails_is_bad_usage(evals: Evals, does: str, told: str) -> None:
    """The hook is named with its line, and pytest ends with 4, whatever exit code the hook asks for."""
    evals.write_rows(row("a"))
    evals.write_config()
    conftest = evals.path / "conftest.py"
    conftest.write_text(f"import pytest, sys\ndef pytest_browsereval_start(config):\n    {does}\n")
    result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert f"pytest_browsereval_start fails: {told}{conftest}:3). Mend the plug-in." in text
    assert "INTERNALERROR" not in text
    assert not (evals.path / "results").exists()


OFFERS = """
from pytest_browsereval import Command, ExportFormat, Exported

def greet(arguments):
    print("hello from a package")
    return 3

def pytest_browsereval_commands():
    broken = Command("broken", "break", greet, lambda parser: 1 / 0)
    view = Command("view", "another page", greet)
    return [Command("greet", "say hello", greet), view, broken, "not a command"]

def pytest_browsereval_run_formats():
    return [ExportFormat("acme/none", lambda store, target: Exported((), ("all of it",)))]
"""


def test_a_package_brings_subcommands(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """They are called like ours; what clashes or is none is left out, which is said."""
    install(evals, "acme_offers", OFFERS)
    assert main(["greet"]) == 3
    told = capsys.readouterr()
    assert told.out == "hello from a package\n"
    assert "both have a subcommand 'view'. That of pytest-browsereval is used" in told.err
    assert "returned 'not a command', which is not a Command" in told.err
    assert "the subcommand 'broken' cannot read its arguments: ZeroDivisionError" in told.err
    assert main(["broken"]) == 4


CODES = """
from pytest_browsereval import Command

async def never_awaited(arguments):
    return 0

def pytest_browsereval_commands():
    codes = {"nothing": None, "round": 256, "below": -256, "text": "0"}
    given = [Command(name, "end", lambda arguments, code=code: code) for name, code in codes.items()]
    return [*given, Command("later", "end", never_awaited)]
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nothing", "None"),
        ("round", "256"),
        ("below", "-256"),
        ("text", "a `str`"),
        ("later", "a `coroutine`"),
    ],
)
def test_a_subcommand_that_returns_no_exit_code_is_not_green(
    evals: Evals, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    """A shell would see 0 for some of these; the subcommand is named, and the command ends with 1."""
    install(evals, "acme_codes", CODES)
    assert main([name]) == 1
    message = (
        f"the subcommand '{name}' returned {told}, which is not an exit code (0 to 255). Mend the plug-in."
    )
    assert message in capsys.readouterr().err


RAISES = """
import pytest, sys
from pytest_browsereval import Command

def fails(arguments):
    raise ValueError("no such luck")

def pytest_browsereval_commands():
    ends = {"leaves": lambda arguments: sys.exit(0), "skips": lambda arguments: pytest.skip("so")}
    return [Command("fails", "fail", fails), *(Command(name, "end", run) for name, run in ends.items())]
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fails", "ValueError: no such luck ("),
        ("leaves", "SystemExit: 0 ("),
        ("skips", "pytest.skip(): so ("),
    ],
)
def test_a_subcommand_that_raises_is_named(
    evals: Evals, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    """One line with subcommand, package and place, and exit code 3, which is no verdict."""
    install(evals, "acme_raises", RAISES)
    assert main([name]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"browsereval: the subcommand {name!r} of acme_raises 2.5 broke: {told}")
    assert "acme_raises.py:" in line


def test_a_subcommand_of_ours_that_raises_shows_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reports the bug needs it."""
    monkeypatch.setattr("pytest_browsereval.providers.PROVIDERS", None)
    assert main(["providers"]) == 3
    told = capsys.readouterr().err
    assert told.startswith("Traceback (most recent call last)")
    assert "browsereval: the subcommand 'providers' broke: " in told


def test_a_package_brings_formats(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """``export`` writes them; an unknown one is refused with those that there are."""
    install(evals, "acme_offers", OFFERS)
    evals.write_rows(row("a"))
    evals.write_config()
    run = evals.run("shop.eval.yaml")
    assert run.ret == 0
    target = str(evals.path / "out")
    assert main(["export", str(run.folder), "--to", "acme/none", "-o", target]) == 0
    assert capsys.readouterr().out.startswith("0 of 1 attempt in ")
    assert main(["export", str(run.folder), "--to", "acme/non", "-o", target]) == 4
    told = capsys.readouterr().err
    assert "Did you mean 'acme/none'? Formats: online-mind2web, acme/none." in told


READERS = """
from dataclasses import replace
from pathlib import Path
from pytest_browsereval import GraderResult, Imported, ImportFormat, Task, Verdict

def one(name, folder):
    task = Task(query_id=name, query="Say it", dataset="acme", graders=("answer",), answer="right")
    grade = GraderResult(grader="answer", verdict=Verdict.PASSED, score=1.0, reasoning="so")
    return Imported(folder, task, [], {}, "right", grades={"answer": grade})

READS = {
    "raises": lambda folder: 1 / 0,
    "leaves": lambda folder: exit(0),
    "none": lambda folder: None,
    "texts": lambda folder: ["a"],
    "empty": lambda folder: [],
    "twice": lambda folder: [one("a", folder), one("a", folder)],
    "zeroth": lambda folder: [replace(one("a", folder), trial=0)],
    "later": lambda folder: (one(name, folder) for name in "ab"),
}

def pytest_browsereval_run_formats():
    return [ImportFormat(f"acme/{name}", read) for name, read in READS.items()]
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("raises", "the format 'acme/raises' broke: ZeroDivisionError: "),
        ("leaves", "the format 'acme/leaves' broke: SystemExit: 0 ("),
        ("none", "the format 'acme/none' broke: TypeError: "),
        ("texts", "the format 'acme/texts' returned a `str` among its attempts. Mend the plug-in."),
        ("empty", "the format 'acme/empty' finds no attempt there."),
        ("twice", "has the id 'a', as "),
        ("zeroth", "'acme/zeroth' returned an attempt of 'a' with the trial number 0. They begin with 1"),
    ],
)
def test_a_format_that_reads_nonsense_is_named(
    evals: Evals, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    """Nothing is written, and no attempt takes the place of another one."""
    install(evals, "acme_readers", READERS)
    target = evals.path / "out"
    assert main(["import-run", f"acme/{name}", str(evals.path), "-o", str(target)]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert not target.exists()


def test_a_format_may_yield_its_attempts(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """All are written, though they are read once only."""
    install(evals, "acme_readers", READERS)
    target = evals.path / "out"
    assert main(["import-run", "acme/later", str(evals.path), "-o", str(target)]) == 0
    assert f"2 attempts in {target}: 2 passed" in capsys.readouterr().out


CLASHING = """
from pytest_browsereval import ExportFormat, Exported

def pytest_browsereval_run_formats():
    first, second = (
        ExportFormat("acme/first", lambda store, target, name=name: Exported((target / name,), ()))
        for name in ("one", "two")
    )
    return [first, second]
"""


def test_formats_that_clash_are_told_at_once(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """The name is known, and which of the two has written it would be a guess; so is what it left out."""
    install(evals, "acme_clash", CLASHING)
    evals.write_rows(*map(row, "abc"))
    evals.write_config()
    run = str(evals.run("shop.eval.yaml").folder)
    target = str(evals.path / "out")
    assert main(["export", run, "--to", "acme/first", "-o", target]) == 0
    told = capsys.readouterr()
    assert "both have an ExportFormat 'acme/first'. That of acme_clash 2.5 is used; rename" in told.err
    first, left_out = told.out.splitlines()
    assert first == f"1 of 3 attempts in {target}"
    assert left_out == "left out: 2 attempts that the format 'acme/first' does not mention"


BROKEN_FORMATS = """
from pytest_browsereval import ExportFormat

def write_half(store, target):
    target.mkdir()
    raise RuntimeError("no such luck")

def pytest_browsereval_run_formats():
    return [ExportFormat("acme/half", write_half), ExportFormat("acme/mute", lambda store, target: None)]
"""


def test_a_format_that_breaks_is_named(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """What it leaves behind is said to be a part."""
    install(evals, "acme_formats", BROKEN_FORMATS)
    evals.write_rows(row("a"))
    evals.write_config()
    run = str(evals.run("shop.eval.yaml").folder)
    target = str(evals.path / "out")
    assert main(["export", run, "--to", "acme/half", "-o", target]) != 0
    told = capsys.readouterr().err
    assert "the format 'acme/half' broke: RuntimeError: no such luck (" in told
    assert f"What it has written to {target} is not whole." in told
    assert main(["export", run, "--to", "acme/mute", "-o", target]) != 0
    assert "the format 'acme/mute' returned None, which is not an Exported" in capsys.readouterr().err


def test_a_broken_package_keeps_no_subcommand_from_working(
    evals: Evals, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named with what to do, and the subcommand that was asked for runs."""
    install(evals, "acme_breaks", "1 / 0\n")
    assert main(["providers"]) == 0
    told = capsys.readouterr()
    assert "openai" in told.out
    assert "the entry point 'acme' = 'acme_breaks' of acme_breaks 2.5 cannot be loaded" in told.err


READS = """
class Shopping:
    name = "shopping"

    def convert(self, draft, environ):
        if "shopping_list" in draft.tree:
            draft.move(("shopping_list",), ("dataset",))

    def convert_blocks(self, draft, registry):
        if draft.tree.pop("shopper", None) is not None:
            draft.notes.append("shopper has no effect here")

def pytest_browsereval_register(registry):
    registry.add_reader(Shopping())
"""


def test_a_conftest_brings_a_reader_of_configs(evals: Evals) -> None:
    """A file with another system's words is a config; without the reader its keys are unknown."""
    evals.write_rows(row("a"))
    evals.write_config()
    config = evals.path / "shop.eval.yaml"
    config.write_text(config.read_text().replace("dataset:", "shopping_list:") + "\nshopper: me\n")
    refused = evals.run("shop.eval.yaml")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "shopping_list" in refused.stderr.str()
    (evals.path / "conftest.py").write_text(READS)
    read = evals.run("--eval-config=shop.eval.yaml")
    assert read.ret == 0, read.stdout.str() + read.stderr.str()
    assert "shopper has no effect here" in read.stdout.str()


def test_what_is_no_reader_is_refused(evals: Evals) -> None:
    """The message names what it lacks, and nothing is run."""
    evals.write_rows(row("a"))
    evals.write_config()
    (evals.path / "conftest.py").write_text(
        "def pytest_browsereval_register(registry):\n    registry.add_reader(lambda draft: None)\n"
    )
    refused = evals.run("shop.eval.yaml")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    told = "adds a `function` as a reader of configs, which has no name, convert, convert_blocks."
    assert told in refused.stderr.str()


RULE = """
from typing import Literal

import pytest
from pytest_browsereval import GateRule, RuleResult

class MostTrials(GateRule):
    type: Literal["most_trials"] = "most_trials"
    most: int
    limits_failures = True

    def check(self, trials):
        if self.most == 13:
            pytest.skip("no rule of mine")
        if self.most == 14:
            return True
        if self.most == 15:
            return RuleResult("mine", is_met=True, message="nobody can say", is_undecided=True)
        return RuleResult("mine", is_met=len(trials) <= self.most, message=f"there are {len(trials)} trials")

def pytest_browsereval_register(registry):
    registry.register(MostTrials)
"""


def decide_by(evals: Evals, *most: int) -> EvalRun:
    evals.write_rows(row("a"), row("b"))
    evals.write_config(gate={"rules": [{"type": "most_trials", "most": number} for number in most]})
    (evals.path / "conftest.py").write_text(RULE)
    return evals.run("shop.eval.yaml", "-rA")


def test_a_plug_in_brings_a_gate_rule(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """It is an item like ours, decides the exit code, and is asked again by the folder."""
    run = decide_by(evals, 9)
    assert run.ret == 0, run.stdout.str()
    assert "gate::most_trials" in run.stdout.str()
    assert decide_by(evals, 0).ret == 1
    assert decide_by(evals, 9, 0).ret == 1
    conf = str(evals.path / "shop.eval.yaml")
    capsys.readouterr()
    assert main(["gate", str(run.folder), "--config", conf]) == 1
    assert "most_trials[2]" in capsys.readouterr().out
    assert main(["gate", str(run.folder)]) == 4
    told = capsys.readouterr().err
    assert "unknown rule 'most_trials'" in told
    assert "A rule of a conftest is known with --config FILE." in told


@pytest.mark.parametrize(
    ("most", "told"),
    [
        (13, "the rule 'most_trials' broke: pytest.skip"),
        (14, "the rule 'most_trials' returned bool, not a RuleResult"),
        (15, "nobody can say"),  # `undecided: fail` holds for rules of plug-ins too
    ],
)
def test_a_rule_that_breaks_is_not_met(evals: Evals, most: int, told: str) -> None:
    """Nobody knows what it would have said, so the run is not green."""
    run = decide_by(evals, most)
    assert run.ret == 1
    assert told in run.stdout.str()
    assert "xfailed" not in run.stdout.str()


def test_rules_are_refused_where_nobody_brings_one(evals: Evals) -> None:
    """An unknown rule ends the run before anything is spent, with its line."""
    evals.write_rows(row("a"))
    evals.write_config(gate={"rules": [{"type": "acme/most"}]})
    refused = evals.run("shop.eval.yaml")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "unknown rule 'acme/most'" in refused.stderr.str()
