"""Tasks with a model that takes a second to answer: lanes, workers of xdist, memory of each more.

Five steps a task, a second before each, a JPEG after each, a fresh context for every task. Ours in lanes of
one process and of two, plain async Playwright in as many lanes (``thinking/raw_thinking.py``), and
pytest-playwright one at a time and by two workers. All take turns, on pages of one server. Time and CPU are
of what lies between the first task's begin and the last one's end; the start is reported apart.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from measuring import arguments, median, report
from peers.environments import NotMeasured, python_of
from rows import EXAMPLE, SEEDS, row, served
from table import GoalKind, Line, against, exit_code, missing, table
from watching import Watched, watch

from pytest_browsereval.browsers.binary import candidates, launch_options

HERE = Path(__file__).parent
THINKING = HERE / "thinking"

sys.path.insert(0, str(THINKING))
from steps import ACTIONS, STEPS  # noqa: E402 it lies in a folder beside the agents that import it

ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
PEER = "pytest-playwright"
LEAST_TASKS = 6
COMPUTING_MS = (0, 30, 200)
"""CPU that agents use before each step in the pairs without a model: none, what it takes to read a page, and
what it takes to mark elements in a picture."""
FULL_NAMES = ("chromium", "google-chrome", "chrome")


@dataclass(frozen=True)
class Variant:
    """A way to run the tasks."""

    runner: str
    lanes: int = 1
    processes: int = 1
    thinking_s: float = 1.0
    computing_ms: int = 0
    tasks_per_lane: int = 4
    is_full: bool = False

    @property
    def name(self) -> str:
        """What the figures call it."""
        many = "" if self.runner == PEER else f" {self.lanes}"
        workers = f" -n {self.processes}" if self.processes > 1 else ""
        agent = (
            ""
            if self.thinking_s
            else f", computing {self.computing_ms} ms"
            if self.computing_ms
            else ", instant"
        )
        return f"{self.runner}{workers}{many}{agent}{', full browser' * self.is_full}"

    @property
    def tasks(self) -> int:
        """How many tasks it runs."""
        return max(LEAST_TASKS, self.tasks_per_lane * self.lanes * self.processes)


LATENCY = (
    *(Variant("ours", lanes) for lanes in (1, 2, 4, 8, 16, 32)),
    Variant("ours", 8, processes=2),
    Variant("raw", 8),
    Variant("raw", 32),
    Variant(PEER),
    Variant(PEER, processes=2),
)
CPU_BOUND = tuple(
    replace(of, thinking_s=0, computing_ms=computing_ms, tasks_per_lane=20)
    for computing_ms in COMPUTING_MS
    for of in (Variant("ours", 4), Variant("ours", 2, processes=2))
)
FULL = (Variant("ours", 8, is_full=True), Variant("ours", 16, is_full=True))


# -- the runners


def command_of(variant: Variant, folder: Path) -> list[str]:
    """Return the command that runs what lies in a folder.

    Raises:
        NotMeasured: it cannot be run here.
    """
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    workers = ["-p", "xdist", "-n", str(variant.processes)] if variant.processes > 1 else []
    if variant.runner == "raw":
        return [sys.executable, str(THINKING / "raw_thinking.py"), str(variant.lanes)]
    if variant.runner == PEER:
        shutil.copy(THINKING / "test_thinking.py", folder)
        return [str(python_of(PEER)), *pytest, *workers[2:], "test_thinking.py"]
    config = {
        "name": "thinking",
        "agent": {"type": "function", "function": "agent:solve"},
        "dataset": "rows.jsonl",
        "graders": [{"type": "miniwob", "min_reward": 1}],
        "browser": {"context": {"locale": "en-US", "timezone_id": "UTC"}},
        "lanes": variant.lanes,
        "limits": {"timeout_ms": 300_000},
    }
    (folder / "thinking.eval.json").write_text(json.dumps(config))
    return [sys.executable, *pytest, "-p", "browsereval", *workers, "thinking.eval.json"]


def times_of(folder: Path) -> list[tuple[float, float]]:
    """Return when each task began and ended."""
    if (file := folder / "times.jsonl").exists():
        return [(began, ended) for began, ended in map(json.loads, file.read_text().splitlines())]
    found = []
    for path in folder.glob("results/*/*/tasks/*/*/*/attempt-*/metadata.json"):
        record = json.loads(path.read_bytes())
        found.append(
            (
                _seconds(record["completed_at"]) - record["total_duration_ms"] / 1000,
                _seconds(record["completed_at"]),
            )
        )
    return found


def _seconds(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp()


def run(variant: Variant, base: str, parent: Path) -> dict[str, float]:
    """Run a variant and return its figures.

    Raises:
        NotMeasured: it cannot be run here.
    """
    folder = Path(tempfile.mkdtemp(prefix="thinking-", dir=parent))
    write_rows(folder / "rows.jsonl", base, variant.tasks)
    binary = _full_browser() if variant.is_full else None
    found = candidates(binary)[0]
    env = {
        **({} if variant.runner == PEER else ALONE),
        "PYTHONPATH": os.pathsep.join(map(str, (THINKING, EXAMPLE, HERE, HERE / "peers"))),
        "BENCHMARK_BROWSER": json.dumps(launch_options(found), default=str),
        "THINKING_S": str(variant.thinking_s),
        "COMPUTING_MS": str(variant.computing_ms),
        **({"BROWSEREVAL_BROWSER": str(found.path)} if found.path else {}),
    }
    watched = watch(command_of(variant, folder), folder, env=env)
    times = times_of(folder)
    if len(times) != variant.tasks:
        sys.exit(f"{variant.name}: {len(times)} attempts of {variant.tasks} tasks: one each is wanted")
    wanted = (STEPS + (variant.runner == "ours")) * variant.tasks  # ours takes one of the start page too
    if (pictures := sum(1 for _ in folder.rglob("*.jpeg"))) != wanted:
        sys.exit(f"{variant.name}: {pictures} pictures, and {wanted} are wanted")
    shutil.rmtree(folder)
    return figures_of(watched, times)


def write_rows(file: Path, base: str, count: int) -> None:
    """Write rows: every page with one seed, then with the next.

    Raises:
        SystemExit: there are not so many.
    """
    rows = [row(page, seed) for seed in SEEDS for page in ACTIONS]
    if count > len(rows):
        sys.exit(f"{count} tasks are asked for, and {len(rows)} are known to be solvable.")
    text = "".join(json.dumps(each) + "\n" for each in rows[:count])
    file.write_text(text.replace("{miniwob}", base))


def _full_browser() -> str:
    for name in FULL_NAMES:
        if path := shutil.which(name):
            return path
    raise NotMeasured("no full Chromium is on PATH")


def figures_of(watched: Watched, times: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return what a run comes to between its first task's begin and its last one's end."""
    began, ended = min(began for began, _ in times), max(ended for _, ended in times)
    held = watched.held_between(began, ended) or [0.0]
    cpu_s = watched.cpu_between(began, ended)
    return {
        "tasks_per_minute": len(times) / (ended - began) * 60,
        "cpu_s_per_task": cpu_s / len(times),
        "cores_busy": cpu_s / (ended - began),
        "pss_mib": median(held),
        "peak_pss_mib": max(held),
        "processes": max(sample.processes for sample in watched.samples),
        "start_s": began - watched.began,
        "end_s": watched.ended - ended,
        "cpu_s_of_start_and_end": watched.samples[-1].cpu_s - cpu_s,
        "cpu_s_per_task_with_start": watched.samples[-1].cpu_s / len(times),
    }


