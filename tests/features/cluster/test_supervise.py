"""``browsereval supervise``: whoever is killed, nothing is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pytest_browsereval.features.shared.processes import attach_command
from tests.hooks.small_evals import Evals, row
from tests.support import LEFT_OUT, PATIENCE_S, has_ended, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")

COMMAND = """
import os, signal, sys, time
from pathlib import Path

folder = Path(sys.argv[1])
def note(name):
    (folder / "new").write_text(str(os.getpid()))
    (folder / "new").rename(folder / name)
if not os.fork():
    os.setsid()
    signal.signal(signal.SIGTERM, lambda *_: note("asked"))
    note("daemon")
    while True:
        time.sleep(3600)
while not (folder / "daemon").exists():
    time.sleep(0.01)
def tidy_up(*_):
    for _ in range(20):  # what the command has started is not asked meanwhile
        if (folder / "asked").exists():
            os._exit(9)
        time.sleep(0.01)
    note("tidied")
    os._exit(7)
signal.signal(signal.SIGTERM, signal.SIG_IGN if "stubborn" in sys.argv else tidy_up)
note("command")
if "ends" in sys.argv:
    os._exit(5)
time.sleep(3600)
"""
"""Has a daemon in a session of its own that only notes SIGTERM; tidies up when it is asked to end."""

LAUNCHER = "import subprocess, sys; subprocess.run(sys.argv[1:])"


class Started:
    """A supervised command and those above and below it."""

    def __init__(self, folder: Path, *words: str, accepted: tuple[int, ...] = ()) -> None:
        self.folder = folder
        command = [sys.executable, "-c", COMMAND, str(folder), *words]
        attached = attach_command(command, 0.5 if "stubborn" in words else PATIENCE_S, accepted)
        self.launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER, *attached], start_new_session=True)
        if "ends" not in words:
            asyncio.run(until((folder / "command").exists))
            self.front = psutil.Process(self.launcher.pid).children()[0]
            self.supervisor = self.front.children()[0]

    def pid(self, name: str) -> int:
        return int((self.folder / name).read_text())

    def check_ended(self) -> None:
        """Wait until nothing is left."""
        pids = [self.front.pid, self.supervisor.pid, self.pid("command"), self.pid("daemon")]
        asyncio.run(until(lambda: all(map(has_ended, pids))))

    def end(self) -> None:
        self.launcher.kill()
        self.launcher.wait(PATIENCE_S)


Start = Callable[..., Started]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    found: list[Started] = []

    def begin(*words: str, accepted: tuple[int, ...] = ()) -> Started:
        found.append(Started(tmp_path, *words, accepted=accepted))
        return found[-1]

    yield begin
    for one in found:
        one.end()


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["launcher", "front"])
@pytest.mark.parametrize("word", ["polite", "stubborn"])
def test_all_ends_when_those_above_are_killed(start: Start, whom: str, word: str) -> None:
    """The command is asked first, alone, and tidies up; what does not listen is killed."""
    started = start(word)
    (started.launcher if whom == "launcher" else started.front).kill()
    started.check_ended()
    assert (started.folder / "tidied").exists() == (word == "polite")


def test_all_ends_when_the_supervisor_is_killed(start: Start) -> None:
    """The command is killed with it, and its daemon by the process above."""
    started = start("stubborn")
    started.supervisor.kill()
    started.check_ended()


@pytest.mark.slow
def test_the_group_of_the_launcher_may_be_killed(start: Start) -> None:
    """An engine that kills a process group leaves nothing behind."""
    started = start()
    os.killpg(started.launcher.pid, signal.SIGKILL)
    started.check_ended()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_is_asked_to_end_asks_the_command(start: Start, number: signal.Signals) -> None:
    """Its exit code is that of the command."""
    started = start()
    started.front.send_signal(number)
    started.check_ended()
    assert (started.folder / "tidied").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("accept", "code"), [([], 5), (["--accept", "1,5"], 0), (["--accept=1"], 5)])
def test_the_exit_code_is_that_of_the_command(tmp_path: Path, accept: list[str], code: int) -> None:
    """Codes that are accepted become 0; a daemon that the command leaves is ended too."""
    command = [sys.executable, "-c", COMMAND, str(tmp_path), "ends"]
    words = [sys.executable, "-m", "pytest_browsereval", "supervise", *accept, "--grace=0.2", "--", *command]
    assert subprocess.run(words, timeout=60, check=False).returncode == code
    asyncio.run(until(lambda: has_ended(int((tmp_path / "daemon").read_text()))))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "*there is no command*"),
        (["--grace=soon", "true"], "*invalid number of seconds value: 'soon'*"),
        (["--accept=1,256", "true"], "*invalid list of exit codes value: '1,256'*"),
        (["--graze=1", "true"], "*unrecognized arguments: --graze=1*"),
    ],
)
def test_bad_input_starts_nothing(evals: Evals, words: list[str], message: str) -> None:
    """Each is refused in one sentence."""
    refused = evals.run_command("supervise", *words)
    assert refused.ret in (2, 4)
    refused.stderr.fnmatch_lines([message])


AGENT = """
import asyncio
from pathlib import Path

async def wait(context):
    Path(__file__).with_name("at-work").touch()
    await asyncio.sleep(3600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_pytest_driver_and_browser_end(evals: Evals, number: signal.Signals) -> None:
    """Killed in the middle of an attempt nothing is left; asked to end, pytest says how to resume the run."""
    evals.write_rows(row("a", start_url="about:blank"))
    evals.write_config(browser="playwright", agent={"type": "function", "function": "agent:wait"})
    (evals.path / "agent.py").write_text(AGENT)
    pytest_command = [sys.executable, "-m", "pytest", "--eval-config=shop.eval.yaml", *LEFT_OUT]
    with (evals.path / "output").open("w+") as output:
        front = subprocess.Popen(attach_command(pytest_command, PATIENCE_S), cwd=evals.path, stdout=output)
        asyncio.run(until((evals.path / "at-work").exists))
        below = psutil.Process(front.pid).children(recursive=True)
        names = " ".join(process.name() for process in below)
        assert "node" in names
        assert "headless" in names or "chrom" in names
        front.send_signal(number)
        assert front.wait(60) == (2 if number == signal.SIGTERM else -number)
        asyncio.run(until(lambda: all(has_ended(process.pid) for process in below)))
        output.seek(0)
        assert "--eval-resume" in output.read()
