"""The members of all families: the built-in ones and, by the same door, those of installed packages."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval import benchmarks, features
from pytest_browsereval.errors import RegistryError, UsageError, name_raised
from pytest_browsereval.leaves import load_leaves
from pytest_browsereval.registry import OURS, Registry

if TYPE_CHECKING:
    from pytest_browsereval.model.causes import Cause
    from pytest_browsereval.model.remote import RemoteRuns
    from pytest_browsereval.model.results import TaskMetadata

GROUP = "pytest_browsereval"
"""The entry-point group of packages that bring members or hooks."""


MEMBERS: dict[str, tuple[tuple[str, str], ...]] = {
    "agent": (
        ("single tool-loop", "agents.single:SingleConfig"),
        ("scripted", "agents.scripted:ScriptedConfig"),
        ("noop", "agents.noop:NoopConfig"),
    ),
    "browser": (("playwright", "browsers.playwright.browser:PlaywrightBrowserConfig"),),
    "dataset": (("jsonl browseros", "datasets.jsonl:JsonLinesConfig"),),
    "grader": (
        ("answer", "graders.answer:AnswerGrader"),
        ("page_state", "graders.page_state:PageStateGrader"),
        ("state_diff", "graders.state_diff:StateDiffGrader"),
    ),
}
"""Ours by family, in the order in which messages and help list them: type and other names, and where.

Those of the folders of ``benchmarks`` and ``features`` come after them.
"""


def pytest_browsereval_register(registry: Registry) -> None:
    """Register what this package brings; each is imported when a config or a row names it."""
    for family, members in MEMBERS.items():
        for names, place in members:
            name, *aliases = names.split()
            registry.announce(family, name, f"pytest_browsereval.{place}", aliases=tuple(aliases))
    for _, leaf in load_leaves(benchmarks, "members"):
        leaf.pytest_browsereval_register(registry)


def builtin_registry() -> Registry:
    """Return a registry with what this package and its features bring."""
    registry = Registry()
    pytest_browsereval_register(registry)
    for _, plugin in load_leaves(features, "plugin"):
        if hasattr(plugin, "pytest_browsereval_register"):
            plugin.pytest_browsereval_register(registry)
    return registry


def find_feature(family: str, name: str) -> str | None:
    """Return the plug-in of ours that brings a member; None if it is none of a feature's."""
    for feature, plugin in load_leaves(features, "plugin"):
        if hasattr(plugin, "pytest_browsereval_register"):
            plugin.pytest_browsereval_register(registry := Registry())
            if (family, name) in registry.names():
                return f"browsereval.{feature}"
    return None


def load_registry() -> Registry:
    """Return a registry with the built-in members and those of installed packages.

    Raises:
        RegistryError: a package cannot be loaded, or members clash.
    """
    registry = builtin_registry()
    for point in find_entry_points():
        with name_in_errors(point):
            module = point.load()
        if hasattr(module, "pytest_browsereval_register"):
            hand_over(module, registry, owner=owner_of(point), prefix=point.name)
    return registry


def gather_offers(hook: str, report: Callable[[str], None]) -> Iterator[tuple[str, Any]]:
    """Yield what plug-ins return from a hook that is called beside pytest, each with its owner.

    Args:
        hook: its name. Asked are the features, then installed packages.
        report: called with a sentence for each package that is left out, and why: a broken one does not keep
            the others from working.
    """
    for _, plugin in load_leaves(features, "plugin"):
        yield from ((OURS, one) for one in getattr(plugin, hook, tuple)())
    for point in find_entry_points():
        try:
            with name_in_errors(point):
                offered = tuple(getattr(point.load(), hook, tuple)())
        except RegistryError as error:
            report(f"{error} What it offers to this command is left out.")
        else:
            yield from ((owner_of(point), one) for one in offered)


_NAMED = re.compile(r"(.+?)/(latest|latest-on-.+)")
"""A URL of a run that is named by what it is."""


def fetch_run(url: str, before: str | None = None, *, with_files: bool = True) -> list[Path]:
    """Return copies of the parts of a run at a URL, made by the first feature or package that knows it.

    Args:
        url: of the run; its last part may be ``latest`` or ``latest-on-BRANCH``.
        before: the id of a run; neither it nor later ones are meant by these.
        with_files: whether pictures, traces and other files of attempts are needed beside their records.

    Raises:
        UsageError: none does, or the run cannot be had.
    """
    if named := _NAMED.fullmatch(url):
        url = choose_run(named[2], named[1], before)
    if found := _ask_first("pytest_browsereval_fetch_run", url=url, with_files=with_files):
        return list(found)
    raise UsageError(f"{url}: nothing that is installed reads runs at such a URL. Give a run folder.")


def choose_run(name: str, home: str, before: str | None = None) -> str:
    """Return the run that a name such as ``latest-on-main`` stands for: its folder or its URL.

    Args:
        name: what was typed.
        home: the folder of the runs of an eval, or its URL.
        before: the id of a run; neither it nor later ones are meant.

    Raises:
        UsageError: there is none.
    """
    found: str | None = _ask_first("pytest_browsereval_choose_run", name=name, home=home, before=before)
    if found is None:
        raise UsageError(f"nothing that is installed knows which run {name!r} is. Give a run folder.")
    return found


