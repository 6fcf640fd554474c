"""The tests themselves: wall time and CPU of the default command, of its collection and of ``-m quick``.

    python benchmarks/suite.py                  # one round of each
    python benchmarks/suite.py --rounds 10      # and whether any of ten runs is red
    python benchmarks/suite.py --busy           # beside a process that keeps one core busy

A round that fails ends the benchmark, with what pytest printed.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from measuring import Cost, arguments, cost_of, median, report

ROOT = Path(__file__).parents[1]
COMMANDS = {"tests": ["-q"], "collection": ["--collect-only", "-q"], "quick": ["-q", "-m", "quick"]}
GOALS = {"tests": (240.0, 420.0), "collection": (None, 8.0), "quick": (60.0, None)}
"""Seconds of wall time and of CPU that each may take on two cores that are free."""


@contextlib.contextmanager
def busy_core(*, is_wanted: bool) -> Iterator[None]:
    """Keep one core busy while the block runs."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if is_wanted else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def main() -> None:
    """Measure, compare with the goals, write."""
    parser = arguments((__doc__ or "").partition("\n")[0], rounds=1)
    parser.add_argument("--busy", action="store_true", help="keep one core busy meanwhile")
    parser.add_argument("--only", choices=COMMANDS, help="measure one command")
    options = parser.parse_args()
    names = [options.only] if options.only else list(COMMANDS)
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    with busy_core(is_wanted=options.busy):
        for _ in range(options.rounds):
            for name in names:
                command = [sys.executable, "-m", "pytest", *COMMANDS[name]]
                costs[name].append(cost_of(command, ROOT, in_group=True))
                print(f"{name}: {costs[name][-1].wall_s:.0f} s, {costs[name][-1].cpu_s:.0f} s of CPU")
    figures = {
        name: {
            "wall_s": median([cost.wall_s for cost in each]),
            "cpu_s": median([cost.cpu_s for cost in each]),
            "goal_wall_s": GOALS[name][0],
            "goal_cpu_s": GOALS[name][1],
        }
        for name, each in costs.items()
    }
    rounds = {name: [asdict(cost) for cost in each] for name, each in costs.items()}
    report({"busy": options.busy, "figures": figures, "rounds": rounds}, options.json)


if __name__ == "__main__":
    main()
