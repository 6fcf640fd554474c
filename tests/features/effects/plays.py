"""Rows that a scripted agent plays in the shop with a database."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from pytest_browsereval.testing.evals import EvalRun
from tests.features.effects.shop import FIRST
from tests.hooks.small_evals import Evals

ORDER: list[dict[str, Any]] = [
    {"added": "orders", "where": {"user": "ada"}, "equals": {"sku": "mug", "quantity": 2}},
    {"changed": "stock[sku=mug].left", "by": -2},
]


def click(name: str) -> list[dict[str, Any]]:
    """Return the steps that change something."""
    return [
        {"tool": "click", "target": f'role=button[name="{name}"]'},
        {"tool": "wait_for_text", "text": f"Done: {name}"},
    ]


def row(query_id: str, *names: str, effects: Any, **more: Any) -> dict[str, Any]:
    """Return a row that clicks buttons of the shop."""
    steps = [step for name in names for step in click(name)]
    solution = [*steps, {"tool": "done", "answer": "Done."}]
    base = {"query_id": query_id, "query": "Shop.", "start_url": "{shop}/", "graders": ["effects"]}
    return {**base, "effects": effects, "solution": solution, **more}


def play(evals: Evals, *rows: dict[str, Any], args: tuple[str, ...] = (), **more: Any) -> EvalRun:
    """Run rows in the shop; `more` are keys of its site, and some of the config."""
    write_shop(evals, *rows, **more)
    return evals.run("shop.eval.yaml", *args)


def write_shop(evals: Evals, *rows: dict[str, Any], **more: Any) -> None:
    """Write the files of the shop, rows and a config."""
    first = evals.path / "first"
    if not first.exists():
        first.mkdir()
        sqlite3.connect(first / "shop.db").executescript(FIRST).connection.close()
        (first / "orders").mkdir()
        for number in (7, 8):
            (first / "orders" / f"{number}.json").write_text('{"status": "open"}')
    command = ["{python}", str(Path(__file__).with_name("shop.py")), "{data}/shop.db", "{port}"]
    site = {"command": command, "data": "first", "reset": "POST /reset", "volatile": ["*.updated_at"]}
    state = {"state": {"sqlite": "{data}/shop.db"}}
    config = {name: more.pop(name) for name in ("agent", "gate", "lanes", "trials") if name in more}
    sites = {"shop": {**site, **state, **more}}
    evals.write(rows, browser="playwright", sites=sites, **config)


def said_by(run: EvalRun) -> str:
    """Return what a session printed, without its line breaks."""
    return " ".join(f"{run.stdout} {run.stderr}".split())


def list_side_effects(run: EvalRun, query_id: str) -> list[str]:
    """Return the side effects of an attempt in words."""
    details: Any = run.attempt(query_id).grader_results["effects"].details
    assert details["side_effects"] == len(details["found"])
    return [one["words"] for one in details["found"]]


def assert_unwritten(run: EvalRun, *secrets: str) -> None:
    """No file of a run but its pictures has a text."""
    files = [one for one in run.folder.rglob("*") if one.is_file() and one.parent.name != "screenshots"]
    assert [one for one in files for secret in secrets if secret.encode() in one.read_bytes()] == []
