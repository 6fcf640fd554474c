"""A run folder of 20,000 attempts: what its summary, its gate and the commands that read it cost.

The attempts are written by the package's own writers, then each way to read them runs in a process of
its own. ``stored.py summary RUN`` and ``stored.py gate RUN`` are such processes. The peak of memory is that
of the process, as the system counts it. ``--url`` reads the first run at a URL too, a folder on this disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from measuring import Cost, arguments, cost_of, median, report

from pytest_browsereval.analysis.gate import decide
from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.config import GateConfig
from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.graders.answer import AnswerGrader
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage, UserMessage, now
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.selection import note_selected
from pytest_browsereval.run.store import AttemptFolder, RunStore
from pytest_browsereval.runs.attempt import find_place
from pytest_browsereval.runs.lines import Noted
from pytest_browsereval.runs.run import StoredRun

GOAL_S, GOAL_OF_MANY_S, GOAL_MIB = 2.0, 15.0, 400.0
"""For 20,000 attempts, and for more; from a cold disk too."""
STEPS = 8
PICTURES = 2
PICTURE = b"\xff\xd8\xff\xe0" + bytes(30_000) + b"\xff\xd9"
RULES = ["--eval-set", "gate.min_pass_rate=0.5", "--eval-set", "gate.max_error_rate=0.1"]
COMMANDS = {
    "gate": ["gate", "{run}", *RULES],
    "gate --baseline": ["gate", "{run}", *RULES, "--eval-set", "gate.max_drop=0.5", "--baseline", "{other}"],
    "compare": ["compare", "{run}", "{other}"],
    "runs": ["runs", "{results}"],
    "view": ["view", "{run}"],
}
"""What follows ``browsereval``, where it has such a command."""
URL_COMMANDS = {"gate URL": ["gate", "{url}", *RULES], "compare URL": ["compare", "{url}", "{other}"]}
"""The same of a run at a URL: with an empty cache first, then with the copy that is in it."""


# -- a run folder


def write(root: Path, numbers: range, bad: int) -> None:
    """Write attempts; every ``bad``-th one failed, and a few errored."""
    store = RunStore(root, worker=f"gw{numbers.start}")
    picture = root / f"picture-{numbers.start}.jpg"
    root.mkdir(parents=True, exist_ok=True)
    for count, number in enumerate(numbers):
        if count % 20_000 == 0:  # a file has at most 65,000 names
            picture.unlink(missing_ok=True)
            picture.write_bytes(PICTURE)
        key = TrialKey(f"shop-{number:05d}")
        folder = store.begin_attempt(key, f"shop.eval.yaml::{key.query_id}")
        _record(store, folder, number, bad, picture)
        folder.finish()
    picture.unlink()


def _record(store: RunStore, folder: AttemptFolder, number: int, bad: int, picture: Path) -> None:
    key = TrialKey(folder.path.parents[2].name)
    saver, log = TrajectorySaver(folder.path), MessageLogger(folder.path)
    query = f"Find product {number}, put {number % 7} of it into the basket and check out. " * 3
    log.log(UserMessage(content=query))
    for step in range(STEPS):
        call, url = f"call-{step + 1}", f"http://127.0.0.1:8080/products/{number}?page={step}"
        log.log(ToolCallMessage(tool="click", tool_call_id=call, params={"target": f"e{step}"}, span_id=call))
        log.log(
            ToolResultMessage(tool_call_id=call, result="Clicked.", is_error=False, url=url, span_id=call)
        )
    log.close()
    (folder.path / "screenshots").mkdir()
    for shot in range(PICTURES):
        os.link(picture, folder.path / "screenshots" / f"{shot + 1}.jpeg")
    task = Task(query_id=key.query_id, query=query, dataset="shop", answer=str(number))
    saver.save_task(task, [AnswerGrader()], {"shop": "http://127.0.0.1:8080"}, {})
    metadata = _metadata(key, folder, query, number, bad)
    saver.save_grades(metadata.grader_results)
    store.save_record(metadata)


def _metadata(key: TrialKey, folder: AttemptFolder, query: str, number: int, bad: int) -> TaskMetadata:
    verdict = Verdict.ERRORED if number % 97 == 0 else Verdict.FAILED if number % bad == 0 else Verdict.PASSED
    grades = {name: _grade(name, verdict, number) for name in ("answer", "page_state", "rubric")}
    began = now()
    return TaskMetadata(
        query_id=key.query_id,
        dataset="shop",
        query=query,
        attempt=folder.number,
        node_id=f"shop.eval.yaml::{key.query_id}",
        tags=("shop", f"group-{number % 50}"),
        website="shop",
        row_hash=f"{number:064x}",
        protected=False,
        start_url="http://127.0.0.1:8080/",
        started_at=began,
        completed_at=began,
        total_duration_ms=12_345.678 + number,
        agent_duration_ms=10_345.678 + number,
        grading_duration_ms=345.678 + number,
        total_steps=STEPS,
        screenshot_count=PICTURES,
        termination_reason=TerminationReason.COMPLETED,
        final_answer=f"I have put {number % 7} of product {number} into the basket and checked out. " * 3,
        agent_config={
            "type": "single",
            "model": {"provider": "openai", "model": "scripted", "api_key": "OPENAI_API_KEY", "seed": 1},
            "system_prompt": "You act in a browser. " * 20,
        },
        grader_results=grades,
        usage=Usage(input_tokens=40_000 + number, output_tokens=900 + number, requests=STEPS, cost_usd=0.02),
        cost_usd=0.03 + number / 1e8,
        verdict=verdict,
        error_source=ErrorSource.GRADER if verdict is Verdict.ERRORED else None,
        reason=f"the basket of product {number} {verdict}",
        final_url="http://127.0.0.1:8080/done",
    )


def _grade(name: str, verdict: Verdict, number: int) -> GraderResult:
    score = {Verdict.PASSED: 1.0, Verdict.FAILED: 0.0, Verdict.ERRORED: None}[verdict]
    criteria = tuple(
        Criterion(
            name=f"criterion {n}", verdict=verdict, expected=n, actual=n, reason="as it stands in the basket"
        )
        for n in range(4)
    )
    return GraderResult(
        grader=name,
        verdict=verdict,
        score=score,
        reasoning=f"The basket holds {number % 7} of product {number}, which is what was asked for. " * 2,
        criteria=criteria,
        fingerprint=f"{name}-1-{number % 3:032x}",
        usage=Usage(input_tokens=3000, output_tokens=200, requests=1, cost_usd=0.003),
        cost_usd=0.003,
        duration_ms=115.2 + number,
    )


def write_lines(root: Path, attempts: int, bad: int) -> None:
    """Write what a copy of a run at a URL has: the lines of its attempts, and none of their folders."""
    store = RunStore(root)
    (root / "tasks").mkdir()
    for number in range(attempts):
        key = TrialKey(f"shop-{number:05d}")
        path = store.trial_folder(key) / "attempt-1"
        data = _metadata(key, AttemptFolder(path, 1, path), "Find product and check out. ", number, bad)
        store.writer.append(Noted(find_place(data), 1), data.model_dump(mode="json"))


def make_run(root: Path, attempts: int, bad: int, *, has_folders: bool = True) -> Path:
    """Write a run of so many attempts, by two processes, and return its folder, as a session leaves it."""
    store = RunStore(root)
    root.mkdir(parents=True)
    store.write_manifest({"name": "shop", "run_id": root.name})
    note_selected(store, (TrialKey(f"shop-{number:05d}") for number in range(attempts)))
    if has_folders:
        parts = [range(0, attempts, 2), range(1, attempts, 2)]
        with ProcessPoolExecutor(len(parts)) as pool:
            list(pool.map(partial(write, root, bad=bad), parts))
    else:
        write_lines(root, attempts, bad)
    summary = StoredRun(store.root).summary
    store.write_summary({"selected": attempts, "skipped": 0, **summary.as_json()})
    return root


# -- reading it


def summarise(run: Path) -> None:
    """Do what a session does at its end, up to the table."""
    from pytest_browsereval.report.table import disagreements, reasons, table, totals

    store = RunStore(run)
    summary = StoredRun(store.root).summary
    figures = {"selected": len(summary.trials), **summary.figures()}
    store.write_summary({**figures, "results": summary.list_results()})
    for line in (*table(summary), *reasons(summary), *disagreements(summary)):
        print(line.text)
    print(*totals(summary, len(summary.trials)))


def gate(run: Path) -> None:
    """Decide a gate with every rule, 200 rows that must pass among them."""
    must = tuple(f"shop-{number:05d}" for number in range(200))
    rules = GateConfig(min_pass_rate=0.5, max_error_rate=0.1, must_pass=must)
    print(sum(rule.is_met for rule in decide(StoredRun(run).summary, rules)), "rules met")


READERS = {"summary": summarise, "gate": gate}


def ways(run: Path, other: Path, url: str | None, only: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the command of everything that reads the run and is there."""
    from pytest_browsereval.__main__ import gather_commands

    found = {name: [sys.executable, __file__, name, str(run)] for name in READERS}
    known = {command.name for _, command in gather_commands(open_door(), print)}
    given = {**COMMANDS}
    for name, words in URL_COMMANDS.items() if url else ():
        given |= {f"{name}, nothing in the cache": words, f"{name}, in the cache": words}
    for name, words in given.items():
        if words[0] in known:
            filled = [word.format(run=run, other=other, results=run.parent, url=url) for word in words]
            found[f"browsereval {name}"] = [sys.executable, "-m", "pytest_browsereval", *filled]
    yield from ((name, words) for name, words in found.items() if not only or name in only)