def open_runs(url: str) -> RemoteRuns:
    """Return all runs at a URL.

    Raises:
        UsageError: nothing that is installed knows it, or it cannot be used.
    """
    found: RemoteRuns | None = _ask_first("pytest_browsereval_open_runs", url=url)
    if found is None:
        raise UsageError(f"{url}: nothing that is installed lists runs at such a URL. Give a results folder.")
    return found


def make_table(run: Any, name: str) -> Any:
    """Return a table of a run: a ``StoredRun``, and pyarrow's ``Table``, which are not known here.

    Raises:
        UsageError: nothing that is installed makes such a table, or it cannot be made.
    """
    found = _ask_first("pytest_browsereval_make_table", run=run, name=name)
    if found is None:
        raise UsageError(f"nothing that is installed makes a table {name!r} of a run.")
    return found


@cache
def make_cause_finder() -> Callable[[TaskMetadata, Path], Cause | None]:
    """Return what finds why an attempt did not pass; None if it passed, or if nobody knows."""
    calls = [*_find_calls("pytest_browsereval_find_cause")]
    return lambda data, folder: next(
        (found for call in calls if (found := call(metadata=data, folder=folder)) is not None), None
    )


def note_sent(run_folder: Path, url: str) -> None:
    """Tell features and packages that a run, or a part of one, is done at a URL."""
    for call in _find_calls("pytest_browsereval_run_sent"):
        call(run_folder=run_folder, url=url)


def judge_run(run_folder: Path, summary: Any, gate: Any) -> tuple[Any, ...]:
    """Return the ``RuleResult`` of each rule of a gate that a feature or a package decides for a run."""
    calls = _find_calls("pytest_browsereval_judge_run")
    return tuple(one for call in calls for one in call(run_folder=run_folder, summary=summary, gate=gate))


def sum_up_run(run_folder: Path, summary: Any) -> dict[str, Any]:
    """Return the figures beside the pass rate that features and packages find in a run's folder."""
    calls = _find_calls("pytest_browsereval_sum_up")
    return {key: one for call in calls for key, one in call(run_folder=run_folder, summary=summary).items()}


def describe_run(run_folder: Path, summary: Any) -> tuple[str, ...]:
    """Return the lines beside the pass rate that features and packages have for a run's folder."""
    calls = _find_calls("pytest_browsereval_describe_run")
    return tuple(one for call in calls for one in call(run_folder=run_folder, summary=summary))


def _ask_first(hook: str, **arguments: Any) -> Any:
    """Return what the first feature or package returns from a hook that is called beside pytest."""
    return next((found for call in _find_calls(hook) if (found := call(**arguments)) is not None), None)


def _find_calls(hook: str) -> Iterator[Callable[..., Any]]:
    plugins: list[Any] = [plugin for _, plugin in load_leaves(features, "plugin")]
    for point in find_entry_points():
        with name_in_errors(point):
            plugins.append(point.load())
    yield from (call for plugin in plugins if (call := getattr(plugin, hook, None)) is not None)


# -- one package at a time


def find_entry_points() -> list[EntryPoint]:
    """Return the entry points of installed packages, in an order that is the same everywhere."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def owner_of(point: EntryPoint) -> str:
    """Return what messages call a package: its distribution's name and version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


@contextmanager
def name_in_errors(point: EntryPoint) -> Iterator[None]:
    """Have an error say which entry point of which package cannot be loaded, and the way out.

    Raises:
        RegistryError: in the place of any exception.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may call pytest.skip or sys.exit
        what = str(error) if isinstance(error, RegistryError) else f"{name_raised(error)}: {error}."
        raise RegistryError(
            f"the entry point {point.name!r} = {point.value!r} of {owner_of(point)} cannot be loaded: "
            f"{what} Mend or uninstall the package; pytest leaves it out with "
            f"-p no:{point.name}."
        ) from error


def hand_over(plugin: Any, registry: Registry, *, owner: str, prefix: str = "") -> None:
    """Ask a plug-in for its members and register them in its own name.

    Args:
        plugin: has the hook ``pytest_browsereval_register``.
        registry: what is filled.
        owner: what messages call the plug-in.
        prefix: what the names of an installed package's members have to begin with, before a slash.

    Raises:
        RegistryError: the hook fails, a name lacks the prefix, or members clash.
    """
    mine = Registry(owner)
    try:
        plugin.pytest_browsereval_register(registry=mine)
    except (RegistryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # what pytest's functions raise too: nothing is a test here
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise RegistryError(
            f"pytest_browsereval_register of {owner} fails: {name_raised(error)}: {error} "
            f"({last.filename}:{last.lineno}). Mend it."
        ) from error
    for family, label in mine.names():
        if prefix and not label.startswith(f"{prefix}/"):
            raise RegistryError(
                f"{owner} registers the {family} {label!r}. Members of an installed package are named "
                f"'{prefix}/...', after its entry point; write {prefix}/{label}."
            )
    registry.adopt(mine)
