"""Results of a gate as a JUnit file: a case for each trial and for each rule, as pytest writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from pytest_browsereval.config import GateConfig
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial

GATE = "gate"
_LONGEST = 2_000


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
    figures = {
        "run": run.folder.resolve().name,
        "pass_rate": summary.pass_rate,
        "judged": summary.judged,
        **{str(verdict): summary.count(verdict) for verdict in Verdict},
        "cost_usd": summary.cost_usd,
        "gate": "met" if all(result.is_met for result in results) else "not met",
    }
    _add_properties(suite, figures)
    variants = {trial.last.variant for trial in summary.trials}
    has_trials = any(trial.last.trial > 1 for trial in summary.trials)
    for trial in summary.trials:
        known = (len(variants) > 1, trial.last.variant), (has_trials, str(trial.last.trial))
        parts = [part for is_shown, part in known if is_shown]
        suffix = f"[{'-'.join(parts)}]" if parts else ""
        case = _add_case(suite, name, safe_id(trial.last.query_id) + suffix, trial)
        _add_verdict(case, trial, gate)
    for result in results:
        case = _add_case(suite, GATE, result.name)
        if not result.is_met:
            _add_result(case, "failure", f"{result.word}: {result.message}")
    _count(suite)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _add_case(suite: ET.Element, place: str, name: str, trial: StoredTrial | None = None) -> ET.Element:
    seconds = (trial.last.total_duration_ms or 0) / 1000 if trial else 0
    names = {"classname": one_line(place), "name": one_line(name)}
    return ET.SubElement(suite, "testcase", {**names, "time": f"{seconds:.3f}"})


def _add_verdict(case: ET.Element, trial: StoredTrial, gate: GateConfig) -> None:
    data = trial.last
    figures = {
        "verdict": data.verdict,
        "error_source": data.error_source,
        **{f"score.{name}": grade.score for name, grade in data.grader_results.items()},
        "steps": data.total_steps,
        "cost_usd": trial.cost_usd,
        "attempts": len(trial.attempts),
        "folder": trial.last.local_folder.resolve().as_posix(),
    }
    _add_properties(case, figures)
    if data.verdict is Verdict.PASSED:
        return
    if gate.decides(data):
        _add_result(case, "skipped", f"{data.verdict}: {data.reason}")
    else:
        _add_result(case, "failure" if data.verdict is Verdict.FAILED else "error", data.reason or "")


def _add_result(case: ET.Element, tag: str, message: str) -> None:
    kind = {"type": "pytest.xfail"} if tag == "skipped" else {}
    ET.SubElement(case, tag, {**kind, "message": one_line(message, _LONGEST)})


def _add_properties(element: ET.Element, figures: Mapping[str, object]) -> None:
    properties = ET.SubElement(element, "properties")
    for name, value in figures.items():
        if value is not None:
            ET.SubElement(properties, "property", name=one_line(name), value=one_line(str(value), _LONGEST))


def _count(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    for key, tag in (("errors", "error"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(key, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.3f}")
