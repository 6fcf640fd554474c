"""Runs in an S3 bucket: what listing thousands of them costs, and what reading one with many attempts does.

The server is moto's, on this machine: ``pip install 'moto[server]'``. It answers about 300 requests a second,
so its time says little of a real bucket; what counts is our CPU, and how many requests are made. Figures are
of commands, each in a process of its own with an empty cache.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import all_runs
import stored
from measuring import Cost, arguments, cost_of, report

from pytest_browsereval.features.remote.bucket import Bucket
from pytest_browsereval.features.remote.claims import Part
from pytest_browsereval.features.remote.push import Push
from pytest_browsereval.run.shards import Shard

RUNS, ATTEMPTS = 3_000, 20_000
KEYS = {"AWS_ACCESS_KEY_ID": "benchmark", "AWS_SECRET_ACCESS_KEY": "benchmark", "AWS_REGION": "us-east-1"}
PATIENCE_S = 60.0


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, Path]]:
    """Run moto's server with an empty bucket; gives its process, and its log, which has a line a request."""
    log = folder / "moto.log"
    with log.open("w") as file:
        words = [sys.executable, "-m", "moto.server", "-p", "0"]
        process = subprocess.Popen(words, stdout=file, stderr=file)
    try:
        port, deadline = 0, time.monotonic() + PATIENCE_S
        while not port and time.monotonic() < deadline:
            found = re.search(r"Running on http://127\.0\.0\.1:(\d+)", log.read_text())
            port = int(found[1]) if found else 0
            time.sleep(0.1)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("PUT", "/evals")
        connection.getresponse().read()
        os.environ.update({**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"})
        yield process.pid, log
    finally:
        process.kill()
        process.wait()


def put_runs(url: str, home: Path, count: int) -> None:
    """Put runs there as a push leaves them, but for their attempts."""
    luck = random.Random(0)  # noqa: S311 nothing is secret
    for number in range(count):
        all_runs.make_run(home, number, luck)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda folder: put_run(url, folder), sorted(home.iterdir())))


def put_run(url: str, folder: Path) -> None:
    """Put manifest and summary of a run there, and that it is done."""
    part = Part(Bucket.open(f"{url}/{folder.parent.name}/{folder.name}"), Shard(1, 1))
    token = f"{random.Random(folder.name).getrandbits(128):032x}"  # noqa: S311 nothing is secret
    for name in ("manifest.json", "summary.json"):
        part.bucket.put(f"{part.prefix(token)}/files/{name}", (folder / name).read_bytes())
    part.finish(token, "0")


class Measuring:
    """Measures commands, and counts their requests.

    Args:
        folder: for what they write.
        log: of the server.
        server: the number of its process.
    """

    def __init__(self, folder: Path, log: Path, server: int) -> None:
        self.folder = folder
        self.log = log
        self.server = server
        self.figures: dict[str, Any] = {}

    def add(self, name: str, *words: str) -> None:
        """Run a command with an empty cache."""
        cache = Path(tempfile.mkdtemp(dir=self.folder))
        before, used = self._requests(), self._server_cpu_s()
        command = [sys.executable, "-m", "pytest_browsereval", *words]
        cost: Cost = cost_of(command, self.folder, env={"XDG_CACHE_HOME": str(cache)})
        shutil.rmtree(cache)
        self.figures[name] = {
            "cpu_s": round(cost.cpu_s, 2),
            "server_cpu_s": round(self._server_cpu_s() - used, 2),
            "wall_s": round(cost.wall_s, 2),
            "peak_mib": round(cost.peak_mib),
            "requests": self._requests() - before,
        }
        print(json.dumps({name: self.figures[name]}), flush=True)

    def _server_cpu_s(self) -> float:
        stat = Path(f"/proc/{self.server}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def _requests(self) -> int:
        return self.log.read_text(errors="replace").count('HTTP/1.1" ')


def push(folder: Path, name: str, attempts: int, bad: int, url: str) -> str:
    """Put a run of many attempts there, and return its URL."""
    run = stored.make_run(folder / name, attempts, bad)
    pushed = Push.of_run(run, url)
    pushed.finish()
    return pushed.url


def main() -> None:
    """Fill the bucket, and read it."""
    parser = arguments(__doc__ or "", rounds=1)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--attempts", type=int, default=ATTEMPTS)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        stored.PICTURES = 0  # the commands bring none, and to put 80,000 there takes moto minutes
        with server(folder) as (process, log):
            measuring = Measuring(folder, log, process)
            url = "s3://evals/many"
            if options.runs:
                put_runs(url, folder / "results/shop", options.runs)
                measuring.add("runs, without a record", "runs", url)
                measuring.add("runs, with it", "runs", url)
            one, other = (
                push(folder, f"run-{n}", options.attempts, 5 + n, "s3://evals/large") for n in (0, 1)
            )
            measuring.add("gate", "gate", one, *stored.RULES)
            measuring.add("compare", "compare", one, other)
            measuring.add("runs of both", "runs", "s3://evals/large")
    finally:
        shutil.rmtree(folder)
    sizes = {"runs": options.runs, "attempts": options.attempts}
    report({**sizes, **measuring.figures}, options.json)


if __name__ == "__main__":
    main()
