"""The ``pytest11`` entry point: options; the rest is imported only when an eval is asked for.

Imported in every pytest run of the environment, so it imports nothing but the standard library and
pytest (budget: 4 % of the CPU of a start; ``benchmarks/startup.py`` measures it).
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy
import pytest

from pytest_browsereval.feature import PREFIX, Option, describe_unknown, list_early
from pytest_browsereval.hooks.names import (
    CONFIG_SUFFIXES,
    find_options_of_evals,
    ini_markers_key,
    is_eval,
    is_worker,
    positive_integer,
    rate,
)

if TYPE_CHECKING:
    from pytest_browsereval.hooks.items import EvalFile


def _list_early(manager: pytest.PytestPluginManager) -> dict[str, ModuleType]:
    """Return what features do in each run of pytest, without those that ``-p no:NAME`` leaves out."""
    return {name: one for name, one in list_early().items() if not manager.is_blocked(PREFIX + name)}


def _list_options(manager: pytest.PytestPluginManager) -> list[Option]:
    return [option for one in _list_early(manager).values() for option in getattr(one, "OPTIONS", ())]


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the ``--eval-*`` options: ours and those of features."""
    add = parser.getgroup("browsereval", "browser-agent evals").addoption
    add(
        "--eval-config", action="append", default=[], metavar="FILE", help="run this eval config (repeatable)"
    )
    add(
        "--eval-set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a key of the config: limits.max_steps=20 (repeatable)",
    )
    add(
        "--eval-agent",
        metavar="NAME",
        help="run this variant only, or this agent type instead of the config's",
    )
    add("--eval-limit", type=positive_integer, metavar="N", help="run the first N rows of each config")
    add("--eval-trials", type=positive_integer, metavar="N", help="repeat each task N times")
    add("--eval-lanes", type=positive_integer, metavar="N", help="run N attempts at once in each process")
    add(
        "--eval-output",
        metavar="DIR",
        help="write run folders below DIR (default: results/ next to the config)",
    )
    add(
        "--eval-min-pass-rate",
        type=rate,
        metavar="RATE",
        help="fail if the pass rate is below RATE, from 0 to 1 (sets gate.min_pass_rate)",
    )
    add(
        "--eval-keep-going",
        action="store_true",
        help="run all rows even if a site or a model does not answer; without it, two such rows stop the run",
    )
    add("--eval-headed", action="store_true", help="show the browser windows")
    for option in _list_options(pluginmanager):
        add(option.name, **option.settings)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the hooks of ``hookspecs``, and what features do in each run of pytest."""
    from pytest_browsereval import hookspecs

    pluginmanager.add_hookspecs(hookspecs)
    for name, module in _list_early(pluginmanager).items():
        pluginmanager.register(module, f"{PREFIX}{name}.early")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Have pytest load the conftests next to ``--eval-config`` as early as those of its arguments.

    The configs are read before anything is collected, and may name what the conftests register.
    """
    early_config.stash[ini_markers_key] = tuple(early_config.getini("markers"))
    options = early_config.known_args_namespace
    given = options.file_or_dir
    options.file_or_dir = [*given, *options.eval_config]
    try:
        return (yield)
    except pluggy.PluginValidationError as error:
        raise _usage_error(error, early_config) from None
    finally:
        options.file_or_dir = given


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Report a hook of ours that there is not as an error of usage: pytest looks for them here.

    An argument that pytest does not collect may be a config whose name does not say so.
    """
    try:
        return (yield)
    except pluggy.PluginValidationError as error:
        raise _usage_error(error, session.config) from None
    except pytest.UsageError as error:
        refused, base = "\n".join(map(str, error.args)), session.config.invocation_params.dir
        named = dict.fromkeys(arg.partition("::")[0] for arg in session.config.args)
        files = [file for file in named if f"not found: {base / file}" in refused]
        hints = [
            f"Configs of evals are called *.eval{Path(file).suffix}. For another name: `pytest "
            f"--eval-config={file}`"
            for file in files
            if Path(file).suffix in CONFIG_SUFFIXES and not is_eval(file)
        ]
        hints += [
            f"Rows are run by a config that names them: write `dataset: {file}` in a file *.eval.yaml."
            for file in files
            if Path(file).suffix in (".jsonl", ".csv")
        ]
        raise pytest.UsageError(*error.args, *hints) from None


def _usage_error(error: pluggy.PluginValidationError, config: pytest.Config) -> Exception:
    """Return what to raise for a plug-in that pytest refuses; the error itself if our hooks are right."""
    from pytest_browsereval.hook_checks import list_wrong_hooks

    wrong = list(list_wrong_hooks(error.plugin, config.pluginmanager))
    return pytest.UsageError("\n".join(wrong)) if wrong else error


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Put the files of ``--eval-config`` among pytest's arguments.

    Named alone they are all that runs; alongside other arguments they are added, unless an argument is
    the same file with a ``::id``.
    """
    files = list(dict.fromkeys(config.getoption("eval_config")))
    if not files:
        return
    base = config.invocation_params.dir
    named = {(base / arg.partition("::")[0]).resolve() for arg in config.args}
    extra = [file for file in files if (base / file).resolve() not in named]
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = extra
        config.args_source = pytest.Config.ArgsSource.ARGS
    else:
        config.args = [*config.args, *extra]


