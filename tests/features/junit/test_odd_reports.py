"""Reports of what is odd: links among the pictures, other tests' properties, crashes, unprintable names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_browsereval.features.html.hooks import HtmlReport
from pytest_browsereval.hooks.items import properties
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.usage import Usage
from tests.recorded import attempt

HOSTILE = "a\x00b\x1b\ud800\ufffe"


def html_of(tmp_path: Path) -> Any:
    """Return what adds to an HTML report that is to stand alone, in a session that has found an eval."""
    options = {"htmlpath": str(tmp_path / "report.html"), "self_contained_html": True}
    config = SimpleNamespace(getoption=lambda name, default=None: options.get(name, default))
    made: Any = HtmlReport(SimpleNamespace(session=SimpleNamespace(config=config)))  # type: ignore[arg-type]
    made.pytest_html_results_table_header([])
    return made


def report_of(*told: tuple[str, object], **more: Any) -> Any:
    given = {"nodeid": "test_a.py::test_a", "location": ("test_a.py", 1, "test_a"), "keywords": {}}
    report: Any = pytest.TestReport(
        **{**given, "outcome": "passed", "longrepr": None, "when": "call", **more, "user_properties": told}
    )
    return report


def trial(tmp_path: Path) -> tuple[Path, tuple[tuple[str, object], ...]]:
    """Make the folder of an attempt, and return it with what its report tells."""
    folder = tmp_path / "run/tasks/r1/default/trial-1/attempt-1"
    (folder / "screenshots").mkdir(parents=True)
    page = f"{tmp_path}/run/index.html#/r1/default/trial-1/attempt-1"
    told = (("verdict", "passed"), ("trial", 1), ("folder", str(folder)), ("page", page))
    return folder, told


def test_only_plain_files_are_pictures(tmp_path: Path) -> None:
    """A link that leads outside is not taken in; broken ones, folders and odd names do not end the run."""
    folder, told = trial(tmp_path)
    (tmp_path / "secret").write_text("secret")
    pictures = folder / "screenshots"
    (pictures / "001.jpeg").write_bytes(b"\xff\xd8")
    (pictures / "997.jpeg").mkdir()
    (pictures / "998.jpeg").symlink_to(tmp_path / "missing")
    (pictures / "999.jpeg").symlink_to(tmp_path / "secret")
    data: list[str] = []
    html = html_of(tmp_path)
    html.pytest_html_results_table_html(report_of(*told), data)
    assert data[0].count("<img") == 1
    assert 'base64,/9g=" alt="001.jpeg"' in data[0]
    assert html._picture(pictures / "999.jpeg") == html._picture(pictures / "998.jpeg") == ""
    assert html._picture(pictures / "997.jpeg") == ""


def test_properties_of_other_tests_are_left_alone(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """What they are called or hold, a plain test has empty cells, and nothing is added to it."""
    for name in ("score.x", "cost_usd", "verdict", "folder"):
        with subtests.test(name):
            cells: list[str] = []
            data: list[str] = []
            report = report_of(("verdict", "passed"), (name, "high"))
            html = html_of(tmp_path)
            html.pytest_html_results_table_row(report, cells)
            html.pytest_html_results_table_html(report, data)
            assert (cells, data) == (['<td class="browsereval"></td>'] * 4, [])


def test_names_of_properties_are_printable(tmp_path: Path) -> None:
    """Pytest escapes values only: what graders and roles are called must leave the XML well-formed."""
    grade = GraderResult(grader="g", verdict=Verdict.PASSED, score=0.49750000000000005)
    used = {HOSTILE: Usage(input_tokens=1, cost_usd=0.0)}
    metadata = attempt(grader_results={HOSTILE: grade}, usage_by_role=used)
    found = dict(properties(metadata, trial(tmp_path)[0]))
    assert found["score.a b   "] == 0.4975
    assert {"tokens_in.a b   ", "cost_usd.a b   "} <= found.keys()
