"""A run of 4,000 attempts read by ``open_run``, and written as tables, each in a process of its own.

``tables.py read RUN`` is such a process; the others are the command that users type.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring import arguments, cost_of, median, report
from stored import make_run

GOAL_S, GOAL_MIB = 5.0, 300.0
"""For reading 100,000 attempts."""

TABLES = {"": [], " with messages": ["--eval-set", "export.tables=[attempts,grades,steps,messages]"]}


def read(run: Path) -> None:
    """Count the trials of a run by their attempts."""
    from pytest_browsereval import open_run

    attempts = open_run(run).attempts
    print(len(attempts), sum(one.counts for one in attempts), sum(one.cost_usd or 0 for one in attempts))


def measured(run: Path, rounds: int) -> dict[str, Any]:
    """Let all ways take turns."""
    ways = {"open_run": [sys.executable, __file__, "read", str(run)]}
    for kind in ("parquet", "csv"):
        for name, more in TABLES.items():
            command = [sys.executable, "-m", "pytest_browsereval", "export", str(run), "--to", kind, *more]
            ways[f"{kind}{name}"] = command
    costs = [{name: cost_of(command, run.parent) for name, command in ways.items()} for _ in range(rounds)]
    fields = ("wall_s", "cpu_s", "peak_mib")
    return {
        name: {field: median([getattr(one[name], field) for one in costs]) for field in fields}
        for name in ways
    }


def main() -> None:
    """Write a run and read it."""
    if len(sys.argv) == 3 and sys.argv[1] == "read":
        read(Path(sys.argv[2]))
        return
    parser = arguments(__doc__ or "", rounds=3)
    parser.add_argument("--attempts", type=int, default=4_000)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the run here, and use what is there")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp())
    try:
        run = folder / "run-a"
        if not run.exists():
            make_run(run, options.attempts, bad=5)
        figures = measured(run, options.rounds)
        tables = folder / "tables"
        sizes = {path.name: sum(file.stat().st_size for file in path.glob("*")) for path in tables.iterdir()}
    finally:
        if options.keep is None:
            shutil.rmtree(folder)
    goals = {"wall_s": GOAL_S, "peak_mib": GOAL_MIB}
    report({"attempts": options.attempts, "goals": goals, "bytes": sizes, **figures}, options.json)


if __name__ == "__main__":
    main()
