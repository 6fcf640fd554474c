"""Features, packages and conftests answer alike in a session and in a command."""

from __future__ import annotations

import pytest

from pytest_browsereval.__main__ import main
from tests.hooks.small_evals import Evals, row
from tests.hooks.test_registration import install

CAUSE = """
from pytest_browsereval import Cause

def pytest_browsereval_find_cause(metadata, folder):
    return Cause("own", "the moon, says {name}", "", (), None, "")
"""
OURS = "likely wrong row"
"""What our own feature says of these rows."""


@pytest.fixture
def failing(evals: Evals) -> Evals:
    """Two rows that fail alike."""
    evals.write([row("a", says="wrong"), row("b", says="wrong")])
    return evals


def find_shown(evals: Evals, capsys: pytest.CaptureFixture[str], *left_out: str) -> list[str]:
    """Run the eval; return what the terminal, the page and two commands show."""
    terminal = evals.run("shop.eval.yaml", *left_out).stdout.str()
    page = (evals.run_folder() / "index.html").read_text()
    capsys.readouterr()
    near = ("--config", "shop.eval.yaml")
    assert main([*left_out, "view", "latest", *near, "-o", "again.html"]) == 0
    assert main([*left_out, "runs", "latest", *near]) == 0
    return [terminal, page, (evals.path / "again.html").read_text(), capsys.readouterr().out]


def test_a_cause_is_the_same_wherever_it_is_shown(failing: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """A conftest is asked before a package, and a package before a feature: in each report."""
    assert not any("the moon" in text for text in find_shown(failing, capsys))
    install(failing, "acme_causes", CAUSE.format(name="a package"))
    assert all("the moon, says a package" in text for text in find_shown(failing, capsys))
    (failing.path / "conftest.py").write_text(CAUSE.format(name="a conftest"))
    shown = find_shown(failing, capsys)
    assert all("the moon, says a conftest" in text for text in shown)
    assert not any("the moon, says a package" in text for text in shown)


def test_what_is_left_out_is_left_out_everywhere(failing: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """``-p no:NAME`` means the same in front of a subcommand; a subcommand of the feature is unknown then."""
    assert all(OURS in text for text in find_shown(failing, capsys))
    without = find_shown(failing, capsys, "-p", "no:browsereval.causes")
    assert not any(OURS in text for text in without)
    with pytest.raises(SystemExit):
        main(["-p", "no:browsereval.causes", "causes", "latest"])
    assert "there is no subcommand 'causes'" in capsys.readouterr().err


JUDGES = """
from pytest_browsereval import RuleResult

def pytest_browsereval_judge_run(run, gate):
    bad = [one.query_id for one in run.attempts if one.steps]
    return [RuleResult("no_steps", not bad, f"{len(bad)} attempts had steps")]

def pytest_browsereval_sum_up(run):
    return {"attempts_read": len(run.attempts)}

def pytest_browsereval_describe_run(run):
    return [f"attempts read: {len(run.attempts)}"]
"""


def test_a_package_judges_a_run_in_its_session_and_later(
    evals: Evals, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its rule is an item of the session, and missed there as `browsereval gate` misses it."""
    install(evals, "acme_judges", JUDGES)
    done = evals.play([row("a"), row("b")], gate={"min_pass_rate": 0.5})
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*gate not met: 2 attempts had steps*", "*attempts read: 2*"])
    assert evals.summary()["attempts_read"] == 2
    assert main(["gate", "latest"]) == 1
    assert "2 attempts had steps" in capsys.readouterr().out
    assert main(["-p", "no:acme", "gate", "latest"]) == 4
    assert "was also judged by acme_judges, which this command has not loaded" in capsys.readouterr().err
    assert evals.run("shop.eval.yaml", "-p", "no:acme").ret == 0
    assert main(["-p", "no:acme", "gate", "latest"]) == 0
    capsys.readouterr()
    assert main(["runs", "latest"]) == 0
    assert "left out  acme" in capsys.readouterr().out


def test_a_command_that_lacks_a_conftest_decides_nothing(
    evals: Evals, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run names the conftest that has judged it; with ``--config FILE`` the gate is the session's."""
    (evals.path / "conftest.py").write_text(JUDGES)
    assert evals.play([row("a"), row("b")], gate={"min_pass_rate": 0.5}).ret == pytest.ExitCode.TESTS_FAILED
    assert main(["gate", "latest"]) == 4
    assert "was also judged by conftest.py" in capsys.readouterr().err
    assert main(["gate", "latest", "--config", "shop.eval.yaml"]) == 1
    assert "2 attempts had steps" in capsys.readouterr().out
