"""Processes of pytest that cost a fork: a template has imported pytest and the package, and forks itself.

A new interpreter takes half a second to import what a run needs, in each of a thousand processes. What tests
get is a process of its own all the same: a child of the one that starts it, with the arguments, environment,
folder and pipes that it is given. A test of what is imported takes the fixture ``unforked``.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import inspect
import io
import json
import os
import platform
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = str(Path(__file__).parent.parent)
CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None
CLONE_PARENT = 0x8000
DEADLY = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]
IMPORTED: dict[str, ModuleType] = {}
LEFT_OUT = tuple(
    word
    for name in ("playwright", "asyncio", "anyio", "pytest-split", "timeout", "rerunfailures")
    for word in ("-p", f"no:{name}")
)
"""Plug-ins of this environment that a pytest of a test's own does without: to import them (anyio's imports
trio where it finds it) takes longer than a small eval does, and pytest-rerunfailures leaves a thread and a
socket of every session behind."""
_START = "import sys; sys.path.insert(0, {root!r}); from tests import forks; forks.be_template({number})"


class Template:
    """The process that forks, as those know it that ask for a process."""

    def __init__(self) -> None:
        self.is_used = False
        """Where it is not, each process is a new interpreter."""
        self.channel: socket.socket | None = None
        self._env: Mapping[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def allow(self) -> None:
        """Let it be started when it is first needed, and have workers of pytest-xdist come from it."""
        self.is_used, self._env = CLONE is not None, dict(os.environ)  # as it is before a test changes it
        _have_workers_forked()

    def fork(self, args: Sequence[str], job: Mapping[str, Any], fds: Sequence[int]) -> int | None:
        """Have a process forked and return its id; None where it would not be what these arguments start."""
        if not self.is_used or not self._fits(args, job["env"]):
            return None
        if self.channel is None:
            self._start()
        assert self.channel is not None
        socket.send_fds(self.channel, [json.dumps({**job, "args": args[1:]}).encode()], list(fds))
        return int(self.channel.recv(100))

    def _fits(self, args: Sequence[str], env: Mapping[str, str]) -> bool:
        rest = args[2:] if args[1] == "-u" else args[1:]
        is_ours = args[0] == sys.executable and (rest[0] == "-c" or list(rest[:2]) == ["-m", "pytest"])
        return is_ours and _read_by_interpreters(env) == _read_by_interpreters(self._env)

    def _start(self) -> None:
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START.format(root=ROOT, number=theirs.fileno())],
                env=self._env,
                cwd="/",  # not that of the test that asks first: its conftest would put it onto the path
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        if self.channel.recv(100) != b"ready":
            raise RuntimeError("the template of processes did not start: see its traceback")

    def leave(self) -> None:
        """End it."""
        self.is_used = False
        if self.channel:
            self.channel.close()
            self.channel = None
        if self._process:
            self._process.wait()


def _read_by_interpreters(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an interpreter reads when it starts; one of them we can heed later."""
    names = (name for name in env if name.startswith(("PYTHON", "LC_", "LANG")))
    return {name: env[name] for name in names if name != "PYTHONSAFEPATH"}


TEMPLATE = Template()


