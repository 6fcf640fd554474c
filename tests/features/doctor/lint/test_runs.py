from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.config import config_from
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.doctor.lint.base import Finding, Level
from pytest_browsereval.features.doctor.lint.linting import lint
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from tests.recorded import ERRORED, FAILED, PASSED, attempt
from tests.support import PageServer

ROW: dict[str, Any] = {
    "query_id": "mug",
    "query": "Put a mug into the cart.",
    "start_url": "data:text/html,shop",
    "graders": [{"type": "state_diff", "source": {"js": "window.state"}}],
    "checks": [{"path": "cart[0].name", "equals": "mug"}],
}
AI = {"type": "single", "model": "m"}


class Folder:
    """A run folder that attempts are written into."""

    def __init__(self, root: Path) -> None:
        self.store = RunStore(root)
        self.number = 0

    def add(self, verdict: Any, **more: Any) -> None:
        self.number += 1
        given = {"agent_config": AI, "row_hash": Task(**ROW).content_hash(), "trial": self.number, **more}
        self.store.begin_attempt(TrialKey("mug", "default", self.number), "node")
        self.store.save_record(attempt("mug", verdict, **given))


@pytest.fixture
def made(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "run")


def linted(
    folder: Path, *rows: dict[str, Any], runs: list[Path], online: bool = False
) -> tuple[Finding, ...]:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    registry = builtin_registry()
    block = {"agent": "noop", "dataset": "rows.jsonl"}
    config = config_from(block, path=folder / "eval.yaml", registry=registry)
    return asyncio.run(
        lint(config, registry, today=date(2026, 3, 1), runs=map(StoredRun, runs), online=online)
    )


def rules(findings: tuple[Finding, ...]) -> list[tuple[str, Level]]:
    return [(found.rule, found.level) for found in findings]


def test_rates_of_earlier_runs(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A row that no judged attempt has passed is told; errors and other wordings are no attempts."""
    solved = {"agent_config": {"type": "scripted"}}
    failed, errored, passed = ((verdict, dict[str, Any]()) for verdict in (FAILED, ERRORED, PASSED))
    cases: list[tuple[str, list[tuple[Verdict, dict[str, Any]]], int]] = [
        ("none passed", [failed] * 3, 1),
        ("too few", [failed] * 2 + [errored] * 3, 0),
        ("one passed", [passed] + [failed] * 4, 0),
        ("its solution passed", [failed] * 3 + [(PASSED, solved)], 0),
        ("of another wording", [(FAILED, {"row_hash": "other"})] * 5, 0),
    ]
    for name, attempts, count in cases:
        with subtests.test(name):
            made = Folder(tmp_path / name)
            for verdict, more in attempts:
                made.add(verdict, **more)
            findings = linted(tmp_path, ROW, runs=[made.store.root])
            assert rules(findings) == [("never-passes", Level.WARNING)] * count


def test_oracle_and_no_op(tmp_path: Path, made: Folder) -> None:
    """A solution that fails and a no-op that passes are errors, by one attempt each."""
    made.add(FAILED, agent_config={"type": "scripted"}, reason="cart is empty")
    made.add(PASSED, agent_config={"type": "noop"})
    findings = linted(tmp_path, ROW, runs=[made.store.root])
    assert rules(findings) == [("always-passes", Level.ERROR), ("never-passes", Level.ERROR)]
    assert findings[1].message == "its own solution fails: cart is empty."


@pytest.fixture
def server() -> Iterator[PageServer]:
    server = PageServer()
    yield server
    server.close()


def test_start_pages_that_are_gone(tmp_path: Path, server: PageServer) -> None:
    """Each page is asked once; what it answers is told for every row that begins there."""
    statuses = {"/ok": 200, "/gone": 410, "/law": 451, "/who": 401, "/down": 503, "/forbidden": 403}
    page: Callable[[str], str] = lambda path: server.page(path, "x", status=statuses[path])  # noqa: E731
    urls = [*map(page, statuses), f"{server.url}/lost", f"{server.url}/lost", "http://127.0.0.1:9/"]
    sound = {key: ROW[key] for key in ("query", "graders", "checks")}
    rows = [{**sound, "query_id": f"r{n}", "start_url": url} for n, url in enumerate(urls)]
    findings = linted(tmp_path, *rows, runs=[], online=True)
    assert [found.rule for found in findings] == ["dead-url"] * 7
    errors = {found.query_id for found in findings if found.level is Level.ERROR}
    warnings = {found.query_id for found in findings if found.level is Level.WARNING}
    assert (errors, warnings) == ({"r1", "r2", "r6", "r7", "r8"}, {"r3", "r4"})
    assert server.requests.count("/lost") == 1
    server.requests.clear()
    linted(tmp_path, *rows, runs=[])
    assert server.requests == []
