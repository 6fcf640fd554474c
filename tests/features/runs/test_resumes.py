"""Runs that were resumed as something else than they were begun as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.runs.digest import State, digest_run
from pytest_browsereval.run.manifest import RESUMES_FILE
from tests.features.runs.conftest import leave_run, tried
from tests.recorded import PASSED

RESUMED: dict[str, Any] = {"resumed_at": "2026-01-02T00:00:00.000Z", "trials": 2, "finished": 1}
DRIFT = {**RESUMED, "git_branch": "main", "differences": ["config.limits.max_steps: 9 -> 2"]}


@pytest.mark.parametrize(
    ("line", "branch", "state", "note"),
    [
        ({**RESUMED, "git_branch": "main"}, "main", State.COMPLETE, ""),
        ({**RESUMED, "git_branch": "topic"}, None, State.COMPLETE, ""),
        ({**RESUMED, "git_branch": None}, None, State.COMPLETE, ""),
        ({**RESUMED, "git_branch": "topic", "finished": 2}, "main", State.COMPLETE, ""),
        (DRIFT, "main", State.PARTIAL, "resumed anyway: config.limits.max_steps: 9 -> 2"),
        ({"browser": "Chromium 1"}, "main", State.COMPLETE, ""),
        ({"browser": "Chromium 2"}, "main", State.MERGED, "resumed with another browser: Chromium 2"),
    ],
)
def test_the_manifest_is_not_what_all_of_it_is(
    tmp_path: Path, line: dict[str, Any], branch: str | None, state: State, note: str
) -> None:
    """Trials of another branch, config or browser are in it; a line that was cut is passed over."""
    folder = leave_run(tmp_path / "shop", 1, tried("a", PASSED), tried("b", PASSED), git_branch="main")
    (folder / RESUMES_FILE).write_text(f'{json.dumps(line)}\n{{"resu')
    found = digest_run(folder, f"shop/{folder.name}")
    assert (found.branch, found.state, found.note) == (branch, state, note)
