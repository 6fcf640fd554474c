"""Settings that depend on what is installed, so that the quickstart runs without the test extras."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile

import pytest

TEST_TIMEOUT_S = 900
"""For what hangs: a machine that is busy with something else takes a multiple of the usual time."""
PROCESSES = 3
TIERS = ("real_model", "peers", "browser_use", "machines", "soak", "published")
"""Marks of tests that need more than the test extras; ``pyproject.toml`` says what."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite, and nothing less, in three processes: most tests wait for programs they start."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.eval_config
    is_whole = is_whole and _left_out(config) == TIERS  # a tier has the machine to itself
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
    if not hasattr(config, "workerinput") and not config.option.eval_config:
        _use_temporary_folder(config)


def _use_temporary_folder(config: pytest.Config) -> None:
    """Give the tests and all that they start a temporary folder that goes when they end.

    Browsers, drivers and workers that a test kills leave theirs behind, and nobody else would remove them.
    """
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # `tmp_path` stays where it was
    # Names of sockets in there must be short, and the folder of macOS has a long one.
    folder = tempfile.mkdtemp(prefix="be-", dir="/tmp" if sys.platform == "darwin" else None)  # noqa: S108
    os.environ["TMPDIR"], tempfile.tempdir = folder, None
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_report_header(config: pytest.Config) -> str | None:
    """Tell which tests are left out."""
    left_out = _left_out(config)
    if config.option.eval_config or not left_out:
        return None
    return f"left out: {', '.join(left_out)}; pytest -m NAME runs one, .ci/run all"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tiers that ``-m`` does not name."""
    left_out = _left_out(config)
    skipped = [item for item in items if any(item.get_closest_marker(tier) for tier in left_out)]
    if skipped:
        config.hook.pytest_deselected(items=skipped)
        items[:] = [item for item in items if item not in skipped]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Hide what the tests consist of from the garbage collector.

    pytest collects garbage twice at its end, and tests run pytest in this process hundreds of times: with
    thousands of items and modules to look at each time, that would take longer than the evals themselves.
    """
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run of a tier that has skipped every test: who asks for a tier wants it to run."""
    tiers = [tier for tier in TIERS if tier not in _left_out(session.config)]
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not tiers or reporter is None or session.config.option.collectonly:
        return
    if session.exitstatus == pytest.ExitCode.OK and not reporter.stats.get("passed"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line(f"\nnothing of {', '.join(tiers)} was run: every test was skipped", red=True)


def _left_out(config: pytest.Config) -> tuple[str, ...]:
    return tuple(tier for tier in TIERS if tier not in config.option.markexpr)
