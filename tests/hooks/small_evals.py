"""Small evals for whole-program tests: real pytest processes, real browsers, rows that answer at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import LEFT_OUT

UNREACHABLE = "http://127.0.0.1:9/"
"""Port 9 is never a web server: a row that starts here is errored (navigation)."""


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


def errored_row(query_id: str) -> dict[str, Any]:
    """Return a row whose start page cannot be reached."""
    return row(query_id, start_url=UNREACHABLE)


class Evals:
    """Writes evals into a folder and runs pytest there in a process of its own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def rows(self, *rows: dict[str, Any], name: str = "rows.jsonl") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
        return path

    def config(self, name: str = "shop.eval.yaml", **keys: Any) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        agent = {} if "variants" in keys else {"agent": "scripted"}
        block = {**agent, "dataset": "rows.jsonl", "retries": 0, **keys}
        path.write_text(yaml.safe_dump(block, sort_keys=False), encoding="utf-8")
        return path

    def run(self, *args: str) -> pytest.RunResult:
        return self.pytester.runpytest_subprocess(*LEFT_OUT, *args)

    def run_folder(self, name: str = "shop", below: str = "") -> Path:
        """Return the newest run folder, also of two that were made within a second, which are named alike."""
        folders = (self.path / below / "results" / name).iterdir()
        return max(folders, key=lambda folder: (folder / "manifest.json").stat().st_mtime_ns)

    def summary(self, name: str = "shop", below: str = "") -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.run_folder(name, below) / "summary.json").read_text())
        return loaded
