"""``browsereval ray`` on a real cluster of three nodes on this machine, parts of which are killed."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.features.ray.test_ray import CONFTEST
from tests.hooks.small_evals import Evals, row
from tests.support import LEFT_OUT, until

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

PATIENCE_S = 120.0
"""A part begins anew on another node after seconds, and this machine has few cores."""
QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart"
ROWS = [f"r{number}" for number in range(8)]

AGENT = """
import asyncio, os, time
from pathlib import Path

FOLDER = Path({folder!r})

async def solve(context):
    name = context.task.query_id
    (FOLDER / f"began-{{name}}-{{os.getpid()}}").touch()
    deadline = time.monotonic() + {patience}
    while not (FOLDER / "go").exists():
        assert time.monotonic() < deadline, "nobody let it go on"
        await asyncio.sleep(0.05)
    return "right"
"""
"""Waits in the middle of each row until the test has done its worst."""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """Run a cluster of three nodes: one without cores for whoever starts the parts, two that run them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        utils = pytest.importorskip("ray.cluster_utils")
        cluster = utils.Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 80 << 20},
        )
        try:
            yield cluster
        finally:
            cluster.shutdown()


@pytest.fixture
def cluster(nodes: Any) -> Any:
    """Have two nodes with a core, whatever the last test has killed."""
    for node in list(nodes.worker_nodes):
        raylet = node.all_processes.get("raylet", ())
        if not raylet or raylet[0].process.poll() is not None:
            with suppress(Exception):
                nodes.remove_node(node, allow_graceful=False)
    while len(nodes.worker_nodes) < 2:
        nodes.add_node(num_cpus=1, object_store_memory=80 << 20)
    nodes.wait_for_nodes()
    return nodes


class Started:
    """The command, which runs beside the test."""

    def __init__(self, evals: Evals, *words: str, parts: int = 2, **keys: Any) -> None:
        self.evals = evals
        (evals.path / "conftest.py").write_text(CONFTEST)
        (evals.path / "waits.py").write_text(AGENT.format(folder=str(evals.path), patience=PATIENCE_S))
        evals.write_rows(*(row(name) for name in ROWS))
        evals.write_config(agent={"type": "function", "function": "waits:solve"}, **keys)
        self.out = (evals.path / "out.txt").open("w+")
        command = [sys.executable, "-m", "pytest_browsereval", "ray", "shop.eval.yaml", "--parts", str(parts)]
        command += ["--name", "nightly", *words, "--", *LEFT_OUT]
        env = {**os.environ, "PYTHONSAFEPATH": "1"}
        self.process = subprocess.Popen(
            command,
            cwd=evals.path,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=self.out,
            stderr=self.out,
            start_new_session=True,
        )

    def text(self) -> str:
        return (self.evals.path / "out.txt").read_text()

    def began(self) -> set[int]:
        """Return the processes that have begun a row."""
        return {int(file.name.rpartition("-")[2]) for file in self.evals.path.glob("began-*")}

    def wait_for(self, what: Callable[[], object]) -> None:
        asyncio.run(until(lambda: what() or self.process.poll() is not None, PATIENCE_S))
        assert self.process.poll() is None, self.text()

    def go(self) -> int:
        (self.evals.path / "go").touch()
        return self.process.wait(PATIENCE_S)

    def summary(self) -> dict[str, Any]:
        """Return the summary of all parts."""
        whole = self.evals.path / "results" / "shop" / "nightly"
        return dict(json.loads((whole / "summary.json").read_text()))

    def check_whole(self) -> None:
        """Check that there is one result for each trial."""
        summary = self.summary()
        assert sorted(one["query_id"] for one in summary["results"]) == ROWS
        assert (summary["trials"], summary["passed"]) == (8, 8)

    def leftovers(self) -> list[str]:
        """Return the processes that have something to do with this eval, but the command itself."""
        found = []
        for one in psutil.process_iter():
            with suppress(psutil.Error):
                words = " ".join(one.cmdline())
                if str(self.evals.path) in words and one.pid != self.process.pid:
                    found.append(words)
        return found

    def check_nothing_left(self) -> None:
        asyncio.run(until(lambda: not self.leftovers(), PATIENCE_S))


@pytest.fixture
def start(evals: Evals, cache: Path) -> Iterator[Callable[..., Started]]:
    """Start the command; it ends with the test."""
    made: list[Started] = []

    def begin(*words: str, **keys: Any) -> Started:
        made.append(Started(evals, *words, **keys))
        return made[-1]

    yield begin
    for one in made:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait(PATIENCE_S)
        one.out.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep copies of runs in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def worker_of(pid: int) -> psutil.Process:
    """Return the worker of Ray above a process of pytest."""
    return next(one for one in psutil.Process(pid).parents() if "ray::" in " ".join(one.cmdline()))


def on(cluster: Any, evals: Evals) -> tuple[str, ...]:
    return ("--address", cluster.address, "--output", (evals.path / "shared").as_uri())


def test_a_cluster_of_its_own(start: Callable[..., Started]) -> None:
    """Without an address the command starts one on this machine, which ends with it."""
    started = start()
    started.wait_for(started.began)
    assert started.go() == 0, started.text()
    started.check_whole()
    started.check_nothing_left()


