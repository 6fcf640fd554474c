"""Runs evals inside tests: writes their files, runs pytest on them, reads what they left behind.

A conftest makes the fixture ``evals`` available::

    pytest_plugins = ["pytest_browsereval.testing.evals"]

A test then describes an eval and runs it, in its own process::

    def test_a_wrong_colour_fails(evals):
        evals.write_rows({
            "query_id": "sky", "query": "What colour is the sky?", "dataset": "colours",
            "graders": ["acme/colour"], "answer": "blue",
            "solution": [{"tool": "done", "answer": "green"}],
        })
        evals.write_config(agent="scripted", browser="blank")
        run = evals.run()
        run.assert_outcomes(failed=1)
        assert run.attempt("sky").final_answer == "green"
"""

from __future__ import annotations

import importlib
import io
import json
import os
import pkgutil
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any, BinaryIO

import pytest
import yaml

import pytest_browsereval
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.testing import run_folders

# For an eval in a process of its own.
LIMIT_S = 600.0
# Registers `browser: blank` in this process and in every process that it starts.
BLANK = ("-p", "pytest_browsereval.testing.blank")
# Records run folders, also those that a test puts elsewhere.
FOLDERS = ("-p", "pytest_browsereval.testing.run_folders")
# One process cannot have these twice: the outer pytest uses them already.
NOT_NESTED = ("-p", "no:playwright")
# Warnings that Python ignores by default; the inner pytest is not to show the outer one's filters.
_QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
_OUTCOMES = ("passed", "failed", "errors", "skipped", "xfailed", "xpassed")
_UNCOUNTED = ("deselected", "warnings", "rerun")
_OF_THE_TEST = ("PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS")

# Our modules import these when they first need them.
_LATE = (
    "httpcore",
    "httpx",
    "httpcore2",
    "httpx2",
    "openai",
    "playwright.async_api",
    "PIL.Image",
    "dateutil.parser",
    "jmespath",
    "mcp",
)


def _import_everything() -> None:
    """Import now, once, what evals import when they need it.

    pytest's ``pytester`` forgets every module that was imported during a test. Libraries whose halves were
    imported at different times then no longer know each other's classes.
    """
    own = pkgutil.walk_packages(pytest_browsereval.__path__, f"{pytest_browsereval.__name__}.")
    for name in (*_LATE, *(module.name for module in own if not module.name.endswith("__main__"))):
        with suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(name)


_import_everything()


@dataclass(frozen=True)
class EvalRun:
    """What a run of pytest left behind."""

    result: pytest.RunResult
    """Exit code and printed lines, with pytest's own matchers."""
    folders: tuple[Path, ...]
    """The run folders that it wrote, the newest one last."""

    @property
    def ret(self) -> pytest.ExitCode | int:
        """The exit code."""
        return self.result.ret

    @property
    def outlines(self) -> list[str]:
        """The lines of standard output."""
        return self.result.outlines

    @property
    def errlines(self) -> list[str]:
        """The lines of standard error."""
        return self.result.errlines

    @property
    def stdout(self) -> pytest.LineMatcher:
        """Standard output: ``run.stdout.fnmatch_lines([...])``, ``run.stdout.str()``."""
        return self.result.stdout

    @property
    def stderr(self) -> pytest.LineMatcher:
        """Standard error."""
        return self.result.stderr

    def parseoutcomes(self) -> dict[str, int]:
        """Return the numbers of pytest's last line: ``{"passed": 2, "failed": 1}``; empty without one."""
        return self._read_last_line() or {}

    def _read_last_line(self) -> dict[str, int] | None:
        try:
            return self.result.parseoutcomes()
        except ValueError:
            return None

    def assert_outcomes(self, **outcomes: int) -> None:
        """Assert how many items passed, failed, were errors and so on.

        Args:
            outcomes: ``passed``, ``failed``, ``errors``, ``skipped``, ``xfailed``, ``xpassed``: 0 where not
                named; others of pytest's last line, such as ``deselected``, only where named.

        Raises:
            AssertionError: it was otherwise, pytest itself broke, or its last line is missing (``-qq``); the
                message has what pytest printed.
            TypeError: there is no such outcome.
        """
        read = self._read_last_line()
        found = read or {}
        for name in {*outcomes} - {*_OUTCOMES, *_UNCOUNTED, *found}:
            allowed = ", ".join((*_OUTCOMES, *_UNCOUNTED))
            raise TypeError(f"no outcome is named {name!r}. Allowed: {allowed}")
        if read is None or any(
            line.startswith("INTERNALERROR>") for line in (*self.outlines, *self.errlines)
        ):
            what = f"pytest's exit code is {int(self.ret)}, and nothing says how many items passed or failed"
            raise AssertionError(f"{what}\n{self.stdout}\n{self.stderr}")
        counted = {name: found.get(name, 0) for name in {*_OUTCOMES, *outcomes}}
        # An outcome that is not named has to be 0: a test that forgets the errored rows fails.
        expected = {**dict.fromkeys(_OUTCOMES, 0), **outcomes}
        if counted != expected:
            raise AssertionError(f"expected {outcomes}, and there were {found}\n{self.stdout}\n{self.stderr}")

    @property
    def folder(self) -> Path:
        """The run folder.

        Raises:
            AssertionError: there is none, or more than one.
        """
        if len(self.folders) != 1:
            raise AssertionError(
                f"pytest wrote {len(self.folders)} run folders, not one: {list(map(str, self.folders))}\n"
                f"{self.stdout}\n{self.stderr}"
            )
        return self.folders[0]

    @property
    def summary(self) -> dict[str, Any]:
        """``summary.json`` of the run folder."""
        loaded: dict[str, Any] = json.loads((self.folder / "summary.json").read_text(encoding="utf-8"))
        return loaded

    @property
    def attempts(self) -> list[TaskMetadata]:
        """What is on record of each attempt of the run, in the order of their folders."""
        return [one.metadata for one in StoredRun(self.folder).attempts]

    def attempt(self, query_id: str) -> TaskMetadata:
        """Return the record of a row's only attempt.

        Raises:
            AssertionError: it has none, or several.
        """
        found = [attempt for attempt in self.attempts if attempt.query_id == query_id]
        if len(found) != 1:
            ids = [attempt.query_id for attempt in self.attempts]
            raise AssertionError(f"{query_id!r} has {len(found)} attempts, not one; attempts: {ids}")
        return found[0]


