"""Results of a gate as a JUnit file: a case for each trial and for each rule, as pytest writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from pytest_browsereval.config import GateConfig
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial

_LONGEST = 2_000
_COUNTS = {"error": "errors", "failure": "failures", "skipped": "skipped"}


def junit(run: StoredRun, gate: GateConfig, results: Sequence[RuleResult]) -> str:
    """Return the file.

    Args:
        run: the run.
        gate: a trial that did not pass is skipped where a rule of it decides, else red.
        results: what the rules say.
    """
    summary = run.summary
    name = str(run.read_manifest().get("config_file") or run.folder.resolve().parent.name)
    suites = ET.Element("testsuites", name="pytest tests")
    suite = ET.SubElement(suites, "testsuite", name=one_line(name))
    has_variants = len({trial.last.variant for trial in summary.trials}) > 1
    has_trials = any(trial.last.trial > 1 for trial in summary.trials)
    for trial in summary.trials:
        data = trial.last
        parts = [data.variant] * has_variants + [str(data.trial)] * has_trials
        suffix = f"[{'-'.join(parts)}]" if parts else ""
        _add_trial(suite, name, safe_id(data.query_id) + suffix, trial, gate)
    for result in results:
        case = ET.SubElement(suite, "testcase", classname="gate", name=one_line(result.name), time="0.000")
        if not result.is_met:
            _add_result(case, "failure", f"{result.word}: {result.message}")
    found = Counter(one.tag for case in suite.findall("testcase") for one in case)
    for tag, key in _COUNTS.items():
        suite.set(key, str(found[tag]))
    suite.set("tests", str(len(suite.findall("testcase"))))
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _add_trial(suite: ET.Element, place: str, name: str, trial: StoredTrial, gate: GateConfig) -> None:
    data = trial.last
    names = {"classname": one_line(place), "name": one_line(name)}
    case = ET.SubElement(suite, "testcase", {**names, "time": f"{(data.total_duration_ms or 0) / 1000:.3f}"})
    if data.verdict is not Verdict.PASSED and gate.decides(data):
        _add_result(case, "skipped", f"{data.verdict}: {data.reason}")
    elif data.verdict is not Verdict.PASSED:
        _add_result(case, "failure" if data.verdict is Verdict.FAILED else "error", data.reason or "")


def _add_result(case: ET.Element, tag: str, message: str) -> None:
    kind = {"type": "pytest.xfail"} if tag == "skipped" else {}
    ET.SubElement(case, tag, {**kind, "message": one_line(message, _LONGEST)})