class Forked(subprocess.Popen[Any]):
    """A process of Python that is forked from the template where that makes no difference."""

    def _execute_child(self, *given: Any) -> None:
        start = super()._execute_child  # type: ignore[misc]
        options = inspect.signature(start).bind(*given).arguments
        job = {
            "env": dict(os.environ if options["env"] is None else options["env"]),
            "cwd": str(options["cwd"] or Path.cwd()),
            "is_leader": options["start_new_session"],
        }
        ends = [options[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        fds = [own if end == -1 else end for own, end in enumerate(ends)]
        pid = TEMPLATE.fork(options["args"], job, fds)
        if pid is None:
            start(*given)
            return
        self.pid, self._child_created = pid, True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(options[name] for name in pipes))  # type: ignore[attr-defined]


def run_forked(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, limit_s: float = 600
) -> subprocess.CompletedProcess[bytes]:
    """Run a process to its end as ``subprocess.run`` does, and capture what it prints."""
    pipe = subprocess.PIPE
    with Forked(command, cwd=cwd, env=env, stdout=pipe, stderr=pipe) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _have_workers_forked() -> None:
    from execnet import gateway_io
    from execnet.gateway_base import Popen2IO

    def start(self: Any, args: list[str], execmodel: Any) -> None:
        self.popen = started = Forked(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        Popen2IO.__init__(self, started.stdin, started.stdout, execmodel=execmodel)

    gateway_io.Popen2IOMaster.__init__ = start  # type: ignore[method-assign]


# -- in the template and in what it forks


def be_template(number: int) -> None:
    """Run an eval, so that all is imported and made that one needs, and fork a process for each that asks."""
    channel = socket.socket(fileno=number)
    channel.set_inheritable(False)
    atexit.register(_leave_modules_alone)
    assert pytest.main([*LEFT_OUT, "-p", "no:cacheprovider"], [WarmUp()]) == 0
    sys.path.remove(ROOT)  # which may be in it a second time, and then is meant
    sys.path.remove("")
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]  # a folder of a test may have the name
    os.chdir("/")
    assert len(os.listdir("/proc/self/task")) == 1, threading.enumerate()  # noqa: PTH208
    _have_workers_forked()
    IMPORTED.update(sys.modules)
    gc.collect()
    gc.freeze()
    channel.send(b"ready")
    _be(_serve(channel))


class WarmUp:
    """Runs an eval inside a pytest, which sees to it that plug-ins are imported as pytest imports them."""

    def pytest_cmdline_main(self) -> int:
        from tests.hooks.small_evals import Evals, row

        with tempfile.TemporaryDirectory() as folder:
            evals = Evals(Path(folder) / "evals")
            evals.path.mkdir()
            evals.write_rows(row("a"))
            evals.write_config()
            done = evals.run("shop.eval.yaml")
            assert done.ret == 0, done.stdout.str() + done.stderr.str()
        return 0


def _serve(channel: socket.socket) -> dict[str, Any]:
    """Fork until nobody is left to ask; what a process is to be is returned in it."""
    while True:
        message, fds, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not message:
            os._exit(0)
        pid = _clone()
        if pid:
            channel.send(str(pid).encode())
        else:
            channel.close()
            for place, fd in enumerate(fds):
                os.dup2(fd, place)
        for fd in fds:
            os.close(fd)
        if not pid:
            job: dict[str, Any] = json.loads(message)
            return job


def _leave_modules_alone() -> None:
    """Keep what was imported here from being taken apart, which takes as long as a small eval does."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(IMPORTED))
    for name in IMPORTED:
        if name not in ("sys", "builtins"):
            sys.modules.pop(name, None)


def _clone() -> int:
    """Fork, with the parent of this process as the parent: the one that has asked waits for the child."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    numbers = (CLONE or 0, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    pid = ctypes.PyDLL(None).syscall(*map(ctypes.c_long, numbers))
    python.PyOS_AfterFork_Parent() if pid else python.PyOS_AfterFork_Child()
    return int(pid)


def _be(job: dict[str, Any]) -> None:
    """Be what an interpreter would be that was started with these arguments."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for deadly in DEADLY:
        signal.signal(deadly, signal.SIG_DFL)
    if job["is_leader"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["cwd"])
    tempfile.tempdir = None
    args = job["args"]
    is_unbuffered = args[0] == "-u"
    kind, what, *rest = args[is_unbuffered:]
    if is_unbuffered:
        sys.stdout = io.TextIOWrapper(
            io.FileIO(1, "w", closefd=False), sys.stdout.encoding, sys.stdout.errors, write_through=True
        )
    else:
        sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())  # type: ignore[union-attr]
    if any(arg.startswith("-n") for arg in rest):
        _have_a_template()
    if "PYTHONSAFEPATH" not in os.environ:
        sys.path.insert(0, "" if kind == "-c" else job["cwd"])
    sys.argv[:] = ["-c", *rest]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(what, vars(main))  # noqa: S102 as `python -c` does


def _have_a_template() -> None:
    """Leave a copy of this process as it is now: workers are forked from it, as children of this process."""
    TEMPLATE.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    TEMPLATE.is_used, TEMPLATE._env = True, dict(os.environ)
    if os.fork():
        theirs.close()
        return
    TEMPLATE.channel.close()
    TEMPLATE.is_used, TEMPLATE.channel = False, None
    for number in (signal.SIGINT, *DEADLY):  # a terminal sends them to all; this one ends with its parent
        signal.signal(number, signal.SIG_IGN)
    with Path(os.devnull).open("r+b") as nothing:
        for place in range(3):
            os.dup2(nothing.fileno(), place)
    _be(_serve(theirs))
    sys.exit()
