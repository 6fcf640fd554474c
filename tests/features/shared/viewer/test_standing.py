"""Repeats, quarantine and resumes on a run's page: figures of the analysis, links to every trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from tests.features.shared.viewer.conftest import CANARY, Look, Reader
from tests.labelled import grade, graded, write_run
from tests.recorded import FAILED, PASSED


def repeated(root: Path) -> RunStore:
    """Write a run of three tasks with two trials each; one errored at first."""
    store = write_run(
        root,
        *(graded("sure", grade("state", PASSED), trial=n) for n in (1, 2)),
        graded("flaky", grade("state", PASSED), trial=1),
        graded("flaky", grade("state", FAILED), trial=2),
        graded("shaky", error_source=ErrorSource.SITE, trial=1),
        graded("shaky", grade("state", PASSED), trial=1, attempt=2),
        graded("shaky", grade("state", PASSED), trial=2),
    )
    gate = {"quarantine": {"flaky": "2025-01-31", "sure": "2024-12-31", CANARY: "2025-02-01"}}
    store.write_manifest({"name": "shop", "python": "3.12", "config": {"gate": gate}})
    return store


def test_repeats_are_those_of_the_analysis(tmp_path: Path, look: Look) -> None:
    """The run tells pass@k and pass^k, a task its class and its own, and every trial and try is reached."""
    store = repeated(tmp_path / "run")
    found = StoredRun(store.root).summary.repeats
    assert found is not None
    assert (found.k, found.pass_at_k) == (2, 1.0)

    async def work(reader: Reader) -> None:
        await reader.open("#?repeats=flaky+by+agent")
        assert "pass@2, pass^2 100 % and 67 % of 3 tasks" in await reader.text("#run-brief")
        await reader.page.locator("#facts-box").evaluate("(it) => { it.open = true }")
        kinds = "1 stable pass, 1 flaky by agent, 1 flaky by environment"
        assert f"Repeated tasks {kinds}" in await reader.text("#run-facts")
        assert await reader.texts("#rows .c-id a") == ["flaky", "flaky"]
        await reader.open("#/flaky/default/1")
        facts = await reader.text("#facts")
        assert "flaky by agent: 1 of 2 judged trials passed; pass@2 100 %, pass^2 0 %" in facts
        await reader.page.locator("#facts a", has_text="trial 2: failed").click()
        await reader.sees("#attempt-name", "flaky (trial 2)")
        await reader.open("#/shaky/default/1")
        told = "2 of 2 judged trials passed, 1 attempt errored; pass@2 100 %, pass^2 100 %"
        assert f"flaky by environment: {told}" in await reader.text("#facts")
        await reader.page.locator("#facts a", has_text="attempt 1: errored").click()
        await reader.sees("#attempt-name", "shaky (trial 1, attempt 1)")

    look(write_viewer(open_door(), store.root).file, work)


def test_quarantine_is_marked(tmp_path: Path, look: Look) -> None:
    """A row in quarantine tells its last day, one whose time is over that it counts again."""
    store = repeated(tmp_path / "run")

    async def work(reader: Reader) -> None:
        await reader.open("#?quarantine=until+2025-01-31")
        assert await reader.texts("#rows .c-id a") == ["flaky", "flaky"]
        assert "quarantined until 2025-01-31" in (await reader.texts("#rows .c-id"))[0]
        facts = await reader.text("#run-facts")
        told = (
            "2 tasks left out of the gate\u2019s rates; the rate above counts all; 1 task out of quarantine"
        )
        assert told in facts
        await reader.open("#/flaky/default/1")
        assert "Quarantine until 2025-01-31" in await reader.text("#facts")
        await reader.open("#/sure/default/1")
        assert "ended on 2024-12-31: it counts again" in await reader.text("#facts")
        assert await reader.page.title() != "owned"

    look(write_viewer(open_door(), store.root).file, work)


def test_resumes_are_told(tmp_path: Path, look: Look) -> None:
    """When the run was resumed, what had its result, and what was something else then; as text."""
    store = repeated(tmp_path / "run")
    record: dict[str, Any] = {"resumed_at": "2025-01-02", "trials": 6, "finished": 2, "python": "3.13"}
    record["differences"] = [CANARY]
    lines = [record, {"started_at": CANARY, "worker": CANARY, "browser": CANARY}]
    (store.root / "resumes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "{cut")

    async def work(reader: Reader) -> None:
        await reader.open()
        facts = await reader.text("#run-facts")
        assert "2025-01-02: 2 of 6 trials had their result" in facts
        assert "resumed anyway: <script>" in facts
        assert "python: 3.12 -> 3.13" in facts
        assert await reader.page.title() == "shop"

    look(write_viewer(open_door(), store.root).file, work)
