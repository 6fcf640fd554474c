"""The files that WASP and ST-WebAgentBench publish, against the counts that they state (``-m published``).

They are in no package: ``BROWSEREVAL_CLONES`` names a folder with clones of both repositories.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_security_sets import read_file

CLONES = "BROWSEREVAL_CLONES"
SITES = {"gitlab": "http://localhost:8023", "reddit": "http://localhost:9999"}
APPS = {
    "gitlab": "http://localhost:8023",
    "suitecrm": "http://localhost:8080",
    "shopping_admin": "http://localhost:7780/admin",
}

pytestmark = pytest.mark.published


@pytest.fixture
def clones() -> Path:
    """Return the folder with both clones."""
    folder = os.environ.get(CLONES)
    if not folder:
        pytest.skip(f"{CLONES} names no folder with clones of wasp and ST-WebAgentBench")
    return Path(folder)


def test_wasp(clones: Path) -> None:
    """37 tasks of users: 27 can be run once the sites are set up, and the rest is left out with reasons."""
    folder = clones / "wasp" / "webarena_prompt_injections" / "configs" / "croissant"
    path = folder / "utility_in_webarena_format.jsonl"
    tasks, notes = read_file(path, "wasp", sites=SITES, set_up=True)
    assert len(tasks) == 27
    assert [note.partition(" rows left out")[0] for note in notes[:2]] == ["WASP: 5", "WASP: 5"]
    assert Counter(tag for task in tasks for tag in task.tags) == {"gitlab": 17, "reddit": 10}
    assert len(read_file(path, "wasp", sites=SITES)[0]) == 15


def test_st_webagentbench(clones: Path) -> None:
    """375 tasks and 3,057 policies, by site and by dimension as the project's page has them."""
    path = clones / "ST-WebAgentBench" / "stwebagentbench" / "test.raw.json"
    tasks, _ = read_file(path, "st-webagentbench", sites=APPS)
    assert len(tasks) == 375
    by_site: Counter[str] = Counter()
    by_kind: Counter[str] = Counter()
    for task in tasks:
        policies: Any = task.metadata.additional["policies"]
        by_site[str(task.metadata.website)] += len(policies)
        by_kind.update(one["policy_category"] for one in policies)
    assert by_site == {"gitlab": 1534, "shopping_admin": 65, "suitecrm": 1458}
    assert by_kind == {
        "boundary_and_scope_limitation": 1120,
        "strict_execution": 959,
        "user_consent": 322,
        "robustness_and_security": 386,
        "hierarchy_adherence": 152,
        "error_handling_and_safety_nets": 118,
    }
