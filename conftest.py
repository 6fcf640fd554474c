"""Settings that depend on what is installed, so that the quickstart runs without the test extras."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

TEST_TIMEOUT_S = 900
"""For what hangs: a machine that is busy with something else takes a multiple of the usual time."""
PROCESSES = 4
"""Twice the cores of CI: tests wait for pages and programs as well."""
TIERS = (
    "real_model",
    "peers",
    "browser_use",
    "machines",
    "cluster",
    "soak",
    "adversary",
    "slow",
    "published",
    "interop",
    "benchmarks",
    "apps",
    "programs",
)
"""Marks of tests that need more than the test extras, or more time; ``pyproject.toml`` says what."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite in several processes; a tier of the others has the machine to itself."""
    is_whole = _is_whole(config) or config.option.markexpr in ("quick", "slow")
    if is_whole and not hasattr(config, "workerinput") and config.option.numprocesses is None:
        config.option.numprocesses = PROCESSES
        config.option.dist = "worksteal"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give every test a time limit where pytest-timeout is there, and its children bytecode."""
    # Tests start hundreds of Python processes; without bytecode each compiles all it imports (0.6 s).
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if config.pluginmanager.has_plugin("timeout") and config.getoption("timeout") is None:
        config.option.timeout = TEST_TIMEOUT_S
    if not config.option.eval_config and not hasattr(config, "workerinput"):
        _use_temporary_folder(config)


def _use_temporary_folder(config: pytest.Config) -> None:
    """Give the tests and all that they start a temporary folder that goes when they end.

    Browsers, drivers and workers that a test kills leave theirs behind, and nobody else would remove them.
    """
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # `tmp_path` stays where it was
    # Names of sockets in there must be short, and the folder of macOS has a long one.
    folder = tempfile.mkdtemp(prefix="be-", dir="/tmp" if sys.platform == "darwin" else None)  # noqa: S108
    os.environ["TMPDIR"], tempfile.tempdir = folder, None
    # Tests start Playwright's driver a hundred times, with its code compiled in four fifths of the time.
    os.environ["NODE_COMPILE_CACHE"] = f"{folder}/node"
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Keep every pytest that a test starts away from the folders of these tests.

    At its end pytest removes what older runs have left beside its own folder, which can take minutes.
    """
    if "PYTEST_DEBUG_TEMPROOT" in os.environ and not hasattr(session.config, "workerinput"):
        session.config._tmp_path_factory.getbasetemp()  # noqa: SLF001 only the fixture has a public name
        os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.gettempdir()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which tiers are left out."""
    left_out = _left_out(config)
    if config.option.eval_config or not left_out:
        return []
    return [f"skipped by default: {', '.join(left_out)}; pytest -m NAME runs one, `.ci/run` runs everything"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of tests that has none for ``-m``, or only those of a tier that is left out."""
    if config.option.eval_config or collection_path.suffix != ".py" or "test_" not in collection_path.name:
        return None
    marks, of_all = _marks_of(collection_path)
    named = config.option.markexpr
    has_none = named in (*TIERS, "quick") and named not in marks
    return has_none or of_all in _left_out(config) or None


@cache
def _marks_of(file: Path) -> tuple[set[str], str]:
    """Return the marks that a file names, and the one that all its tests have."""
    text = file.read_text(encoding="utf-8")
    of_all = re.search(r"^pytestmark = \[?pytest\.mark\.(\w+)", text, re.MULTILINE)
    return set(re.findall(r"\bmark\.(\w+)", text)), of_all[1] if of_all else ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tiers that ``-m`` does not name."""
    left_out, kept, skipped = set(_left_out(config)), [], []
    for item in items:
        tiers = {mark.name for mark in item.iter_markers()}.intersection(TIERS)
        names = ", ".join(sorted(tiers))
        if tiers and not tiers <= _marks_of(item.path)[0]:
            raise pytest.UsageError(f"{item.path}: write {names} into the file itself: -m looks for it there")
        if len(tiers) > 1:
            raise pytest.UsageError(f"{item.nodeid} is of {names}: no -m NAME would run it. Give it one mark")
        (kept if tiers.isdisjoint(left_out) else skipped).append(item)
    if skipped:
        config.hook.pytest_deselected(items=skipped)
        items[:] = kept


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a tier whose tests were all skipped."""
    config = session.config
    tiers = [tier for tier in TIERS if tier not in _left_out(config)]
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if session.exitstatus != pytest.ExitCode.OK or reporter is None or config.option.collectonly:
        return
    if tiers and not reporter.stats.get("passed"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        why = f"nothing of {', '.join(tiers)} was run: every test was skipped"
        reporter.write_line(f"\n{why}", red=True)


def _is_whole(config: pytest.Config) -> bool:
    """Whether all tests are to run that need no more than the test extras."""
    folder = config.rootpath / "tests"  # workers are given it as an argument
    is_all = [config.rootpath / arg for arg in config.args] == [folder] and not config.option.eval_config
    return is_all and not config.option.markexpr


def _left_out(config: pytest.Config) -> tuple[str, ...]:
    return tuple(tier for tier in TIERS if tier not in config.option.markexpr)
