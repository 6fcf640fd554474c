"""A worker and its browser on another machine (``-m machines``): two network namespaces and a cable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from pytest_browsereval.browsers.binary import candidates
from tests.hooks.launched import FUNCTION, verdicts, wait_for, write_agent
from tests.hooks.small_evals import Evals, row
from tests.hooks.test_trouble import go

NEAR, FAR = "10.213.77.1", "10.213.77.2"
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
    """A network namespace, joined to ours by a cable."""

    name: str

    def command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, *words]

    @contextmanager
    def running(self, *words: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Run a program there."""
        with (folder / "far.txt").open("ab") as output:
            process = subprocess.Popen(self.command(*words), cwd=folder, stdout=output, stderr=output)
            try:
                yield process
            finally:
                process.kill()
                process.wait()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def far(evals: Evals) -> Iterator[Machine]:
    """Return the other machine: a browser is at its door, and a worker of xdist's may be asked for."""
    assert os.geteuid() == 0, "network namespaces need root"
    assert shutil.which("ip"), "there is no `ip`: apt-get install iproute2"
    name, cable = f"far-{os.getpid()}", f"v{os.getpid()}"
    machine = Machine(name)
    with ExitStack() as stack:
        ip("netns", "add", name)
        stack.callback(ip, "netns", "del", name)
        ip("link", "add", cable, "type", "veth", "peer", "name", "door", "netns", name)
        ip("addr", "add", f"{NEAR}/24", "dev", cable)
        ip("link", "set", cable, "up")
        for words in (("addr", "add", f"{FAR}/24", "dev", "door"), ("link", "set", "door", "up")):
            ip("-n", name, *words)
        ip("-n", name, "link", "set", "lo", "up")
        binary = next(one.path for one in candidates() if one.path is not None and one.path.exists())
        profile = evals.path / "profile"
        chromium = [str(binary), "--headless", "--no-sandbox", f"--user-data-dir={profile}"]
        chromium += [f"--remote-debugging-port={BROWSER_PORT}", "about:blank"]
        stack.enter_context(machine.running(*chromium, folder=evals.path))
        forwards = [sys.executable, "-c", FORWARDS, FAR, str(BROWSER_PORT)]
        stack.enter_context(machine.running(*forwards, folder=evals.path))
        server = [sys.executable, "-m", "execnet.script.socketserver", f"{FAR}:{WORKER_PORT}"]
        stack.enter_context(machine.running(*server, folder=evals.path))
        wait_for(lambda: answers(f"http://{FAR}:{BROWSER_PORT}/json/version"), "the far browser answers")
        yield machine


def answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.mark.usefixtures("far")
def test_a_worker_and_its_browser_are_on_another_machine(evals: Evals) -> None:
    """Every row is run there; the gate, the report and the number are made here."""
    (evals.path / "site").mkdir()
    (evals.path / "site/index.html").write_text("<title>Shop</title><h1>Mugs</h1>")
    write_agent(evals, AGENT)
    evals.rows(*(row(f"r{number}", start_url="{site}/") for number in range(6)))
    evals.config(
        agent=FUNCTION,
        sites={"site": {"static": "site"}},
        browser={"type": "cdp", "url": f"http://{FAR}:{BROWSER_PORT}"},
        lanes=2,
        gate={"min_pass_rate": 1},
    )
    there = f"socket={FAR}:{WORKER_PORT}//chdir={evals.path}"
    code, output = go(evals, "--dist=load", f"--tx={there}", "--junit-xml=junit.xml")
    assert code == 0, output + (evals.path / "far.txt").read_text()
    assert verdicts(evals.summary()) == {f"r{number}": "passed" for number in range(6)}
    networks = {(evals.path / f"r{number}.network").read_text() for number in range(6)}
    assert len(networks) == 1
    assert networks != {str(Path("/proc/self/ns/net").readlink())}
    assert "gate pass_rate" in output
