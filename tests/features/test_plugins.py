"""Features are plug-ins of pytest like anybody's, and anybody may bring subcommands and formats."""

from __future__ import annotations

import pytest

from pytest_browsereval.__main__ import main
from tests.hooks.small_evals import Evals, row
from tests.hooks.test_registration import install

STARTS = """
def pytest_browsereval_start(config):
    print("started:", __file__.rpartition("/")[0].rpartition("/")[2], hasattr(config, "workerinput"))
"""


def test_a_feature_is_left_out_by_its_name(evals: Evals) -> None:
    """``-p no:browsereval.github`` leaves its summary out; its options are unknown then."""
    evals.write([row("a")])
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
    result = evals.play([row("a")], "-p", "no:browsereval.dashbord", "-p", "no:browsereval.html")
    assert result.ret == 0
    text = " ".join(result.stdout.str().split())
    assert (
        "-p no:browsereval.dashbord: there is no such feature, so nothing is left out. Did you mean" in text
    )
    assert "Features: atif, attacks, browseros, " in text
    assert "no:browsereval.html" not in text


def test_a_feature_starts_once(evals: Evals) -> None:
    """The hook is called when an eval is asked for, also in a conftest that comes up after that."""
    evals.write([row("a"), row("b")])
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
    evals.write([row("a"), row("b")])
    (evals.path / "conftest.py").write_text(
        "def pytest_browsereval_start(config):\n"
        "    name = getattr(config, 'workerinput', {}).get('workerid', 'main')\n"
        f"    open({str(evals.path)!r} + '/started-' + name, 'x').close()\n"
    )
    assert evals.run("shop.eval.yaml", "-n1").ret == 0
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
    evals.write([row("a")])
    conftest = evals.path / "conftest.py"
    conftest.write_text(f"import pytest, sys\ndef pytest_browsereval_start(config):\n    {does}\n")
    result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert f"pytest_browsereval_start fails: {told}{conftest}:3). Fix the plug-in." in text
    assert "INTERNALERROR" not in text
    assert not (evals.path / "results").exists()


OFFERS = """
from pytest_browsereval import Command

def greet(arguments):
    print("hello from a package")
    return 3

def pytest_browsereval_commands():
    broken = Command("broken", "break", greet, lambda parser: 1 / 0)
    view = Command("view", "another page", greet)
    return [Command("greet", "say hello", greet), view, broken, "not a command"]
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
    codes = {"nothing": None, "round": 256, "text": "0"}
    given = [Command(name, "end", lambda arguments, code=code: code) for name, code in codes.items()]
    return [*given, Command("later", "end", never_awaited)]
"""


@pytest.mark.parametrize(
    ("name", "told"), [("nothing", "None"), ("round", "256"), ("text", "a `str`"), ("later", "a `coroutine`")]
)
def test_a_subcommand_that_returns_no_exit_code_is_not_green(
    evals: Evals, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    """A shell would see 0 for some of these; the subcommand is named, and the command ends with 1."""
    install(evals, "acme_codes", CODES)
    assert main([name]) == 1
    message = (
        f"the subcommand '{name}' returned {told}, which is not an exit code (0 to 255). Fix the plug-in."
    )
    assert message in capsys.readouterr().err


RAISES = """
import pytest, sys
from pytest_browsereval import Command

def fails(arguments):
    raise ValueError("no such luck")

def pytest_browsereval_commands():
    ends = {"leaves": lambda arguments: sys.exit(0)}
    return [Command("fails", "fail", fails), *(Command(name, "end", run) for name, run in ends.items())]
"""


@pytest.mark.parametrize(
    ("name", "told"), [("fails", "ValueError: no such luck ("), ("leaves", "SystemExit: 0 (")]
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
    monkeypatch.setattr("pytest_browsereval.features.shared.config_schema.config_schema", None)
    assert main(["schema"]) == 3
    told = capsys.readouterr().err
    assert told.startswith("Traceback (most recent call last)")
    assert "browsereval: the subcommand 'schema' broke: " in told


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
    "none": lambda folder: None,
    "texts": lambda folder: ["a"],
    "empty": lambda folder: [],
    "twice": lambda folder: [one("a", folder), one("a", folder)],
    "later": lambda folder: (one(name, folder) for name in "ab"),
}

def pytest_browsereval_run_formats():
    return [ImportFormat(f"acme/{name}", read) for name, read in READS.items()]
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("raises", "the format 'acme/raises' broke: ZeroDivisionError: "),
        ("none", "the format 'acme/none' broke: TypeError: "),
        ("texts", "the format 'acme/texts' returned a `str`, which is not an attempt whose trial is"),
        ("empty", "the format 'acme/empty' finds no attempt there."),
        ("twice", "has the id 'a', and so has "),
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
from pytest_browsereval import ImportFormat

def pytest_browsereval_run_formats():
    return [ImportFormat("acme/first", lambda folder: []), ImportFormat("acme/first", None), "acme/second"]
"""


def test_formats_that_clash_are_told_at_once(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """The name is known, and which of the two has read it would be a guess."""
    install(evals, "acme_clash", CLASHING)
    assert main(["import-run", "acme/first", str(evals.path), "-o", str(evals.path / "out")]) == 4
    told = capsys.readouterr().err
    assert "acme_clash 2.5: 'acme/first' is not an ImportFormat with a name of its own, and" in told
    assert "'acme/second' is not an ImportFormat" in told
