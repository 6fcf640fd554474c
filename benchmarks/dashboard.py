"""CPU that ``--eval-dashboard`` adds to a run which nobody looks at, to all CPU of the run without it.

The MiniWoB example as it ships. Both take turns; who begins changes from round to round. Only pytest's own
process has more to do, so that the difference is taken of that process alone: browsers scatter by more than
the whole goal. A short run is measured too: what is paid once weighs most there.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measuring import arguments, cost_of, median, report

EXAMPLE = Path(__file__).parent.parent / "examples" / "miniwob" / "eval.yaml"
GOAL = 1.03
SIZES = {"short": 26, "long": 130}
"""Rows: one seed of every page, and five."""
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
OWN = """
import os
from pathlib import Path


def pytest_unconfigure():
    used = os.times()
    Path("own.txt").write_text(str(used.user + used.system))
"""
"""A plug-in that notes what its process has used, without its children; it is asked after all others."""
VARIANTS = {"off": [], "on": ["--eval-dashboard"]}


def run(variant: str, lanes: int, rows: int, folder: Path) -> dict[str, float]:
    """Run the example; return the CPU of all processes and that of pytest's own. Every row must pass."""
    (folder / "own.py").write_text(OWN)
    plugins = ["-p", "own", "-p", "browsereval", "-p", "no:cacheprovider"]
    pytest = [sys.executable, "-m", "pytest", "-q", *plugins]
    what = [f"--eval-config={EXAMPLE}", f"--eval-lanes={lanes}", f"--eval-limit={rows}"]
    where = f"--eval-output={folder / 'results'}"
    env = {**ALONE, "PYTHONPATH": str(folder)}
    cost = cost_of([*pytest, *what, where, *VARIANTS[variant]], folder, env=env, in_group=True)
    return {"all": cost.cpu_s, "own": float((folder / "own.txt").read_text())}


def main() -> None:
    """Let both take turns and compare."""
    parser = arguments(__doc__ or "", rounds=5)
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--only", choices=list(SIZES), help="one of the two sizes")
    options = parser.parse_args()
    figures: dict[str, object] = {"lanes": options.lanes, "goal": GOAL}
    rounds: dict[str, object] = {}
    for size in [options.only] if options.only else list(SIZES):
        used: dict[str, list[dict[str, float]]] = {name: [] for name in VARIANTS}
        for number in range(options.rounds):
            for name in sorted(VARIANTS, reverse=bool(number % 2)):
                with tempfile.TemporaryDirectory() as folder:
                    used[name].append(run(name, options.lanes, SIZES[size], Path(folder)))
        whole = median([one["all"] for one in used["off"]])
        added = median([on["own"] - off["own"] for on, off in zip(used["on"], used["off"], strict=True)])
        figures[size] = {
            "rows": SIZES[size],
            "all_s": {name: median([one["all"] for one in of]) for name, of in used.items()},
            "own_s": {name: median([one["own"] for one in of]) for name, of in used.items()},
            "added_s": added,
            "ratio": 1 + added / whole,
            "is_met": 1 + added / whole <= GOAL,
        }
        rounds[size] = used
    report({**figures, "rounds": rounds}, options.json)


if __name__ == "__main__":
    main()
