"""A process that is forked from the template is what a new interpreter is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forks

pytestmark = pytest.mark.slow

TELLS = """
import atexit, json, os, signal, sys, tempfile, threading
atexit.register(print, "left", flush=True)
print(json.dumps({
    "argv": sys.argv, "path": sys.path, "name": __name__, "cwd": os.getcwd(), "env": dict(os.environ),
    "parent": os.getppid(), "is_leader": os.getpid() == os.getsid(0), "group": os.getpgrp() == os.getpid(),
    "temp": tempfile.gettempdir(), "fds": len(os.listdir("/proc/self/fd")), "read": sys.stdin.read(),
    "threads": threading.active_count(), "utf8": sys.stdout.encoding, "errors": sys.stdout.errors,
    "signals": [str(signal.getsignal(one)) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
    "tests": [name for name in sys.modules if name.startswith("tests")],
}), flush=True)
print("and an error", file=sys.stderr)
if "signal" in sys.argv:
    os.kill(os.getpid(), signal.SIGTERM)
sys.exit(7)
"""


@pytest.fixture
def template(template: None) -> Iterator[None]:
    """Have a template whichever tests run."""
    del template
    before = forks.TEMPLATE.is_used
    if not before:
        forks.TEMPLATE.allow()
    yield
    forks.TEMPLATE.is_used = before


def start(kind: type[subprocess.Popen[Any]], command: list[str], **options: Any) -> dict[str, Any]:
    """Return what a process tells of itself, with what it ends with."""
    pipe = subprocess.PIPE
    with kind([sys.executable, *command], stdin=pipe, stdout=pipe, stderr=pipe, **options) as process:
        out, err = process.communicate(b"told")
    lines = out.decode().splitlines()
    return {**json.loads(lines[0]), "left": lines[1:], "err": err.decode(), "code": process.returncode}


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["-c", TELLS, "one"], {"start_new_session": True}),
        (["-u", "-c", TELLS], {"env": {"PYTHONSAFEPATH": "1"}}),
        (["-c", TELLS, "signal"], {"env": {"PYTHONSAFEPATH": "1", "ONLY_HERE": "1"}}),
    ],
)
def test_it_is_what_a_new_interpreter_is(
    template: None, tmp_path: Path, command: list[str], options: dict[str, Any]
) -> None:
    """Its parent, arguments, paths, environment, folder, pipes, signals, last words and exit code."""
    del template
    env = {**os.environ, "TMPDIR": str(tmp_path), **options.get("env", {})}
    options = {**options, "cwd": tmp_path, "env": env}
    forked, new = start(forks.Forked, command, **options), start(subprocess.Popen, command, **options)
    assert forked == new
    assert forked["parent"] == os.getpid()
    assert forked["code"] == (-signal.SIGTERM if "signal" in command else 7)


def test_pytest_and_its_workers_are_forked(template: None, tmp_path: Path) -> None:
    """What a run consists of has this environment's modules from the start; its workers are its children."""
    del template
    (tmp_path / "test_it.py").write_text(
        "import os, sys\ndef test_it():\n"
        "    assert os.environ['PYTEST_XDIST_WORKER']\n"
        f"    assert os.getppid() != {os.getpid()}\n"
        "    assert 'pytest_browsereval.hooks.controller' in sys.modules\n"
    )
    command = [sys.executable, "-m", "pytest", *forks.LEFT_OUT, "-n1", "-p", "no:cacheprovider"]
    with forks.Forked(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        out, _ = process.communicate()
    assert process.returncode == 0, out.decode()


def test_another_setting_of_python_starts_an_interpreter(template: None, tmp_path: Path) -> None:
    """A variable that is read when it starts cannot be heeded later."""
    del template
    told = "import json, sys; print(json.dumps('pytest_browsereval' in sys.modules))"
    for value, has_modules in (({}, b"true"), ({"PYTHONPATH": str(tmp_path)}, b"false")):
        env = {**os.environ, **value}
        command = [sys.executable, "-c", told]
        with forks.Forked(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE) as process:
            assert process.communicate()[0].strip() == has_modules