def forget() -> None:
    """Have the system forget what it holds of the disk, as after a start of the machine (Linux, root)."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")


def measured(
    run: Path, ways: Mapping[str, list[str]], rounds: int, *, goal_s: float, is_cold: bool = False
) -> dict[str, Any]:
    """Let all ways to read take turns."""
    costs: dict[str, list[Cost]] = {}
    cache = run.parent / "cache"
    for _ in range(rounds):
        for name, command in ways.items():
            if "nothing in the cache" in name:
                shutil.rmtree(cache, ignore_errors=True)
            if is_cold:
                forget()
            cost = cost_of(command, run.parent, env={"XDG_CACHE_HOME": str(cache)})
            costs.setdefault(name, []).append(cost)
    figures: dict[str, Any] = {}
    for name, of in costs.items():
        fields = ("wall_s", "cpu_s", "peak_mib")
        medians = {field: median([getattr(c, field) for c in of]) for field in fields}
        is_met = (
            medians["cpu_s"] <= goal_s
            and medians["wall_s"] <= 1.5 * goal_s
            and medians["peak_mib"] <= GOAL_MIB
        )
        figures[name] = {**medians, "is_met": is_met}
    return figures


def send(run: Path) -> str:
    """Send a run to a URL, a folder beside it, and return the URL."""
    place = run.parent / "bucket"
    if not place.exists():
        words = ["push", str(run), place.as_uri()]
        subprocess.run([sys.executable, "-m", "pytest_browsereval", *words], check=True)
    return f"{place.as_uri()}/shop/{run.name}"


def main() -> None:
    """Write two runs and read them."""
    if len(sys.argv) == 3 and sys.argv[1] in READERS:
        READERS[sys.argv[1]](Path(sys.argv[2]))
        return
    parser = arguments(__doc__ or "", rounds=3)
    parser.add_argument("--attempts", type=int, default=20_000)
    parser.add_argument("--lines", action="store_true", help="runs of lines only, as copies of URLs are")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the runs here, and use those that are there"
    )
    parser.add_argument(
        "--cold", action="store_true", help="each reads from the disk, of which nothing is in memory (root)"
    )
    parser.add_argument("--url", action="store_true", help="read a run at a URL as well")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="measure this one only")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp())
    try:
        runs = [folder / name for name in ("run-a", "run-b")]
        for number, run in enumerate(runs):
            if not run.exists():
                make_run(run, options.attempts, bad=5 + number, has_folders=not options.lines)
        goal_s = GOAL_S if options.attempts <= 20_000 else GOAL_OF_MANY_S
        figures = measured(
            runs[0],
            dict(ways(runs[0], runs[1], send(runs[0]) if options.url else None, options.only)),
            options.rounds,
            goal_s=goal_s,
            is_cold=options.cold,
        )
    finally:
        if options.keep is None:
            shutil.rmtree(folder)
    goals = {"wall_s": goal_s, "peak_mib": GOAL_MIB}
    report({"attempts": options.attempts, "cold": options.cold, "goals": goals, **figures}, options.json)


if __name__ == "__main__":
    main()
