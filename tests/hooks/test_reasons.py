"""Whole runs: the reason of a bad row is what every reader of pytest's reports shows."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests.hooks.small_evals import Evals, Reports, errored_row, row

WRONG = 'failed: answer: the answer is "wrong", not "right"'


@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=["one process", "workers"]
)
def test_the_reason_is_the_first_line_and_the_crash_message(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    """Readers that take ``reprcrash`` have it, and those that take the last line do not take a folder."""
    monkeypatch.setenv("COLUMNS", "300")  # a narrow terminal gets it in several lines
    evals.write([row("bad", says="wrong"), errored_row("broken")])
    reports = Reports(lambda report: report.failed)
    run = evals.run("shop.eval.yaml", "--junitxml=j.xml", *args, plugins=[reports])
    broken = "errored (navigation): a blank window has no page, and the row starts at http://127.0.0.1:9/."
    for name, reason in (("bad", WRONG), ("broken", broken)):
        report = reports.of[name]
        crash = report.longrepr.reprcrash
        assert crash.message.startswith(reason)
        assert crash.path.endswith("rows.jsonl")
        lines = str(report.longrepr).splitlines()
        assert lines[0] == crash.message
        assert not any(crash.message.partition(": ")[2] in line for line in lines[1:])
        assert "folder" not in lines[-1]
    root = ET.parse(evals.path / "j.xml")  # noqa: S314 our own
    assert [one.get("message") for one in root.iter("failure")] == [WRONG]
    assert [one.get("message") for one in root.iter("error")] == [
        reports.of["broken"].longrepr.reprcrash.message
    ]
    run.stdout.fnmatch_lines([f"FAILED shop.eval.yaml::bad - {WRONG}"])
    run.stdout.fnmatch_lines(["ERROR shop.eval.yaml::broken - errored (navigation): a blank window*"])


def test_a_missed_rule_says_why(evals: Evals) -> None:
    """The short summary has the rule's figures."""
    run = evals.play([row("bad", says="wrong")], gate={"min_pass_rate": 0.9})
    run.stdout.fnmatch_lines(["FAILED gate::min_pass_rate - gate not met: *"])
