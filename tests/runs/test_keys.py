"""Keys of a record that are declared once are shown alike by all who show records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_browsereval.features.shared.viewer.rows import Table
from pytest_browsereval.features.tables.schema import COLUMNS
from pytest_browsereval.hooks.items import properties
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.probe import Probe, ProbeOutcome
from pytest_browsereval.runs.keys import KEYS
from tests.recorded import attempt

VALUES: dict[str, Any] = {
    "replayed": True,
    "regraded_at": "2025-01-02T00:00:00.000Z",
    "limit": "max_steps 9",
    "download_count": 2,
    "page_request_count": 3,
    "conditions": ("device=Pixel 7", "locale=de-DE"),
    "side_effects": 2,
    "probe": Probe(outcome=ProbeOutcome.UNDECIDED, reason="not tried"),
}
GRADE = GraderResult(grader="effects", verdict=Verdict.FAILED, details={"side_effects": 2})


def test_a_key_is_in_tables_properties_and_the_page() -> None:
    """Under its name, with the value of the record; one that says nothing is no property."""
    assert [key.name for key in KEYS] == list(VALUES) == list(COLUMNS["attempts"])[-len(KEYS) :]
    folder = Path("/run/tasks/a/default/1/attempt-1")
    shown = {**VALUES, "conditions": "device=Pixel 7, locale=de-DE", "probe": "not tried"}
    fields = {name: value for name, value in VALUES.items() if name != "side_effects"}
    record = attempt(verdict=Verdict.FAILED, **fields, grader_results={"effects": GRADE})
    assert shown.items() <= dict(properties(record, folder)).items()
    assert VALUES.keys().isdisjoint(dict(properties(attempt(), folder)))
    assert [name for _, name in Table().as_json()["keys"]] == list(VALUES)
