"""Collecting many rows: all, one by its id, and by two workers, against ``parametrize`` over them."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring import Cost, arguments, cost_of, median, report

GOALS = {
    10_000: {("all", "wall_s"): 1.5, ("one id", "wall_s"): 0.5},
    100_000: {("all", "ratio_of_cpu"): 1.0, ("all", "ratio_of_memory"): 1.0},
}
"""By the number of rows: what real evals have, in seconds, and ten times as many, to ``parametrize``."""
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

PARAMETRIZED = """
import json, pytest
ROWS = [json.loads(line) for line in open("rows.jsonl")]

@pytest.mark.parametrize("row", ROWS, ids=[row["query_id"] for row in ROWS])
def test_row(row):
    pass
"""

FIRST_ONLY = """
def pytest_collection_modifyitems(items):
    del items[1:]
"""
"""Of all that was collected one is set up: what workers cost, without a run."""

HEAD = {"ours": ["-p", "browsereval", "many.eval.json"], "parametrize": ["test_rows.py"]}
ONE = {
    "ours": ["-p", "browsereval", "many.eval.json::task-{middle:06d}"],
    "parametrize": ["test_rows.py::test_row[task-{middle:06d}]"],
}


def commands(rows: int) -> dict[tuple[str, str], list[str]]:
    """Return the arguments of every command by variant and mode."""
    found = {}
    for name, head in HEAD.items():
        one = [text.format(middle=rows // 2) for text in ONE[name]]
        found[name, "all"] = [*head, "--co", "-qq"]
        found[name, "one id"] = [*one, "--co", "-qq"]
        found[name, "two workers"] = [
            *head,
            "-p",
            "xdist",
            "-n",
            "2",
            "-p",
            "first_only",
            "--setup-only",
            "-qq",
        ]
    return found


def write(folder: Path, rows: int) -> None:
    """Write the rows, about 400 bytes each, and what collects them."""
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            query = f"Find product {number}, put {number % 7} of it into the basket and check out. " * 3
            row = {
                "query_id": f"task-{number:06d}",
                "query": query,
                "graders": ["answer"],
                "answer": str(number),
            }
            file.write(
                json.dumps({**row, "dataset": "many", "tags": ["shop", f"group-{number % 50}"]}) + "\n"
            )
    (folder / "many.eval.json").write_text(json.dumps({"agent": "noop", "dataset": "rows.jsonl"}))
    (folder / "test_rows.py").write_text(PARAMETRIZED)
    (folder / "first_only.py").write_text(FIRST_ONLY)


def main() -> None:
    """Let all take turns."""
    parser = arguments(__doc__ or "", rounds=5)
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    costs: dict[tuple[str, str], list[Cost]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, options.rows)
        env = {**ALONE, "PYTHONPATH": name}
        for number in range(options.rounds):
            for key, given in sorted(commands(options.rows).items(), reverse=bool(number % 2)):
                command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *given]
                costs.setdefault(key, []).append(cost_of(command, folder, env=env))
    figures: dict[str, Any] = {}
    for (variant, mode), of in sorted(costs.items()):
        figure = {
            field: median([getattr(cost, field) for cost in of]) for field in ("wall_s", "cpu_s", "peak_mib")
        }
        figures.setdefault(mode, {})[variant] = figure
    for of in figures.values():
        of["ratio_of_cpu"] = round(of["ours"]["cpu_s"] / of["parametrize"]["cpu_s"], 3)
        of["ratio_of_memory"] = round(of["ours"]["peak_mib"] / of["parametrize"]["peak_mib"], 3)
    goals = {
        f"{mode}: {field}": {
            "goal": goal,
            "is_met": {**figures[mode], **figures[mode]["ours"]}[field] <= goal,
        }
        for (mode, field), goal in GOALS.get(options.rows, {}).items()
    }
    report({"rows": options.rows, **figures, "goals": goals}, options.json)


if __name__ == "__main__":
    main()
