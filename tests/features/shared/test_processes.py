from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pytest_browsereval.features.shared.processes import supervise_command
from tests.support import PATIENCE_S, has_ended, until

STUBBORN = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder = pathlib.Path(sys.argv[1])
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    (folder / "daemon.new").write_text(str(os.getpid()))
    (folder / "daemon.new").rename(folder / "daemon.pid")
    time.sleep(3600)
print(sys.stdin.read(), flush=True)
if "stays" in sys.argv:
    time.sleep(3600)
while not (folder / "daemon.pid").exists():
    time.sleep(0.01)
sys.exit(3)
"""
"""Ignores SIGTERM, and leaves a daemon behind in a session of its own."""


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    (folder / "task.txt").write_text("the task")
    command = supervise_command(
        [sys.executable, "-c", STUBBORN, str(folder), *words], 0.2, stdin=str(folder / "task.txt")
    )
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def daemon(folder: Path) -> int:
    asyncio.run(until((folder / "daemon.pid").exists))
    return int((folder / "daemon.pid").read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
@pytest.mark.parametrize("words", [[], ["stays"]], ids=["ended", "let-go"])
def test_what_leaves_the_process_group_is_ended_too(tmp_path: Path, words: list[str]) -> None:
    """A daemon in a session of its own ends with the command, by itself or when the leash is let go."""
    leash = start(tmp_path, *words)
    assert leash.stdin is not None
    assert leash.stdout is not None
    assert leash.stdout.readline() == b"the task\n"  # the file is the command's standard input
    pid = daemon(tmp_path)
    if words:
        assert not has_ended(pid)
        leash.stdin.close()
    assert leash.wait(PATIENCE_S) == (137 if words else 3)
    asyncio.run(until(lambda: has_ended(pid)))
    leash.stdin.close()
    leash.stdout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the signal is one of Linux")
def test_a_command_is_killed_with_its_supervisor(tmp_path: Path) -> None:
    """Whoever kills the supervisor by SIGKILL kills the command too, whatever it ignores."""
    supervisor = start(tmp_path, "stays")
    assert supervisor.stdout is not None
    assert supervisor.stdout.readline() == b"the task\n"
    (command,) = {one.pid for one in psutil.Process(supervisor.pid).children()} - {daemon(tmp_path)}
    supervisor.kill()
    asyncio.run(until(lambda: has_ended(command)))
    os.kill(daemon(tmp_path), signal.SIGKILL)  # whose it is, nobody knows any more
    supervisor.communicate()


def test_a_command_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    """The exit code is 127, and the reason is on standard error."""
    missing = str(tmp_path / "nothing")
    done = subprocess.run(
        supervise_command([missing], 1), stdin=subprocess.PIPE, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.decode()) == (127, f"cannot run {missing!r}: {os.strerror(2)}\n")


ASKED_AT_ONCE = """
import os, signal, subprocess, sys
from pytest_browsereval.features.shared import processes

class Asked(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

processes.subprocess.Popen = Asked
sys.exit(processes.main([sys.executable, "-c", "import time; time.sleep(3600)"], 0.2))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_a_command_that_was_just_started_is_ended_as_well() -> None:
    """Whoever is asked to end at that moment leaves nothing behind."""
    leash = subprocess.Popen(
        [sys.executable, "-c", ASKED_AT_ONCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert leash.stdout is not None
    pid = int(leash.stdout.readline())
    assert leash.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert has_ended(pid)
    leash.communicate()
