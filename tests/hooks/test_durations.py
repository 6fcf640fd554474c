"""Whole runs: every report says how long an attempt took, whatever its item waited."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests.hooks.launched import FUNCTION
from tests.hooks.small_evals import Evals, Reports, row

AGENT = """
import threading

started, over = threading.Event(), threading.Event()

def solve(context):
    me = context.task.query_id
    if me == "a":
        started.wait(30)
        over.wait(30)
    elif me == "b":
        started.set()
        threading.Event().wait(0.3)
        over.set()
    return "right"
"""


def test_an_attempt_that_ran_ahead_keeps_its_time(evals: Evals) -> None:
    """Its item waits for nothing when it is up, and yet has the attempt's time in all reports."""
    evals.write([row("a", says=None), row("b", says=None)], agent=FUNCTION, lanes=2)
    (evals.path / "my_agent.py").write_text(AGENT)
    setups = Reports(lambda report: report.when == "setup")
    args = ("--junitxml=j.xml", "--html=r.html", "--durations=0", "-vv")
    run = evals.run("shop.eval.yaml", *args, plugins=[setups])
    run.assert_outcomes(passed=2)
    cases = {one.get("name"): one for one in ET.parse(evals.path / "j.xml").iter("testcase")}  # noqa: S314
    for name in ("a", "b"):
        took_s = (run.attempt(name).total_duration_ms or 0) / 1000
        assert took_s >= 0.3
        report = setups.of[name]
        assert report.duration >= took_s
        assert report.stop - report.start == pytest.approx(report.duration)
        assert float(str(cases[name].get("time"))) >= round(took_s, 3)
        run.stdout.re_match_lines([rf"0\.\d\ds setup +shop\.eval\.yaml::{name}"])
    assert "ms</td>" not in (evals.path / "r.html").read_text().partition("::b")[2].partition("</tr>")[0]
