"""Parts of a run while something is killed again and again: is every trial there once, at the end?

Sixteen parts of the quickstart's tasks, four at once, each under ``browsereval supervise`` and with a disk of
its own, as on machines of a cluster; what has died is started again. In turn the supervisor, pytest, the
driver or the browser of a part is killed, or a second try is started while the first one works. Runs are
made one after another until the time is over.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from measuring import arguments, report

QUICKSTART = Path(__file__).parents[1] / "examples/quickstart"
PARTS, AT_ONCE, TRIALS = 16, 4, 8
KINDS = ("pytest", "driver", "browser", "supervisor", "second try")
GIVEN_UP = 20
"""Tries of one part."""
PATIENCE_S = 900.0


@dataclass
class Runner:
    """Starts the parts of one run, as an engine does.

    Args:
        folder: for all that is written.
        url: of the folder of all runs.
        name: of the run.
    """

    folder: Path
    url: str
    name: str
    running: list[tuple[int, subprocess.Popen[bytes]]] = field(default_factory=list)
    tries: Counter[int] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    """How many tries ended with each exit code."""

    def begin(self, part: int) -> None:
        """Start a try at a part."""
        self.tries[part] += 1
        if self.tries[part] > GIVEN_UP:
            sys.exit(f"part {part} was started {GIVEN_UP} times, see {self.folder}")
        place = self.folder / f"{self.name}-{part}-{self.tries[part]}"
        place.mkdir()
        command = [sys.executable, "-m", "pytest_browsereval", "supervise", sys.executable, "-m", "pytest"]
        command += ["--eval-config=eval.yaml", f"--eval-trials={TRIALS}", "--eval-lanes=2"]
        command += [f"--eval-shard={part}/{PARTS}", f"--eval-output={self.url}"]
        command += [f"--eval-run-name={self.name}", f"--eval-set=output_dir={place}"]
        command += ["--eval-set=gate={}", "--eval-set=retries=3", "-p", "no:cacheprovider"]
        with (place / "output.txt").open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=QUICKSTART,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", "XDG_CACHE_HOME": str(place)},
            )
        self.running.append((part, process))

    def look(self) -> set[int]:
        """Take away what has ended; return the parts that have ended well."""
        done = set()
        for part, process in [one for one in self.running if one[1].poll() is not None]:
            self.running.remove((part, process))
            self.ends[str(process.returncode)] += 1
            if process.returncode in (0, 1, 5):  # 5: a part without a row
                done.add(part)
        return done

    def hurt(self, kind: str, luck: random.Random) -> bool:
        """Kill something of a part, or start it a second time; return whether there was anything."""
        part, process = luck.choice(self.running)
        if kind == "second try":
            self.begin(part)
            return True
        try:
            supervisor = psutil.Process(process.pid)
            found = {"supervisor": [supervisor], "pytest": supervisor.children()}
            below = supervisor.children(recursive=True)
            lines = {one: one.cmdline() for one in below}
            found["driver"] = [one for one, line in lines.items() if "run-driver" in line]
            browsers = [one for one, line in lines.items() if "--remote-debugging-pipe" in line]
            found["browser"] = [one for one in browsers if one.parent() in found["driver"]]
            for victim in found[kind][:1]:
                victim.send_signal(signal.SIGKILL)
                return True
        except psutil.Error:
            pass
        return False


def make_run(runner: Runner, until: float, every_s: float, luck: random.Random, kills: Counter[str]) -> float:
    """Start all parts, and hurt them until the time is over; return when the next one is hurt."""
    waiting, done = list(range(1, PARTS + 1)), set[int]()
    next_kill = time.monotonic() + every_s
    given_up = time.monotonic() + PATIENCE_S
    while len(done) < PARTS:
        if time.monotonic() > given_up:
            sys.exit(f"{PARTS - len(done)} parts were not done after {PATIENCE_S:g} s, see {runner.folder}")
        done |= runner.look()
        at_work = {part for part, _ in runner.running}
        lost = [part for part in range(1, PARTS + 1) if part not in {*waiting, *done, *at_work}]
        waiting = [*lost, *waiting]  # an engine starts again what has died
        while waiting and len(runner.running) < AT_ONCE:
            runner.begin(waiting.pop(0))
        if next_kill < time.monotonic() < until and runner.running:
            kind = KINDS[sum(kills.values()) % len(KINDS)]
            if runner.hurt(kind, luck):
                kills[kind] += 1
                next_kill = time.monotonic() + every_s
        time.sleep(0.2)
    for _, process in runner.running:  # a try that was taken over
        process.wait()
    runner.look()
    return next_kill


def count_trials(url: str, into: Path) -> dict[str, int]:
    """Merge a run, and count its trials."""
    command = [sys.executable, "-m", "pytest_browsereval", "merge", url, "-o", str(into)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    summary: dict[str, Any] = json.loads((into / "summary.json").read_text())
    keys = Counter((one["query_id"], one["variant"], one["trial"]) for one in summary["results"])
    rows = sum(1 for line in (QUICKSTART / "tasks.jsonl").read_text().splitlines() if line.strip())
    verdicts = Counter(one["verdict"] for one in summary["results"])
    return {
        "trials": rows * TRIALS,
        "lost": rows * TRIALS - len(keys),
        "counted_twice": sum(keys.values()) - len(keys),
        **verdicts,
    }


def main() -> None:
    """Make runs until the time is over."""
    parser = arguments(__doc__ or "", rounds=1)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--every", type=float, default=30)
    parser.add_argument("--url", help="a bucket, instead of a folder of this machine")
    options = parser.parse_args()
    luck = random.Random(0)  # noqa: S311 nothing is secret
    folder = Path(tempfile.mkdtemp())
    url = options.url or (folder / "bucket").as_uri()
    kills: Counter[str] = Counter()
    began = time.monotonic()
    runs: list[dict[str, Any]] = []
    while time.monotonic() - began < options.seconds:
        runner = Runner(folder, url, f"kills-{os.getpid()}-{len(runs) + 1}")
        make_run(runner, began + options.seconds, options.every, luck, kills)
        counted = count_trials(f"{url}/quickstart/{runner.name}", folder / f"whole-{len(runs)}")
        runs.append({**counted, "tries": sum(runner.tries.values()), "exit_codes": dict(runner.ends)})
        print(runs[-1], flush=True)
    report({"killed": dict(kills), "seconds": round(time.monotonic() - began), "runs": runs}, options.json)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