# -- all of them


def measure(
    rounds: int, folder: Path, *, variants: Sequence[Variant] = (*LATENCY, *CPU_BOUND)
) -> dict[str, Any]:
    """Let all variants take turns and return the median of each figure, by variant, and all rounds."""
    found: dict[str, list[dict[str, float]]] = {}
    unmeasured: dict[str, str] = {}
    with served() as base:
        for number in range(rounds):
            for variant in variants if number % 2 == 0 else reversed(variants):
                if variant.name not in unmeasured:
                    try:
                        figures = run(variant, base, folder)
                    except (NotMeasured, SystemExit) as why:  # what the others come to is not lost
                        unmeasured[variant.name] = str(why)
                    else:
                        found.setdefault(variant.name, []).append(figures)
                        speed = f"{figures['tasks_per_minute']:.1f} tasks/min"
                        print(f"round {number + 1}: {variant.name}: {speed}", file=sys.stderr, flush=True)
    medians = {
        name: {key: median([each[key] for each in of]) for key in of[0]} for name, of in found.items() if of
    }
    return {"variants": medians, "unmeasured": unmeasured, "rounds": found}


@dataclass(frozen=True)
class Ratio:
    """A figure of one variant to that of another, in the same round."""

    what: str
    figure: str
    of: Variant
    to: Variant
    kind: GoalKind
    goal: float

    def measured(self, figures: Mapping[str, Any]) -> list[float]:
        """Return it for each round; empty where a variant was not measured."""
        mine, others = (figures["rounds"].get(each.name, ()) for each in (self.of, self.to))
        return [one[self.figure] / other[self.figure] for one, other in zip(mine, others, strict=False)]


