"""CPU of a task: the MiniWoB example as it ships, against plain async Playwright (``raw_playwright.py``).

Both play the same rows with the same policies, the same browser, as many lanes, and a JPEG of the start page
and after each action. Each runs with few and with many rows: the difference is the cost of a task without
the start.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measuring import Cost, arguments, cost_of, median, report

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "miniwob" / "eval.yaml"
GOAL = 1.10
FEW, MANY = 26, 130
"""Rows: one seed of every page, and five."""
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def raw(lanes: int, rows: int, folder: Path) -> Cost:
    """Run plain Playwright."""
    command = [sys.executable, str(HERE / "raw_playwright.py"), str(lanes), str(rows)]
    return cost_of(command, folder, in_group=True)


def ours(lanes: int, rows: int, folder: Path) -> Cost:
    """Run the example; it fails unless every row passes."""
    run = [sys.executable, "-m", "pytest", "-q", "-p", "browsereval", "-p", "no:cacheprovider"]
    what = [f"--eval-config={EXAMPLE}", f"--eval-lanes={lanes}", f"--eval-limit={rows}"]
    return cost_of([*run, *what, f"--eval-output={folder / 'results'}"], folder, env=ALONE, in_group=True)


VARIANTS = {"raw": raw, "ours": ours}


def one_round(lanes: int, number: int) -> dict[str, tuple[Cost, Cost]]:
    """Return what few and many rows cost, by variant; who begins changes from round to round."""
    costs: dict[str, list[Cost]] = {name: [] for name in VARIANTS}
    for rows in (FEW, MANY):
        for name in sorted(VARIANTS, reverse=bool(number % 2)):
            with tempfile.TemporaryDirectory() as folder:
                costs[name].append(VARIANTS[name](lanes, rows, Path(folder)))
    return {name: (few, many) for name, (few, many) in costs.items()}


def main() -> None:
    """Let both take turns and compare."""
    parser = arguments(__doc__ or "", rounds=3)
    parser.add_argument("--lanes", type=int, default=2)
    options = parser.parse_args()
    rounds = [one_round(options.lanes, number) for number in range(options.rounds)]
    marginal = {
        name: [(many.cpu_s - few.cpu_s) / (MANY - FEW) for few, many in (costs[name] for costs in rounds)]
        for name in VARIANTS
    }
    whole = {name: [costs[name][1].cpu_s / MANY for costs in rounds] for name in VARIANTS}
    speed = {
        name: [(MANY - FEW) / (many.wall_s - few.wall_s) for few, many in (costs[name] for costs in rounds)]
        for name in VARIANTS
    }
    ratios = [mine / plain for mine, plain in zip(marginal["ours"], marginal["raw"], strict=True)]
    figures = {
        "lanes": options.lanes,
        "cpu_s_per_task": {name: median(values) for name, values in marginal.items()},
        "ratio": median(ratios),
        "goal": GOAL,
        "is_met": median(ratios) <= GOAL,
        "cpu_s_per_task_with_start": {name: median(values) for name, values in whole.items()},
        "ratio_with_start": median([a / b for a, b in zip(whole["ours"], whole["raw"], strict=True)]),
        "tasks_per_second": {name: median(values) for name, values in speed.items()},
        "ratio_of_speed": median([a / b for a, b in zip(speed["ours"], speed["raw"], strict=True)]),
        "rounds": {"ratios": ratios, "cpu_s_per_task": marginal, "tasks_per_second": speed},
    }
    report(figures, options.json)


if __name__ == "__main__":
    main()
