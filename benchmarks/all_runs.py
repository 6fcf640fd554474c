"""Thousands of runs listed, and the page of them written.

Each run has 20 tasks by two variants; an agent changes every 100 runs. The command runs as a user has it,
``browsereval runs`` in a process of its own.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from measuring import Cost, arguments, cost_of, median, report, versions

from pytest_browsereval.features.runs.page import RUNS_PAGE
from pytest_browsereval.run.store import RunStore

RUNS, TASKS = 3_000, 20
GOALS = {"list_cpu_s": 2.0}
"""What 3,000 runs may cost. CPU counts, as a cold disk has its own time."""

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def make_run(home: Path, number: int, luck: random.Random) -> None:
    """Leave manifest and summary of a run, with as many keys as real ones have."""
    at = BEGUN + timedelta(hours=3 * number)
    run = home / f"{at:%Y%m%dT%H%M%SZ}-{number:06d}"
    (run / "tasks").mkdir(parents=True)
    variants = {"large": "gpt-4o", "small": "gpt-4o-mini"}
    agents = {
        name: {"type": "single", "provider": "openai", "model": model} for name, model in variants.items()
    }
    if number // 100 % 2:
        agents["large"]["model"] = "o4"
    filling = {f"key_{place}": {"a": None, "b": [1, 2, 3], "c": "text"} for place in range(60)}
    manifest: dict[str, Any] = {
        "schema_version": 1,
        "started_at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "name": home.name,
        "config": {"variants": agents, **filling},
        "browser": "Chromium 156.0",
        "tools": [f"tool_{place}" for place in range(40)],
        "tool_hashes": {f"tool_{place}": f"{place:016x}" for place in range(40)},
        "git_commit": f"{luck.getrandbits(160):040x}",
    }
    results = [
        {
            "query_id": f"task-{task}",
            "variant": name,
            "trial": 1,
            "row_hash": f"{task:016x}",
            "attempts": 1,
            "verdict": "passed" if luck.random() < 0.9 - task / 40 else "failed",
            "error_source": None,
            "reason": "2 of 3 checks passed; the page shows an empty basket where two mugs were to be",
            "steps": luck.randrange(3, 30),
            "duration_ms": 30_000 * luck.random(),
            "cost_usd": 0.02 * luck.random(),
            "grades": {"page_state": {"verdict": "failed", "score": 0.66}},
        }
        for name in variants
        for task in range(TASKS)
    ]
    summary = {
        "selected": 2 * TASKS,
        "skipped": 0,
        "graders": {"page_state": ["page_state/1/0"]},
        "results": results,
    }
    store = RunStore(run)
    store.write_manifest(manifest)
    store.write_summary(summary)


def measured(results: Path, rounds: int, before: Path | None) -> dict[str, dict[str, float]]:
    """Return what the command costs, by version, in seconds."""
    command = [sys.executable, "-m", "pytest_browsereval", "runs", str(results)]
    ways = versions(before)
    costs: dict[str, list[Cost]] = {version: [] for version in ways}
    for _ in range(rounds):
        for version, env in ways.items():
            costs[version].append(cost_of(command, results, env=env))
    return {
        version: {
            "list_s": median([one.wall_s for one in own]),
            "list_cpu_s": median([one.cpu_s for one in own]),
            "peak_mib": median([one.peak_mib for one in own]),
        }
        for version, own in costs.items()
    }


def main() -> None:
    """Make the runs, and list them."""
    parser = arguments(__doc__ or "", rounds=3, is_compared=True)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        luck, results = random.Random(0), folder / "results"  # noqa: S311 nothing is secret
        for number in range(options.runs):
            make_run(results / "shop", number, luck)
        figures = measured(results, options.rounds, options.before)
        sizes = {"html_mb": round((results / RUNS_PAGE).stat().st_size / 1e6, 2)}
    finally:
        shutil.rmtree(folder)
    now = figures["now"]
    goals = {name: {"goal": goal, "is_met": now[name] <= goal} for name, goal in GOALS.items()}
    report({"runs": options.runs, **figures, **sizes, "goals": goals}, options.json)


if __name__ == "__main__":
    main()
