"""A worker and its browser on another machine (``-m machines``): two network namespaces and a cable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from pytest_browsereval.browsers.binary import candidates
from tests.hooks.launched import BEGINS, FUNCTION, Launched, verdicts, wait_for
from tests.hooks.small_evals import Evals, row

WORKER_PORT, BROWSER_PORT = 8888, 9222

FORWARDS = """
import asyncio, sys

async def pour(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()

async def join(reader, writer):
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(pour(reader, far_writer), pour(far_reader, writer))

async def main():
    async with await asyncio.start_server(join, sys.argv[1], int(sys.argv[2])) as server:
        await server.serve_forever()

asyncio.run(main())
"""
"""Chromium listens on loopback only: this lets the other machine in."""

ASKS = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5).read()"

AGENT = """
import os

async def solve(context):
    where = os.readlink("/proc/self/ns/net")
    (pathlib.Path(str(context.base_dir)) / f"{context.task.query_id}.network").write_text(where)
    said = await context.tools.call("read_text")
    return "right" if "Mugs" in said.output else said.output
"""

pytestmark = pytest.mark.machines


@dataclass
class Machine:
    """A network namespace, joined to another one by a cable."""

    name: str
    address: str

    def network(self) -> str:
        """What a process there sees as its network."""
        told = subprocess.run(
            self.command("readlink", "/proc/self/ns/net"), check=True, capture_output=True, text=True
        )
        return told.stdout.strip()

    def command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, *words]

    @contextmanager
    def running(self, *words: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Run a program there."""
        with (folder / "far.txt").open("ab") as output:
            process = subprocess.Popen(self.command(*words), cwd=folder, stdout=output, stderr=output)
            try:
                yield process
            finally:  # Debian's chromium is a script that starts another: with all that came of it
                for one in psutil.Process(process.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        one.kill()
                process.kill()
                process.wait()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def machine(name: str, address: str) -> Iterator[Machine]:
    """Make a network of its own."""
    ip("netns", "add", name)
    try:
        ip("-n", name, "link", "set", "lo", "up")
        yield Machine(name, address)
    finally:
        ip("netns", "del", name)


@pytest.fixture
def machines(evals: Evals) -> Iterator[tuple[Machine, Machine]]:
    """Return two machines; the second one has a browser, and a worker for whoever asks."""
    assert os.geteuid() == 0, "network namespaces need root"
    assert shutil.which("ip"), "there is no `ip`: apt-get install iproute2"
    with ExitStack() as stack:
        near, far = (
            stack.enter_context(machine(f"{name}-{os.getpid()}", address))
            for name, address in (("near", "10.213.77.1"), ("far", "10.213.77.2"))
        )
        ends = ["type", "veth", "peer", "name", "cable", "netns", far.name]
        ip("link", "add", "cable", "netns", near.name, *ends)
        for one in (near, far):
            ip("-n", one.name, "addr", "add", f"{one.address}/24", "dev", "cable")
            ip("-n", one.name, "link", "set", "cable", "up")
        binary = next(one.path for one in candidates() if one.path is not None and one.path.exists())
        profile = evals.path / "profile"
        chromium = [str(binary), "--headless", "--no-sandbox", f"--user-data-dir={profile}"]
        chromium += [f"--remote-debugging-port={BROWSER_PORT}", "about:blank"]
        forwards = [sys.executable, "-c", FORWARDS, far.address, str(BROWSER_PORT)]
        server = [sys.executable, "-m", "execnet.script.socketserver", f"{far.address}:{WORKER_PORT}"]
        for command in (chromium, forwards, server):
            stack.enter_context(far.running(*command, folder=evals.path))
        asks = near.command(sys.executable, "-c", ASKS, f"http://{far.address}:{BROWSER_PORT}/json/version")
        wait_for(
            lambda: subprocess.run(asks, check=False, capture_output=True).returncode == 0,
            "the far browser answers",
        )
        yield near, far


def test_a_worker_and_its_browser_are_on_another_machine(
    evals: Evals, machines: tuple[Machine, Machine]
) -> None:
    """Every row is run there; the gate, the report and the number are made here."""
    near, far = machines
    folder, home = evals.path / "evals", evals.path / "home-of-far"
    (folder / "site").mkdir(parents=True)
    home.mkdir()
    (folder / "site/index.html").write_text("<title>Shop</title><h1>Mugs</h1>")
    (folder / "my_agent.py").write_text(BEGINS + AGENT)
    rows = (row(f"r{number}", start_url="{site}/") for number in range(6))
    evals.write_rows(*rows, name="evals/rows.jsonl")
    evals.write_config(
        "evals/shop.eval.yaml",
        agent=FUNCTION,
        sites={"site": {"static": "site"}},
        browser={"type": "cdp", "url": f"http://{far.address}:{BROWSER_PORT}"},
        lanes=2,
        gate={"min_pass_rate": 1},
    )
    options = [
        "--eval-config=evals/shop.eval.yaml",
        "--rsyncdir=evals",
        f"--eval-output={evals.path / 'results'}",
        "--dist=load",
        "-p",
        "no:rerunfailures",  # its workers look for the controller on their own machine
        f"--tx=socket={far.address}:{WORKER_PORT}//chdir={home}",
    ]
    run = Launched(evals, *options, by=near.command())
    code = run.wait()
    assert code == 0, run.output + (evals.path / "far.txt").read_text()
    assert verdicts(evals.summary()) == {f"r{number}": "passed" for number in range(6)}
    networks = {file.read_text() for file in home.rglob("r?.network")}
    assert networks == {far.network()}
    assert networks != {near.network()}
    assert "gate min_pass_rate" in run.output