RATIOS = (
    Ratio(
        "8 lanes to pytest-playwright -n 2: tasks/min",
        "tasks_per_minute",
        Variant("ours", 8),
        Variant(PEER, processes=2),
        "at least",
        3.5,
    ),
    Ratio("the same: memory", "pss_mib", Variant("ours", 8), Variant(PEER, processes=2), "at most", 1),
    Ratio(
        "two workers of 8 lanes to one process of 16: tasks/min",
        "tasks_per_minute",
        Variant("ours", 8, processes=2),
        Variant("ours", 16),
        "at least",
        0.9,
    ),
    *(
        Ratio(
            f"-n 2 with 2 lanes to one process with 4, computing {one.computing_ms} ms a step: tasks/min",
            "tasks_per_minute",
            two,
            one,
            "at least",
            1,
        )
        for one, two in zip(CPU_BOUND[::2], CPU_BOUND[1::2], strict=True)
    ),
    *(
        Ratio(
            f"{lanes} lanes to plain Playwright in {lanes}: CPU of a task",
            "cpu_s_per_task",
            Variant("ours", lanes),
            Variant("raw", lanes),
            "at most",
            1.1,
        )
        for lanes in (8, 32)
    ),
)


def lines(figures: Mapping[str, Any]) -> list[Line]:
    """Return the table of what was measured, each figure beside its goal."""
    found = figures["variants"]
    rows = [
        against(ratio.what, median(values), ratio.kind, ratio.goal)
        for ratio in RATIOS
        if (values := ratio.measured(figures))
    ]
    if "ours 32" in found:
        rows.append(
            against(
                "32 lanes", found["ours 32"]["tasks_per_minute"], "at least", 175, unit="tasks/min", digits=0
            )
        )
    for few, many, goal in ((Variant("ours", 8), Variant("ours", 32), 40), (*FULL, 80)):
        if {few.name, many.name} <= set(found):
            more = (found[many.name]["pss_mib"] - found[few.name]["pss_mib"]) / (many.lanes - few.lanes)
            span = f"{few.lanes} to {many.lanes}"
            what = f"memory of each further lane, {span}{', full browser' * many.is_full}"
            rows.append(against(what, more, "at most", goal, unit="MiB", digits=0))
    return [
        *rows,
        *(missing(name, "measured", _last(why)) for name, why in figures["unmeasured"].items()),
        *_plain(found),
    ]


def _last(why: str) -> str:
    return (why.strip().splitlines() or ["no reason given"])[-1]


def _plain(found: Mapping[str, Mapping[str, float]]) -> Iterator[Line]:
    for name, of in found.items():
        measured = f"{of['tasks_per_minute']:.1f} tasks/min, {of['cpu_s_per_task']:.3f} CPU-s a task"
        memory = f"{of['pss_mib']:.0f} MiB (peak {of['peak_pss_mib']:.0f}), {of['cores_busy']:.2f} cores busy"
        start = f"start {of['start_s']:.1f} s, end {of['end_s']:.1f} s"
        yield Line(name, "", measured, None, f"{memory}; {start}")


def main() -> None:
    """Measure and tell."""
    parser = arguments(__doc__ or "", rounds=3)
    parser.add_argument("--full", action="store_true", help="also lanes of the full Chromium")
    parser.add_argument("--tasks-per-lane", type=int, default=4)
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these variants only, by their names")
    options = parser.parse_args()
    variants = [
        replace(each, tasks_per_lane=options.tasks_per_lane) if each.thinking_s else each
        for each in (*LATENCY, *CPU_BOUND, *(FULL if options.full else ()))
        if not options.only or each.name in options.only
    ]
    if not variants:
        parser.error(f"--only: there are {', '.join(each.name for each in (*LATENCY, *CPU_BOUND, *FULL))}")
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.rounds, Path(folder), variants=variants)
    report(figures, options.json)
    found = lines(figures)
    print(table(found))
    sys.exit(exit_code(found))


if __name__ == "__main__":
    main()
