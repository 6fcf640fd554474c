"""A run of many attempts put at a URL by ``browsereval push``: anew, and again when all of it is there.

The URL is a folder of this machine, so that what is measured is our own work: a bucket adds its time for
each object. With ``--before FOLDER`` an earlier version takes turns with this one.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import stored
from measuring import Cost, arguments, cost_of, median, report, versions

from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun

ATTEMPTS = 20_000


def make_run(folder: Path, attempts: int) -> Path:
    """Return a run that is whole."""
    run = stored.make_run(folder / "run", attempts, 5)
    store = RunStore(run)
    store.write_summary({"selected": attempts, "skipped": 0, **StoredRun(store.root).summary.as_json()})
    return run


def measured(folder: Path, run: Path, rounds: int, before: Path | None) -> dict[str, dict[str, float]]:
    """Return what each version needs, in seconds, and its memory."""
    ways = versions(before)
    costs: dict[str, dict[str, list[Cost]]] = {name: {"push": [], "push_again": []} for name in ways}
    for _ in range(rounds):
        for version, env in ways.items():
            (run / ".remote.json").unlink(missing_ok=True)
            url = (folder / "bucket").as_uri()
            words = [sys.executable, "-m", "pytest_browsereval", "push", str(run), url]
            for own in costs[version].values():
                own.append(cost_of(words, folder, env=env))
            shutil.rmtree(folder / "bucket")
    return {
        version: {
            **{f"{name}_cpu_s": median([one.cpu_s for one in of]) for name, of in own.items()},
            **{f"{name}_s": median([one.wall_s for one in of]) for name, of in own.items()},
            "peak_mib": median([one.peak_mib for one in own["push"]]),
        }
        for version, own in costs.items()
    }


def main() -> None:
    """Make a run, and push it."""
    parser = arguments(__doc__ or "", rounds=1, is_compared=True)
    parser.add_argument("--attempts", type=int, default=ATTEMPTS)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        run = make_run(folder, options.attempts)
        figures = measured(folder, run, options.rounds, options.before)
    finally:
        shutil.rmtree(folder)
    report({"attempts": options.attempts, **figures}, options.json)


if __name__ == "__main__":
    main()
