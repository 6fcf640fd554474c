"""Rows of mixed length in two workers: the time of all, to that of lanes which are never idle.

Agents only sleep, one up to twenty times as long as another, in blank windows. The time is that from the
start of the first attempt to the end of the last one, so that no start of pytest counts. It is compared with
the sum of all rows divided by the lanes of both workers; a chain of rows that depend on each other takes as
long.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from measuring import arguments, cost_of, median, report
from table import Line, against, exit_code, table

from pytest_browsereval import open_run

WORKERS, ROWS, LANES = 2, 60, (1, 2, 4)
"""Workers, rows for each lane of one, and lanes of each."""
IDEAL_S = 30.0
GOAL = 1.10
SPREAD = 20
CHAIN = 12
"""Rows in a chain that takes as long as all lanes need for all rows."""
AGENT = """
import asyncio

async def solve(context):
    await asyncio.sleep(float(context.task.query))
    return "slept"
"""


def draw_lengths(seed: int, count: int) -> list[float]:
    """Return how long rows take, in no unit, in their order; the longest one is not the last."""
    dice = random.Random(seed)  # noqa: S311 rows, not secrets
    lengths = [SPREAD ** dice.random() for _ in range(count)]
    if max(lengths) == lengths[-1]:
        lengths.reverse()
    return lengths


def write_eval(folder: Path, lengths: list[float], lanes: int, *, has_chain: bool) -> None:
    """Write the eval's files; rows of the chain are spread evenly over all."""
    links = [*range(0, len(lengths), len(lengths) // CHAIN)] if has_chain else []
    for place in links:
        lengths[place] = IDEAL_S / CHAIN
    scale = (IDEAL_S * lanes * WORKERS - IDEAL_S * has_chain) / sum(
        length for place, length in enumerate(lengths) if place not in links
    )
    rows = []
    for place, length in enumerate(lengths):
        before = [f"r{links[links.index(place) - 1]}"] if place in links[1:] else []
        seconds = length if place in links else length * scale
        row = {"query_id": f"r{place}", "query": f"{seconds:.3f}", "dataset": "mixed", "depends_on": before}
        rows.append(row | {"graders": ["answer"], "answer": "slept"})
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "sleeper.py").write_text(AGENT)
    agent = {"type": "function", "function": "sleeper:solve"}
    config = {"agent": agent, "dataset": "rows.jsonl", "browser": "blank", "lanes": lanes}
    (folder / "mixed.eval.json").write_text(json.dumps(config))


def run(folder: Path) -> dict[str, float]:
    """Run the eval, and return its time to the ideal one and its CPU."""
    plugins = ("xdist", "pytest_browsereval.testing.blank", "browsereval")
    named = [word for plugin in plugins for word in ("-p", plugin)]
    command = [sys.executable, "-m", "pytest", "-q", *named, "-p", "no:cacheprovider", f"-n{WORKERS}"]
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    cost = cost_of([*command, "mixed.eval.json"], folder, env=env, in_group=True)
    began, ended = [], []
    for attempt in open_run(next((folder / "results").glob("*/*/manifest.json")).parent).attempts:
        metadata = attempt.metadata
        began.append(datetime.fromisoformat(metadata.started_at))
        ended.append(began[-1] + timedelta(milliseconds=metadata.total_duration_ms or 0))
    taken_s = (max(ended) - min(began)).total_seconds()
    return {"ratio": taken_s / IDEAL_S, "cpu_s": cost.cpu_s}


def main() -> int:
    """Measure and print."""
    options = arguments(__doc__ or "", rounds=3).parse_args()
    figures: dict[str, list[dict[str, float]]] = {}
    for seed in range(options.rounds):
        for lanes in LANES:
            for has_chain in (False, True):
                name = f"{lanes} lane{'s' * (lanes > 1)} each{', a chain among them' * has_chain}"
                with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
                    lengths = draw_lengths(seed, ROWS * lanes)
                    write_eval(Path(folder), lengths, lanes, has_chain=has_chain)
                    figures.setdefault(name, []).append(run(Path(folder)))
                print(name, figures[name][-1], file=sys.stderr)
    lines: list[Line] = []
    for name, rounds in figures.items():
        ratio = median([one["ratio"] for one in rounds])
        lines.append(against(f"time of {ROWS} rows a lane, -n {WORKERS}, {name}", ratio, "at most", GOAL))
    report({"rounds": figures}, options.json)
    print(table(lines))
    return exit_code(lines)


if __name__ == "__main__":
    sys.exit(main())
