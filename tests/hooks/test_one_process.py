"""Many evals in one process, as tests of plug-ins run them: each begins as the first one did."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import io
import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.hooks.small_evals import Evals, errored_row, row

AGENT = "def solve(context):\n    return 'right'\n"
PAGE: dict[str, Any] = {
    "start_url": "{shop}/",
    "solution": [{"tool": "snapshot"}, {"tool": "done", "answer": "right"}],
}
GATED = {"gate": {"min_pass_rate": 0.5}}
FUNCTION = {"type": "function", "function": "my_agent:solve"}


class Leaves:
    """Ends the session from a hook."""

    def pytest_runtest_logfinish(self) -> None:
        pytest.exit("enough", 7)


class Breaks:
    """Breaks pytest from a hook."""

    def pytest_runtest_logfinish(self) -> None:
        raise RuntimeError("broken")


Kind = tuple[list[dict[str, Any]], dict[str, Any], list[str], int]

KINDS: dict[str, Kind] = {
    "passed": ([row("a"), row("b")], {"lanes": 2}, [], 0),
    "failed": ([row("a", says="wrong")], {}, [], 1),
    "errored": ([errored_row("a")], {}, [], 1),
    "function": ([row("a", says=None)], {"agent": FUNCTION}, [], 0),
    "page": ([row("a", **PAGE)], {"browser": "playwright", "sites": {"shop": {"static": "site"}}}, [], 0),
    "gate met": ([row("a"), row("b", says="wrong")], GATED, [], 0),
    "gate missed": ([row("a", says="wrong")], GATED, [], 1),
    "stopped": ([row("a"), row("b")], {}, ["leaves"], 7),
    "broken": ([row("a"), row("b")], {}, ["breaks"], 3),
    "wrong key": ([row("a")], {"lnaes": 2}, [], 4),
    "wrong row": ([row("a", querry="x")], {}, [], 4),
    "dashboard": ([row("a")], {}, ["--eval-dashboard=0"], 0),
    "only collected": ([row("a")], {}, ["--co"], 0),
}
PLUGINS = {"leaves": Leaves, "breaks": Breaks}


def state() -> dict[str, Any]:
    """Return what a session might change in its process and leave behind."""
    process = psutil.Process()
    loggers = [logging.getLogger(), *map(logging.getLogger, list(logging.root.manager.loggerDict))]
    return {
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "processes": [child.name() for child in process.children(recursive=True)],
        "files": process.num_fds(),
        # By their type: `isinstance` has proxies of other libraries import what they stand for.
        "tasks": [one for one in gc.get_objects() if issubclass(type(one), asyncio.Task) and not one.done()],
        "collector": (gc.isenabled(), gc.get_threshold()),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "environment": dict(os.environ),
        "folder": Path.cwd(),
        "path": list(sys.path),
        "finders": list(sys.meta_path),
        "modules": [name for name in sys.modules if name in ("my_agent", "conftest")],
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.stdout, sys.stderr),
        "at exit": atexit._ncallbacks(),
        "log": [(one.name, one.level, list(one.handlers), list(one.filters)) for one in loggers],
        "warnings": list(warnings.filters),
    }


def settled(before: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the state once what is on its way out has gone: a killed child, a thread of asyncio's."""
    deadline = time.monotonic() + 30
    wanted, seen = before(), state()
    while seen != wanted and time.monotonic() < deadline:
        time.sleep(0.05)
        gc.collect()
        seen = state()
    return seen


def run(evals: Evals, kind: str) -> None:
    """Run an eval of a kind by pytest itself: our driver would put right what a session leaves behind."""
    rows, keys, args, code = KINDS[kind]
    folder = evals.path / kind.replace(" ", "-")
    name = folder.name
    evals.write_rows(*rows, name=f"{name}/rows.jsonl")
    evals.write_config(f"{name}/shop.eval.yaml", **keys)
    (folder / "my_agent.py").write_text(AGENT)
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site/index.html").write_text("<title>Shop</title><h1>Mugs</h1>")
    options = [*evals.options, f"--basetemp={folder}-temp"]
    options += [arg for arg in args if arg not in PLUGINS]
    plugins = [PLUGINS[arg]() for arg in args if arg in PLUGINS]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        ret = pytest.main([*options, str(folder / "shop.eval.yaml")], plugins=plugins)
    assert ret == code, (kind, out.getvalue())


@pytest.mark.slow
def test_nothing_survives_its_session(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """After 26 evals of all kinds no thread, task, process or file is left, and no global is changed."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # of this test; each session takes its own away
    for kind in KINDS:  # what is loaded once stays loaded
        run(evals, kind)
    gc.collect()
    before, frozen = state(), gc.get_freeze_count()
    for kind in KINDS:
        run(evals, kind)
        after = settled(lambda: before)
        assert {key: after[key] for key in after if after[key] != before[key]} == {}, kind
        assert gc.get_freeze_count() <= frozen, kind  # what was frozen before may be freed meanwhile
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "")