def pytest_configure(config: pytest.Config) -> None:
    """Wake up if the command line asks for an eval."""
    _warn_of_unknown_features(config)
    # Options about evals are refused where there are none, which is not known before tests are collected.
    named = find_options_of_evals(config) or config.getoption("eval_config") or _is_woken(config)
    asks = named or any(is_eval(arg.partition("::")[0]) for arg in config.args)
    distributes = not is_worker(config) and any(config.getoption(one, None) for one in ("tx", "numprocesses"))
    if asks or ((distributes or config.getoption("htmlpath", None)) and _holds_evals(config)):
        wake(config)


def _is_woken(config: pytest.Config) -> bool:
    """Whether an option of a feature is given that asks for an eval, also where no argument names one."""
    return any(one.wakes and one.is_given(config) for one in _list_options(config.pluginmanager))


def _warn_of_unknown_features(config: pytest.Config) -> None:
    """Warn of ``-p no:browsereval.NAME`` if no feature has the name: pytest blocks any name."""
    left_out = [name.removeprefix("no:") for name in config.option.plugins if name.startswith("no:")]
    for message in () if is_worker(config) else describe_unknown(left_out):
        config.issue_config_time_warning(pytest.PytestConfigWarning(message), stacklevel=2)


def wake(config: pytest.Config) -> Any:
    """Load what an eval needs, once; returns the ``EvalSession``."""
    from pytest_browsereval.hooks.start import start

    return start(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> EvalFile | None:
    """Collect eval configs: those named by ``--eval-config`` and every ``*.eval.*`` file."""
    config = parent.config
    is_found = is_eval(file_path.name) and _is_under_arguments(config, file_path)
    places = ((config.invocation_params.dir / file).resolve() for file in config.getoption("eval_config"))
    if not is_found and not (file_path.suffix and file_path.resolve() in places):
        return None
    try:
        session = wake(config)
    except pytest.UsageError as error:  # passed on here, it would be shown as a fault of the file
        session = wake(config)
        session.problems.append(error)
    from pytest_browsereval.hooks.items import EvalFile

    return EvalFile.of(session, parent, file_path)


def _is_under_arguments(config: pytest.Config, path: Path) -> bool:
    """Whether an argument is the file or a folder above it: pytest offers the neighbours of a file too."""
    if config.option.pyargs:
        return True
    places = {(config.invocation_params.dir / arg.partition("::")[0]).resolve() for arg in config.args}
    return not places.isdisjoint((path.resolve(), *path.resolve().parents))


def _holds_evals(config: pytest.Config) -> bool:
    """Whether an eval file lies under the arguments.

    xdist's controller collects nothing, and pytest-html draws its table's head first: both must know early.
    """
    pruned = {"node_modules", "__pycache__", "venv", "build", "dist"}
    for arg in config.args:
        for _, folders, files in os.walk(config.invocation_params.dir / arg.partition("::")[0]):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in pruned]
            if any(is_eval(name) for name in files):
                return True
    return False
