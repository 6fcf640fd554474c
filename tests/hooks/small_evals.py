"""Small evals for whole-program tests: real runs of pytest whose rows answer at once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.unraisableexception import gc_collect_iterations_key

from pytest_browsereval.testing.evals import EvalDriver, EvalRun
from tests import forks
from tests.support import LEFT_OUT

WORKERS = pytest.mark.parametrize(
    "workers", [[], pytest.param(["-n2"], marks=pytest.mark.slow)], ids=["plain", "xdist"]
)
"""Runs a test in one process, and in the slow tier with workers."""

UNREACHABLE = "http://127.0.0.1:9/"
"""Port 9 is never a web server: a row that starts here is errored (navigation), in a blank window as well."""


def row(query_id: str, *, says: str | None = "right", **more: Any) -> dict[str, Any]:
    """Return a row whose scripted agent says something; "right" passes, anything else fails."""
    solution = [] if says is None else [{"tool": "done", "answer": says}]
    return {
        "query_id": query_id,
        "query": f"Say the answer of {query_id}.",
        "dataset": "unit",
        "graders": ["answer"],
        "answer": "right",
        "solution": solution,
        **more,
    }


def single_agent(url: str, **more: Any) -> dict[str, Any]:
    """Return the block of an agent that asks the model at an address once for each reply."""
    return {"type": "single", "model": "m", "base_url": url, "max_tries": 1, **more}


def errored_row(query_id: str) -> dict[str, Any]:
    """Return a row whose start page cannot be reached."""
    return row(query_id, start_url=UNREACHABLE)


class Reports:
    """Keeps some reports, by the names of their items, as any plug-in receives them."""

    def __init__(self, is_wanted: Callable[[pytest.TestReport], bool]) -> None:
        self.is_wanted = is_wanted
        self.of: dict[str, Any] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.is_wanted(report):
            self.of[report.nodeid.rpartition("::")[2]] = report


class Uncollected:
    """Leaves garbage to the outer pytest, which collects it after each module, as ``pytester`` does."""

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[gc_collect_iterations_key] = 0


class Driver(EvalDriver):
    """The driver of evals, whose sessions leave garbage to the outer one."""

    def run(self, *args: str, plugins: Sequence[object] = ()) -> EvalRun:
        return super().run(*args, plugins=[Uncollected(), *plugins])


class Evals(Driver):
    """Evals of the scripted agent in blank windows, unless a test says otherwise."""

    pytester: pytest.Pytester
    """For tests that write modules and conftests as well; set by the fixture."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, options=LEFT_OUT)

    def write_config(self, name: str = "shop.eval.yaml", **keys: Any) -> Path:
        """Write a config; ``browser="playwright"`` is for rows that look at a page."""
        agent = {} if "variants" in keys else {"agent": "scripted"}
        defaults = {**agent, "dataset": "rows.jsonl", "browser": "blank", "retries": 0}
        return super().write_config(name, **{**defaults, **keys})

    def write(self, rows: Iterable[Mapping[str, Any]], **keys: Any) -> Path:
        """Write rows, and a config with these keys."""
        self.write_rows(*rows)
        return self.write_config(**keys)

    def play(self, rows: Iterable[Mapping[str, Any]], *args: str, **keys: Any) -> EvalRun:
        """Write the same, and run pytest on it."""
        self.write(rows, **keys)
        return self.run("shop.eval.yaml", *args)

    def run_folder(self, eval_name: str = "shop", below: str = "") -> Path:
        """Return the newest run folder of an eval."""
        # A run that was killed as it began has a folder without a manifest.
        manifests = (self.path / below / "results" / eval_name).glob("*/manifest.json")
        return max(manifests, key=lambda manifest: manifest.stat().st_mtime_ns).parent

    def _run_program(
        self, command: Sequence[str], env: Mapping[str, str], limit_s: float
    ) -> subprocess.CompletedProcess[bytes]:
        return forks.run_forked(command, cwd=self.path, env=env, limit_s=limit_s)

    def summary(self, name: str = "shop", below: str = "") -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.run_folder(name, below) / "summary.json").read_text())
        return loaded
