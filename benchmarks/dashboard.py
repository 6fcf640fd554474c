"""CPU of a run with ``--eval-dashboard`` that nobody looks at, to the same run without it.

The MiniWoB example as it ships, all of its processes counted. Both take turns; who begins changes from round
to round. A short run is measured too: what is paid once weighs most there.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measuring import Cost, arguments, cost_of, median, report

EXAMPLE = Path(__file__).parent.parent / "examples" / "miniwob" / "eval.yaml"
GOAL = 1.03
SIZES = {"short": 26, "long": 130}
"""Rows: one seed of every page, and five."""
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
VARIANTS = {"off": [], "on": ["--eval-dashboard"]}


def run(variant: str, lanes: int, rows: int, folder: Path) -> Cost:
    """Run the example; it fails unless every row passes."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "browsereval", "-p", "no:cacheprovider"]
    what = [f"--eval-config={EXAMPLE}", f"--eval-lanes={lanes}", f"--eval-limit={rows}"]
    where = f"--eval-output={folder / 'results'}"
    return cost_of([*pytest, *what, where, *VARIANTS[variant]], folder, env=ALONE, in_group=True)


def main() -> None:
    """Let both take turns and compare."""
    parser = arguments(__doc__ or "", rounds=5)
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--only", choices=list(SIZES), help="one of the two sizes")
    options = parser.parse_args()
    figures: dict[str, object] = {"lanes": options.lanes, "goal": GOAL}
    rounds: dict[str, object] = {}
    for size in [options.only] if options.only else list(SIZES):
        used: dict[str, list[float]] = {name: [] for name in VARIANTS}
        for number in range(options.rounds):
            for name in sorted(VARIANTS, reverse=bool(number % 2)):
                with tempfile.TemporaryDirectory() as folder:
                    used[name].append(run(name, options.lanes, SIZES[size], Path(folder)).cpu_s)
        ratios = [on / off for on, off in zip(used["on"], used["off"], strict=True)]
        figures[size] = {
            "rows": SIZES[size],
            "cpu_s": {name: median(values) for name, values in used.items()},
            "ratio": median(ratios),
            "is_met": median(ratios) <= GOAL,
        }
        rounds[size] = {"ratios": ratios, "cpu_s": used}
    report({**figures, "rounds": rounds}, options.json)


if __name__ == "__main__":
    main()
