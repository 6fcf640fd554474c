"""What it costs to send a run to a bucket while it is made: the upload's share of the CPU of the run.

The run is the quickstart's, with Chromium; the server is moto's, whose CPU does not count. The upload's own
threads are timed in the process, and those of the store's library by their names, so that one run gives the
share: two runs, one with and one without a URL, differ by more than what is looked for.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from measuring import arguments, cost_of, median, report, versions

ROOT = Path(__file__).resolve().parent.parent
GOAL = 0.05
FIGURES = "UPLOAD_FIGURES"
"""A variable: the file that the process of a run writes its figures to."""

_spent: dict[str, float] = {}
_lock = threading.Lock()
_timed = threading.local()


def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that adds the CPU of its thread to the figures; one in another counts once."""

    @wraps(work)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if getattr(_timed, "is_on", False):
            return work(*args, **kwargs)
        _timed.is_on, began = True, time.thread_time()
        try:
            return work(*args, **kwargs)
        finally:
            _timed.is_on = False
            with _lock:
                _spent[name] = _spent.get(name, 0.0) + time.thread_time() - began

    return wrapper


def pytest_configure() -> None:
    """In the process of a run: time what the upload does."""
    from pytest_browsereval.features.remote import hooks, threads

    names = {"_send_in_background": "loop", "_send_rest": "rest"}
    for name, label in names.items():
        setattr(hooks.Uploading, name, timed(label, getattr(hooks.Uploading, name)))
    for name in ("_settle", "_settle_all"):
        setattr(threads, name, timed("requests", getattr(threads, name)))


def pytest_unconfigure() -> None:
    """Write the figures down."""
    _spent["library"] = sum(_cpu_of(task) for task in Path("/proc/self/task").iterdir() if _is_library(task))
    Path(os.environ[FIGURES]).write_text(json.dumps(_spent))


def _is_library(task: Path) -> bool:
    return (task / "comm").read_text().startswith("tokio")


def _cpu_of(task: Path) -> float:
    ticks = (task / "stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def measured(folder: Path, rounds: int, before: Path | None) -> dict[str, dict[str, Any]]:
    """Return the CPU of runs and uploads by version, in seconds."""
    figures = folder / "figures.json"
    found: dict[str, list[dict[str, float]]] = {version: [] for version in versions(before)}
    for number in range(rounds):
        for version, env in versions(before).items():
            words = [
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "uploading"),
                *(
                    "--eval-config=examples/quickstart/eval.yaml",
                    "--eval-lanes=4",
                    "--eval-set",
                    "gate.min_pass_rate=0.5",
                ),
                *("--eval-set", f"output_dir={folder / 'out'}", f"--eval-run-name={version}-{number}"),
                "--eval-output=s3://evals/runs",
            ]
            path = os.pathsep.join([str(Path(__file__).parent), *env.values()])
            own = {"PYTHONPATH": path, FIGURES: str(figures)}
            cost = cost_of(words, ROOT, env=own, in_group=True)
            spent = json.loads(figures.read_text())
            upload = sum(spent.values())
            found[version].append(
                {"run": cost.cpu_s, "upload": upload, "share": upload / cost.cpu_s, **spent}
            )
            print(
                json.dumps({version: {name: round(s, 3) for name, s in found[version][-1].items()}}),
                flush=True,
            )
    return {
        version: {name: median([one[name] for one in own]) for name in own[0]}
        for version, own in found.items()
    }


def main() -> None:
    """Run, and say what share the upload had."""
    from bucket import server

    parser = arguments(__doc__ or "", rounds=5, is_compared=True)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        with server(folder):
            figures = measured(folder, options.rounds, options.before)
    finally:
        shutil.rmtree(folder)
    goal = {"goal": GOAL, "is_met": figures["now"]["share"] <= GOAL}
    report({"cpu_s": figures, "goals": {"share": goal}}, options.json)


if __name__ == "__main__":
    main()