class EvalDriver:
    """Writes evals into a folder and runs pytest there.

    Args:
        path: the folder; pytest's working directory while it runs.
        options: what every run is given before its own arguments.
    """

    def __init__(self, path: Path, *, options: Sequence[str] = ()) -> None:
        self.path = path
        self.options: tuple[str, ...] = (*BLANK, *options)

    def write_rows(self, *rows: Mapping[str, Any], name: str = "rows.jsonl") -> Path:
        """Write rows as JSON Lines and return the file."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def write_config(self, name: str = "shop.eval.yaml", **keys: Any) -> Path:
        """Write a config and return the file; the rows are those of ``rows.jsonl`` if no dataset is named."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        keys.setdefault("dataset", "rows.jsonl")
        path.write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")
        return path

    def run(self, *args: str, plugins: Sequence[object] = ()) -> EvalRun:
        """Run pytest in this process, which takes about a tenth of the time that a new process takes.

        Working directory, paths and modules of the folder are put back after the run. Environment variables
        that its code sets stay set: use ``monkeypatch``.
        pytest-playwright is left out: the soft assertions of two runs cannot be nested in one process.

        Args:
            args: pytest's command line.
            plugins: objects with hooks, as ``pytest.main`` takes them.
        """
        command = [*NOT_NESTED, *self.options, *self._basetemp(args), *args]
        before, began = self._states(), time.perf_counter()
        with pytest.MonkeyPatch.context() as patch, _apart(self.path), _capture() as read:
            patch.setenv(run_folders.FILE, str(self._folders_file))
            ret = _run_pytest([*FOLDERS, *command], plugins)
            return self._run(ret, *read(), began, before)

    def run_process(self, *args: str, limit_s: float = LIMIT_S) -> EvalRun:
        """Run pytest in a process of its own: for tests of starts, interrupts and deaths.

        Args:
            args: pytest's command line.
            limit_s: how many seconds it may take.

        Raises:
            subprocess.TimeoutExpired: it took longer.
        """
        command = [sys.executable, "-m", "pytest", *FOLDERS, *self.options, *self._basetemp(args), *args]
        before, began = self._states(), time.perf_counter()
        env = {name: value for name, value in os.environ.items() if name not in _OF_THE_TEST}
        # `python -m` would put the working directory before everything that is installed.
        env |= {"PYTHONSAFEPATH": "1", run_folders.FILE: str(self._folders_file)}
        done = self._run_program(command, env, limit_s)
        out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        return self._run(done.returncode, out, err, began, before)

    def _run_program(
        self, command: Sequence[str], env: Mapping[str, str], limit_s: float
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # noqa: S603 the caller's own tests
            command, cwd=self.path, env=env, capture_output=True, timeout=limit_s, check=False
        )

    def run_command(self, *args: str) -> EvalRun:
        """Run the command ``browsereval`` in this process.

        Args:
            args: its command line: ``"gate", str(run.folder)``.
        """
        from pytest_browsereval.__main__ import main

        before, began = self._states(), time.perf_counter()
        with _apart(self.path), _capture() as read:
            try:
                ret = main(list(args))
            except SystemExit as leaving:  # of argparse
                ret = leaving.code if isinstance(leaving.code, int) else 1
            return self._run(ret, *read(), began, before)

    def _run(
        self, ret: int, out: str, err: str, began: float, before: Mapping[Path, tuple[int, ...]]
    ) -> EvalRun:
        with suppress(ValueError):  # a plug-in's own, or a signal
            ret = pytest.ExitCode(ret)
        result = pytest.RunResult(ret, out.splitlines(), err.splitlines(), time.perf_counter() - began)
        file = self._folders_file
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        states = {**self._states(), **_states(Path(line) for line in lines)}
        changed = {folder: state for folder, state in states.items() if before.get(folder) != state}
        return EvalRun(result, tuple(sorted(changed, key=lambda folder: changed[folder])))

    def _states(self) -> dict[Path, tuple[int, ...]]:
        """Return when the files that every session of a run writes were written, by run folder."""
        found = []
        for folder, folders, files in os.walk(self.path):  # `rglob` takes several times as long
            if "manifest.json" in files:
                found.append(Path(folder))
                folders[:] = [name for name in folders if name != "tasks"]  # the run's own attempts
        return _states(found)

    @property
    def _folders_file(self) -> Path:
        return self.path.parent / f"{self.path.name}-run-folders.txt"

    def _basetemp(self, args: Sequence[str]) -> list[str]:
        """Return where the run's ``tmp_path`` lies: next to the folder, since others of it are tidied up."""
        if any(arg.startswith("--basetemp") for arg in args):
            return []
        return [f"--basetemp={self.path.parent / f'{self.path.name}-basetemp'}"]


