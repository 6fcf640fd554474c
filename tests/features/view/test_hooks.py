"""Every run folder has its page, and a run does not depend on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.commands.base import open_door, run_command
from tests.hooks.small_evals import Evals, row


def data_of(evals: Evals) -> dict[str, Any]:
    """Return what the page of the newest run shows."""
    text = (evals.run_folder() / "index.html").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    return found


@pytest.mark.slow
def test_a_run_has_its_page(evals: Evals) -> None:
    """Also under xdist: written once the worker is done, by the controller."""
    evals.play([row("a"), row("b", says="wrong"), row("c")], "-n", "1")
    data = data_of(evals)
    assert [data["totals"][name] for name in ("passed", "failed", "errored")] == [2, 1, 0]
    assert data["run"]["selected"] == 3
    (details,) = (evals.run_folder() / "index.files").iterdir()
    assert details.read_text().count('"tasks/') == 0
    assert '"a/default/1/attempt-1":' in details.read_text()


RULE = """
from typing import Literal
from pytest_browsereval import GateRule, RuleResult

class Answered(GateRule):
    type: Literal["answered"] = "answered"

    def check(self, trials):
        bad = [one.query_id for one in trials if one.query_id != "a"]
        return RuleResult("x", is_met=False, message="too few", tasks=bad)

class Junk(Answered):
    type: Literal["junk"] = "junk"

    def check(self, trials):
        return RuleResult("x", is_met=True, message="fine", tasks=3)

def pytest_browsereval_register(registry):
    registry.register(Answered)
    registry.register(Junk)
"""


def test_each_rule_leads_to_what_decided_it(evals: Evals) -> None:
    """Rules against a baseline and of plug-ins by their rows."""
    evals.pytester.makeconftest(RULE)
    evals.play([row("a"), row("b", says="wrong"), row("c")])
    base = str(evals.run_folder())
    evals.write_rows(row("a", says="wrong"), row("b", says="wrong"), row("c"))
    rules = [{"type": "answered"}, {"type": "junk"}]
    evals.write_config(gate={"max_regressions": 0, "max_drop": 0.1, "rules": rules})
    result = evals.run("shop.eval.yaml", f"--eval-baseline={base}")
    result.stdout.fnmatch_lines(["*the rule 'junk' broke: TypeError: *"])
    gate = {name: (word, choice, tasks) for name, word, _, choice, tasks, _ in data_of(evals)["gate"]}
    assert gate["max_regressions"] == ("not met", {"rule": "max_regressions"}, ["a"])
    assert gate["max_drop"] == ("not met", {"rule": "max_drop"}, ["a"])
    assert gate["answered"] == ("not met", {"rule": "answered"}, ["b", "c"])
    assert gate["junk"][1:] == ({}, [])
    run_command(open_door(), "view", str(evals.run_folder()))
    assert gate == {name: (word, choice, tasks) for name, word, _, choice, tasks, _ in data_of(evals)["gate"]}


def test_a_page_that_cannot_be_written_breaks_nothing(evals: Evals) -> None:
    """It is told in a line; verdicts and exit code are those of the rows."""
    evals.write([row("a")])
    (evals.path / "conftest.py").write_text(
        "def pytest_browsereval_run_summary(run_folder):\n    (run_folder / 'index.html').mkdir()\n"
    )
    result = evals.run("shop.eval.yaml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*index.html was not written: UsageError: *is a folder*browsereval view *"])


def test_a_summary_hook_that_raises_leaves_the_page(evals: Evals) -> None:
    """The run is over and recorded: its page is written, and its path is printed."""
    evals.write([row("a")])
    evals.pytester.makeconftest(
        "def pytest_browsereval_run_summary():\n    raise RuntimeError('no such luck')\n"
    )
    result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "pytest_browsereval_run_summary raised RuntimeError: no such luck" in result.stdout.str()
    result.stdout.fnmatch_lines(["page: *index.html"])
    assert (evals.run_folder() / "index.html").is_file()
