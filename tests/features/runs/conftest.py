"""Runs of a results folder, a day apart, as sessions leave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_browsereval.features.shared.gates import write_gate
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.rules import RuleResult
from tests.features.shared.viewer.conftest import look
from tests.labelled import grade, graded, write_run
from tests.recorded import write_summary

__all__ = ["look"]

AGENT = {"type": "single", "provider": "openai", "model": "gpt-4o"}


def day(number: int) -> str:
    return f"2026-01-{number:02}T00:00:00.000Z"


def name_of(number: int) -> str:
    return f"202601{number:02}T000000Z-aaaaaa"


def tried(query_id: str, verdict: Verdict, **more: Any) -> TaskMetadata:
    """Return an attempt that one grader has judged by the same rules each time."""
    given = {"row_hash": f"row of {query_id}", "cost_usd": 0.25, **more}
    fingerprint = str(given.pop("fingerprint", "state/1/0"))
    return graded(query_id, grade("state", verdict, fingerprint=fingerprint), **given)


def config_with(agent: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """Return a config of a manifest."""
    return {"variants": {"default": agent or AGENT}, "limits": {"max_steps": 9}, **keys}


def leave_run(
    home: Path, number: int, *attempts: TaskMetadata, gate: bool | None = None, **manifest: Any
) -> Path:
    """Leave a run of a day in January; ``selected`` of its summary is that of the manifest."""
    store = write_run(home / name_of(number), *attempts)
    content = {
        "name": home.name,
        "started_at": day(number),
        "browser": "Chromium 1",
        "git_commit": f"{number:02}aaaabbbbcccc",
        "selected": len(attempts),
        "config": config_with(),
        **manifest,
    }
    store.write_manifest(content)
    write_summary(store, selected=content["selected"], skipped=0)
    if gate is not None:
        write_gate(store.root, [RuleResult("min_pass_rate", is_met=gate, message="pass rate 50.0%")])
    return store.root
