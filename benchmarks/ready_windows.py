"""Ready windows, on and off: what a task waits for its window, tasks per minute, CPU and memory.

The tasks of ``latency.py`` in lanes of one process: with a model that takes half a second to one and a half
for each of five steps, where ready windows are to hide what a window costs; with one that always takes a
second, so that all lanes want a window at the same time; and with one that answers at once, where they must
not cost anything. Both take turns. The first task of each lane, whose window nobody could open ahead, does
not count for the waits.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from latency import ALONE, HERE, THINKING, figures_of, times_of, write_rows
from measuring import arguments, median, report
from rows import EXAMPLE, served
from table import Line, against, exit_code, table
from watching import watch

TASKS_PER_LANE = {0.0: 30, 1.0: 5}
"""By how long the model thinks, in seconds."""
LOSS = 1.03
"""What ready windows may cost where they cannot gain, to the same without: the scatter of the figures."""
REMAINS = 0.8
"""What may remain of the wait: the window itself is there, its start page has to be loaded after all."""


@dataclass(frozen=True)
class Setting:
    """How long the model thinks, and how many tasks run at once."""

    thinking_s: float
    lanes: int
    scatter: float = 0

    @property
    def name(self) -> str:
        """What the figures call it."""
        least, most = (self.thinking_s * (1 + part) for part in (-self.scatter, self.scatter))
        span = f"{least:g}" if least == most else f"{least:g} to {most:g}"
        return f"{span} s, {self.lanes} lanes"


SETTINGS = (
    *(Setting(1, 1, 0.5), Setting(1, 8, 0.5), Setting(1, 8)),
    *(Setting(0, 1), Setting(0, 2), Setting(0, 4)),
)


def run(setting: Setting, base: str, folder: Path, *, is_on: bool) -> dict[str, float]:
    """Run tasks and return their figures."""
    count = int(TASKS_PER_LANE[setting.thinking_s] * setting.lanes)
    write_rows(folder / "rows.jsonl", base, count)
    off = {} if is_on else {"ready_windows": 0}
    config = {
        "name": "thinking",
        "agent": {"type": "function", "function": "agent:solve"},
        "dataset": "rows.jsonl",
        "graders": [{"type": "miniwob", "min_reward": 1}],
        "browser": {"locale": "en-US", "timezone": "UTC", **off},
        "lanes": setting.lanes,
        "limits": {"timeout_ms": 300_000},
    }
    (folder / "thinking.eval.json").write_text(json.dumps(config))
    env = {
        **ALONE,
        "PYTHONPATH": os.pathsep.join(map(str, (THINKING, EXAMPLE, HERE))),
        "THINKING_S": str(setting.thinking_s),
        "THINKING_SCATTER": str(setting.scatter),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "browsereval"]
    watched = watch([*command, "thinking.eval.json"], folder, env=env)
    waits = waits_in(folder)[setting.lanes :]
    return {"wait_ms": median(waits), "mean_wait_ms": sum(waits) / len(waits)} | figures_of(
        watched, times_of(folder)
    )


def waits_in(folder: Path) -> list[float]:
    """Return how many ms went by from each task's begin to its agent's, in the order in which they began."""
    found = []
    for file in folder.glob("results/*/*/tasks/*/*/*/attempt-*/metadata.json"):
        began = _time(json.loads(file.read_bytes())["started_at"])
        first = json.loads(file.with_name("messages.jsonl").open().readline())
        found.append((began, (_time(first["timestamp"]) - began) * 1000))
    return [wait for _, wait in sorted(found)]


def _time(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp()


def measure(rounds: int, settings: Sequence[Setting]) -> dict[str, Any]:
    """Let both take turns in every setting; return the median of each figure, and all rounds."""
    found: dict[str, dict[str, list[dict[str, float]]]] = {s.name: {"off": [], "on": []} for s in settings}
    with served() as base:
        for number in range(rounds):
            for setting in settings:
                for which in ("off", "on") if number % 2 == 0 else ("on", "off"):
                    folder = Path(tempfile.mkdtemp(prefix="ready-"))
                    figures = run(setting, base, folder, is_on=which == "on")
                    found[setting.name][which].append(figures)
                    print(f"{setting.name}, {which}: {json.dumps(figures)}", file=sys.stderr)
                    shutil.rmtree(folder)
    medians = {
        name: {which: {key: median([one[key] for one in of]) for key in of[0]} for which, of in both.items()}
        for name, both in found.items()
    }
    return {"settings": medians, "rounds": found}


def ratio(figures: Mapping[str, Any], setting: Setting, figure: str) -> float:
    """Return the median of a figure with ready windows to that without, in the same round."""
    both = figures["rounds"][setting.name]
    return median([on[figure] / off[figure] for on, off in zip(both["on"], both["off"], strict=True)])


def lines_of(figures: Mapping[str, Any], settings: Sequence[Setting]) -> list[Line]:
    """Return what is to be shown, beside its goal."""
    lines = []
    for setting in settings:
        both = figures["settings"][setting.name]
        waits = f"{both['off']['wait_ms']:.0f} → {both['on']['wait_ms']:.0f} ms"
        what = f"{setting.name}: "
        wait, cpu = ratio(figures, setting, "wait_ms"), ratio(figures, setting, "cpu_s_per_task")
        mean = ratio(figures, setting, "mean_wait_ms")
        speed = ratio(figures, setting, "tasks_per_minute")
        held = f"{both['on']['peak_pss_mib'] - both['off']['peak_pss_mib']:+.0f} MiB at most"
        waits += f"; the mean {mean:.2f} x"
        if setting.scatter:
            lines.append(against(f"{what}wait for the window", wait, "at most", REMAINS, note=waits))
        else:
            lines.append(Line(f"{what}wait for the window", "", f"{wait:.2f} x", None, waits))
        lines.append(against(f"{what}tasks per minute", speed, "at least", 1 / LOSS))
        lines.append(against(f"{what}CPU per task", cpu, "at most", LOSS, note=held))
    return lines


def main() -> None:
    """Measure and compare."""
    parser = arguments(__doc__ or "", rounds=5)
    parser.add_argument("--only", metavar="TEXT", default="", help="settings with this in their name")
    options = parser.parse_args()
    settings = [setting for setting in SETTINGS if options.only in setting.name]
    figures = measure(options.rounds, settings)
    lines = lines_of(figures, settings)
    report(figures, options.json)
    print(table(lines))
    sys.exit(exit_code(lines))


if __name__ == "__main__":
    main()
