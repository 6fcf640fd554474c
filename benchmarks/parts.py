"""Parts of a run: what each costs before its first row, and what sixteen of them cost beside one process.

The rows are those of the quickstart, so often that each part has about 25 of them. Parts run one after
another, with one lane each; the process that they are compared with has as many lanes as there are parts.
What counts is CPU, of all processes together: on one machine, more parts are no faster than more lanes.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring import Cost, arguments, cost_of, median, report

ROOT = Path(__file__).resolve().parent.parent
PARTS = 16
GOAL_RATIO, GOAL_START_S = 1.15, 2.0
"""CPU a task beside one process; and a part's fixed price."""

PLAYWRIGHT = """
import asyncio, sys
from playwright.async_api import async_playwright

async def main():
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
        await (await (await browser.new_context()).new_page()).goto("data:text/html,hello")
        await browser.close()

asyncio.run(main())
"""


def command(folder: Path | str, *args: str) -> list[str]:
    """Return the command of a run of the quickstart."""
    own = ["--eval-config=examples/quickstart/eval.yaml", f"--eval-output={folder}", "--eval-set", "gate={}"]
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *own, *args]


def start_ways(folder: Path) -> dict[str, list[str]]:
    """Return commands that show where a part's fixed price goes, by their names."""
    from pytest_browsereval.browsers.binary import candidates

    (folder / "nothing").mkdir()
    (folder / "nothing/test_nothing.py").write_text("def test_nothing(): pass\n")
    one = "--eval-limit=1"
    return {
        "pytest alone": [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            str(folder / "nothing"),
        ],
        "collecting": command(folder / "out", one, "--collect-only"),
        "plain Playwright": [sys.executable, "-c", PLAYWRIGHT, str(candidates()[0].path)],
        "one row": command(folder / "out", one),
    }


def measured_start(folder: Path, rounds: int) -> dict[str, Any]:
    """Let the ways take turns."""
    ways = start_ways(folder)
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, words in ways.items():
            costs[name].append(cost_of(words, ROOT, in_group=True))
    return {
        name: {"cpu_s": median([one.cpu_s for one in own]), "wall_s": median([one.wall_s for one in own])}
        for name, own in costs.items()
    }


def write_rows(folder: Path, copies: int) -> int:
    """Write the rows of the quickstart several times, and return how many there are."""
    rows = [json.loads(line) for line in (ROOT / "examples/quickstart/tasks.jsonl").open(encoding="utf-8")]
    all_rows = [{**row, "query_id": f"{row['query_id']}-{copy}"} for copy in range(copies) for row in rows]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in all_rows), encoding="utf-8")
    return len(all_rows)


def measured_parts(folder: Path, copies: int, url: str | None) -> dict[str, Any]:
    """Run all rows by one process, and by parts."""
    tasks = write_rows(folder, copies)
    rows = ("--eval-set", f"dataset={folder / 'rows.jsonl'}")
    whole = cost_of(command(folder / "whole", *rows, f"--eval-lanes={PARTS}"), ROOT, in_group=True)
    parts = []
    place = str(folder / "parts") if url is None else url
    name = [] if url is None else ["--eval-run-name=parts"]
    for number in range(1, PARTS + 1):
        words = command(place, *rows, "--eval-lanes=1", f"--eval-shard={number}/{PARTS}", *name)
        parts.append(cost_of(words, ROOT, in_group=True))
    together = sum(one.cpu_s for one in parts)
    return {
        "tasks": tasks,
        "one_process_cpu_s_a_task": round(whole.cpu_s / tasks, 4),
        "parts_cpu_s_a_task": round(together / tasks, 4),
        "ratio": round(together / whole.cpu_s, 3),
        "one_process_wall_s": round(whole.wall_s, 1),
        "parts_wall_s": round(sum(one.wall_s for one in parts), 1),
    }


def main() -> None:
    """Measure the start, then the parts."""
    parser = arguments(__doc__ or "", rounds=3)
    parser.add_argument("--copies", type=int, default=8, help="of each of the 50 rows")
    parser.add_argument("--url", help="send the parts there, such as file:///tmp/bucket")
    parser.add_argument("--start-only", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        figures: dict[str, Any] = {"start": measured_start(folder, options.rounds)}
        if not options.start_only:
            figures["parts"] = measured_parts(folder, options.copies, options.url)
    finally:
        shutil.rmtree(folder)
    goals = {"start_s": figures["start"]["one row"]["wall_s"] <= GOAL_START_S}
    if "parts" in figures:
        goals["ratio"] = figures["parts"]["ratio"] <= GOAL_RATIO
    report({**figures, "goals_met": goals}, options.json)


if __name__ == "__main__":
    main()