def test_the_quickstart_in_a_bucket(
    evals: Evals, cluster: Any, server: int, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With pages; the nodes meet in a bucket: green.

    Nodes get the bucket's key by --env, and print it nowhere.
    """
    shutil.copytree(QUICKSTART, evals.path / "copy", ignore=shutil.ignore_patterns("results"))
    command = [sys.executable, "-m", "pytest_browsereval", "ray", "copy/eval.yaml", "--parts", "2"]
    command += ["--address", cluster.address]
    connection = http.client.HTTPConnection("127.0.0.1", server)
    connection.request("PUT", "/quickstart")
    assert connection.getresponse().status == 200
    connection.close()
    key = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "hunter22-hunter22"}
    place = {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server}"}
    for name, value in {**key, **place, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
        command += ["--env", name]
    command += ["--output", "s3://quickstart/nightly", "--", "--eval-limit=4", *LEFT_OUT]
    done = subprocess.run(command, cwd=evals.path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hunter22" not in done.stdout + done.stderr
    assert "pass rate 100.0% (4 of 4 judged)" in done.stdout


def test_ctrl_c_in_a_terminal_ends_a_cluster_of_its_own(start: Callable[..., Started]) -> None:
    """All processes of the terminal's group get it, those of Ray too."""
    started = start()
    started.wait_for(started.began)
    os.killpg(started.process.pid, signal.SIGINT)
    assert started.process.wait(PATIENCE_S) == 2, started.text()
    assert "--name nightly" in started.text()
    started.check_nothing_left()


def test_ctrl_c_ends_everything(cluster: Any, evals: Evals, start: Callable[..., Started]) -> None:
    """Exit code 2 and the command that goes on, which then runs the rest."""
    started = start(*on(cluster, evals))
    started.wait_for(started.began)
    started.process.send_signal(signal.SIGINT)
    assert started.process.wait(PATIENCE_S) == 2, started.text()
    assert "--name nightly" in started.text()
    started.check_nothing_left()
    assert not (evals.path / "results" / "shop").exists()
    (evals.path / "go").touch()
    again = start(*on(cluster, evals))
    assert again.go() == 0, again.text()
    again.check_whole()


def test_a_driver_that_is_killed_leaves_nothing(
    cluster: Any, evals: Evals, start: Callable[..., Started]
) -> None:
    """Ray ends the tasks of a driver that is gone, and pytest goes with them."""
    started = start(*on(cluster, evals), parts=1)
    started.wait_for(started.began)
    started.process.kill()
    started.process.wait(PATIENCE_S)
    started.check_nothing_left()


def test_a_worker_that_dies_is_replaced(cluster: Any, evals: Evals, start: Callable[..., Started]) -> None:
    """Its pytest goes with it, and the part begins anew, twice: one result for each trial."""
    started = start(*on(cluster, evals))
    started.wait_for(started.began)
    for number in (signal.SIGKILL, signal.SIGTERM):
        before = started.began()
        first = next(pid for pid in before if psutil.pid_exists(pid))
        worker_of(first).send_signal(number)
        started.wait_for(lambda: started.began() - before and not psutil.pid_exists(first))  # noqa: B023 at once
    assert started.go() == 0, started.text()
    started.check_whole()
    started.check_nothing_left()


@pytest.mark.parametrize("how", ["raylet", "raylet-term", "node"])
def test_a_node_that_dies_is_done_without(
    cluster: Any, evals: Evals, start: Callable[..., Started], how: str
) -> None:
    """Whether all of it dies or its raylet alone: one result for each trial."""
    started = start(*on(cluster, evals))
    started.wait_for(lambda: len(started.began()) >= 2)
    before = started.began()
    first = next(iter(before))
    worker = worker_of(first)
    raylet = worker.parent()
    assert raylet is not None
    mine = [one.all_processes["raylet"][0].process.pid for one in cluster.worker_nodes]
    assert raylet.pid in mine, raylet.cmdline()
    if how == "node":
        for one in (raylet, *raylet.children()):
            one.kill()
        # Its part may wait until the other node is free, so all may go on now.
        started.wait_for(lambda: not psutil.pid_exists(first))
    else:
        raylet.send_signal(signal.SIGTERM if how == "raylet-term" else signal.SIGKILL)
    assert started.go() == 0, started.text()
    started.check_whole()
    started.check_nothing_left()


def test_sigterm_while_the_cluster_starts(start: Callable[..., Started]) -> None:
    """Ray has a handler of its own, and it is no traceback of ours."""
    started = start()

    def starts() -> bool:
        with suppress(psutil.Error):  # one of them has just ended: the next look is without it
            below = psutil.Process(started.process.pid).children(recursive=True)
            return any("gcs_server" in " ".join(one.cmdline()) for one in below)
        return False

    started.wait_for(starts)
    started.process.terminate()
    assert started.process.wait(PATIENCE_S) == 2, started.text()
    assert "Traceback" not in started.text()
    assert "interrupted" in started.text()