def _run_pytest(args: list[str], plugins: Sequence[object]) -> int:
    """Run pytest. What a conftest raises out of it ends the run as it ends a process: by a code."""
    try:
        return pytest.main(args, plugins=list(plugins))
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        sys.stderr.write(f"{error.code}\n")
        return 1
    except Exception:  # noqa: BLE001 all that a hook raises
        traceback.print_exc()
        return pytest.ExitCode.INTERNAL_ERROR


def _states(folders: Iterable[Path]) -> dict[Path, tuple[int, ...]]:
    files = {folder: (folder / "manifest.json", folder / "summary.json") for folder in folders}
    return {
        folder: tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in pair)
        for folder, pair in files.items()
    }


@contextmanager
def _apart(folder: Path) -> Iterator[None]:
    """Give a run the state of a new process, and restore what it changes."""
    importlib.invalidate_caches()  # files of the folder may be a moment old
    cwd, path, meta_path, modules = Path.cwd(), sys.path[:], sys.meta_path[:], sys.modules.copy()
    env = {name: os.environ.pop(name) for name in _OF_THE_TEST if name in os.environ}
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.resetwarnings()
            for category in _QUIET:
                warnings.simplefilter("ignore", category)
            yield
    finally:
        os.chdir(cwd)
        sys.path[:], sys.meta_path[:] = path, meta_path
        os.environ.update(env)
        _forget_modules(folder, modules)


def _forget_modules(folder: Path, before: Mapping[str, ModuleType]) -> None:
    """Forget the new modules that lie in a folder: the next test's may have the same names."""
    inside = f"{folder.resolve()}{os.sep}"
    new = {name: module for name, module in sys.modules.items() if before.get(name) is not module}
    for name, module in new.items():
        # A folder without __init__ is a module that has no file.
        places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
        if any(os.path.realpath(place).startswith(inside) for place in places):
            del sys.modules[name]
            if name in before:  # a module of the outer tests, `conftest` for one
                sys.modules[name] = before[name]


@contextmanager
def _capture() -> Iterator[Callable[[], tuple[str, str]]]:
    """Capture what this process and those that it starts print; yield what reads it."""

    def read(file: BinaryIO) -> str:
        file.seek(0)
        return file.read().decode("utf-8", "replace")

    with TemporaryFile() as out, TemporaryFile() as err, _into(1, out), _into(2, err):
        yield lambda: (read(out), read(err))


@contextmanager
def _into(descriptor: int, file: BinaryIO) -> Iterator[None]:
    """Have this process and those that it starts print into a file, for standard output (1) or error (2)."""
    before = os.dup(descriptor)
    os.dup2(file.fileno(), descriptor)
    raw = io.FileIO(file.fileno(), "w", closefd=False)  # without a buffer: all lines keep their order
    stream = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
    try:
        with (redirect_stdout if descriptor == 1 else redirect_stderr)(stream):
            yield
    finally:
        os.dup2(before, descriptor)
        os.close(before)


@pytest.fixture
def evals(tmp_path: Path) -> EvalDriver:
    """A folder to write evals into and to run them in."""
    folder = tmp_path / "evals"
    folder.mkdir()
    return EvalDriver(folder)
