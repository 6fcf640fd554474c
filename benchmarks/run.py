"""Ours against the limit and the peers, in one command: a table of goals and figures, and all as JSON.

    python benchmarks/run.py                   # both parts, five rounds
    python benchmarks/run.py --part instant    # agents that answer at once
    python benchmarks/run.py --part latency    # a model that takes a second to answer

What is compared is installed on first use (``peers/environments.py``). It ends with 0 when every goal was
met, with 1 when one was missed and with 2 when one could not be measured.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import instant
import latency
from measuring import arguments, machine
from table import Line, exit_code, table

PARTS: dict[str, Any] = {"instant": instant, "latency": latency}
RECORD = Path(__file__).with_name("latest.json")


def main() -> None:
    """Measure the parts that are asked for, tell and write."""
    parser = arguments((__doc__ or "").partition("\n")[0], rounds=5)
    parser.set_defaults(json=RECORD)
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    options = parser.parse_args()
    record: dict[str, Any] = {"machine": machine(), "rounds": options.rounds}
    all_lines: list[Line] = []
    for name in PARTS if options.part == "all" else [options.part]:
        began = time.monotonic()
        figures, lines = measured(name, options.rounds)
        all_lines += lines
        minutes = round((time.monotonic() - began) / 60, 1)
        now = machine()
        record[name] = {
            "table": [asdict(line) for line in lines],
            "minutes": minutes,
            "load_at_the_end": now["load"],
            "stolen_so_far": now["stolen"],
            **figures,
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"\n{name} (rounds: {options.rounds}, minutes: {minutes})\n\n{table(lines)}\n", flush=True)
    print(f"Written to {options.json}.")
    sys.exit(exit_code(all_lines))


def measured(name: str, rounds: int) -> tuple[dict[str, Any], list[Line]]:
    """Return the figures of a part and its lines of the table."""
    part = PARTS[name]
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        figures: dict[str, Any] = part.measure(rounds, Path(folder))
    lines: list[Line] = part.lines(figures)
    return figures, lines


if __name__ == "__main__":
    main()
