"""The door for features, packages and conftests: pytest's plugin manager, in a session and in a command.

A conftest is asked before a package, and a package before a feature, wherever one answer counts.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from pluggy import PluginValidationError

from pytest_browsereval.conftests import import_conftest, list_conftests
from pytest_browsereval.errors import RegistryError, UsageError, describe_error, name_raised
from pytest_browsereval.feature import PREFIX, Feature, list_features
from pytest_browsereval.hook_checks import HOOKS, is_ours, list_wrong_hooks
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.registry import OURS, Registry

if TYPE_CHECKING:
    from pytest_browsereval.model.remote import RemoteRuns
    from pytest_browsereval.model.results import TaskMetadata
    from pytest_browsereval.model.rules import RuleResult

GROUP = "pytest_browsereval"
"""The entry-point group of packages that bring members or hooks."""

MEMBERS = Feature(
    members={
        "agent": {"scripted": "agents.scripted:ScriptedConfig", "noop": "agents.noop:NoopConfig"},
        "browser": {"playwright": "browsers.playwright.browser:PlaywrightBrowserConfig"},
        "dataset": {"jsonl browseros": "datasets.jsonl:JsonLinesConfig"},
        "grader": {
            "answer": "graders.answer:AnswerGrader",
            "page_state": "graders.page_state:PageStateGrader",
            "state_diff": "graders.state_diff:StateDiffGrader",
        },
    },
    package=__package__,
)
"""What is there without features and benchmarks, whose members come after these in messages and help."""

_NAMED_RUN = re.compile(r"(.+?)/(latest|latest-on-.+)")
"""A URL of a run that is named by what it is."""


class Door:
    """Asks features, packages and conftests.

    Args:
        manager: of pytest; it knows the hooks of ``hookspecs``, and what ``-p no:NAME`` leaves out.
        root: messages name conftests relative to this folder.
    """

    def __init__(self, manager: pytest.PytestPluginManager, root: Path | None = None) -> None:
        self.manager = manager
        self.hook = manager.hook
        self.packages: list[str] = []
        """Installed packages that were loaded, ``name version``."""
        self.broken: list[RegistryError] = []
        """What keeps packages or conftests from being used, or what they bring from being told apart."""
        self._root = root
        self._registry: Registry | None = None
        self._asked: dict[int, object] = {}
        """Plug-ins by their identity, kept alive so that it stays theirs."""
        self._packages: dict[int, tuple[str, str]] = {}
        """Owner and prefix of packages, by the module's identity."""

    # -- what there is

    def fill(self) -> None:
        """Load packages, then features: pluggy calls what has `trylast` in the order of registration."""
        for point in find_entry_points():
            with self._note_broken():
                self._load(point)
        for name, feature in self.features():
            if feature.hooks:
                _register_last(self.manager, feature.import_module(feature.hooks), f"{PREFIX}{name}")

    def features(self) -> Iterator[tuple[str, Feature]]:
        """Yield the features that are not left out, with their names."""
        for name, feature in list_features().items():
            if not self.manager.is_blocked(f"{PREFIX}{name}"):
                yield name, feature

    def find_left_out(self) -> list[str]:
        """Return the features and packages that ``-p no:NAME`` leaves out."""
        names = [f"{PREFIX}{name}" for name in list_features()] + [one.name for one in find_entry_points()]
        return [name for name in names if self.manager.is_blocked(name)]

    def list_judges(self, base: Path) -> list[str]:
        """Return the conftests and packages that decide rules of gates: without one, a gate may be another.

        Args:
            base: the folder of the config, which conftests are named relative to.
        """
        plugins = [impl.plugin for impl in self.hook.pytest_browsereval_judge_run.get_hookimpls()]
        return sorted(self._name_judge(one, base) for one in plugins if not is_ours(one))

    def _name_judge(self, plugin: object, base: Path) -> str:
        if id(plugin) in self._packages:
            return self._packages[id(plugin)][0].rpartition(" ")[0]  # a newer version is the same judge
        file = getattr(plugin, "__file__", None)
        if file is None:
            return self.describe(plugin)
        try:
            return Path(os.path.relpath(file, base.absolute())).as_posix()
        except ValueError:  # another drive
            return Path(file).name

    @property
    def registry(self) -> Registry:
        """The members of all of them, made at the first call; without those that cannot be had."""
        if self._registry is None:
            self._registry = builtin_registry(self.manager.is_blocked)
            plugins = {id(one): one for _, one in self.manager.list_name_plugin()}
            packages = [plugins[one] for one in self._packages if one in plugins]
            for plugin in (*packages, *plugins.values()):
                self.late(plugin)
        return self._registry

    def load_registry(self) -> Registry:
        """Return the registry of a door at which nothing is broken.

        Raises:
            RegistryError: a package or a conftest cannot be used, or members clash.
        """
        registry = self.registry
        self.check()
        return registry

    def check(self) -> None:
        """Refuse to go on without something that is installed and broken.

        Raises:
            RegistryError: a package or a conftest cannot be used, or members clash.
        """
        if self.broken:
            raise self.broken[0]

    def late(self, plugin: object) -> None:
        """Ask a plug-in that has come up, a sub-folder's conftest for example, for members, once."""
        if self._registry is None or plugin is None or id(plugin) in self._asked:
            return
        self._asked[id(plugin)] = plugin
        with self._note_broken():
            if not is_ours(plugin) and id(plugin) not in self._packages:
                self._check_hooks(plugin)
            if hasattr(plugin, "pytest_browsereval_register"):
                owner, prefix = self._packages.get(id(plugin), (self.describe(plugin), ""))
                hand_over(plugin, self._registry, owner=owner, prefix=prefix)

    def load_conftests(self, config: Path) -> None:
        """Load the conftests with hooks of ours that pytest loads for a config.

        These are the ones in its folder and, where that is below the current one, in the folders between.

        Raises:
            RegistryError: one of them cannot be loaded, or its hooks are wrong.
        """
        for file in list_conftests(config.absolute().parent):
            if self.manager.get_plugin(str(file)) is None:
                conftest = import_conftest(file)
                _register(self.manager, conftest, str(file))
                self._check_hooks(conftest)
                self.late(conftest)

    def describe(self, plugin: object) -> str:
        """Return what messages call a plug-in."""
        if id(plugin) in self._packages:
            return self._packages[id(plugin)][0]
        file = getattr(plugin, "__file__", None)
        if is_ours(plugin):
            return OURS
        if file is None:
            return f"{type(plugin).__module__}.{type(plugin).__qualname__}"
        path = Path(file)
        is_below = self._root is not None and path.is_relative_to(self._root)
        return str(path.relative_to(self._root)) if self._root is not None and is_below else str(path)

    @contextmanager
    def _note_broken(self) -> Iterator[None]:
        try:
            yield
        except RegistryError as error:
            self.broken.append(error)

    def _load(self, point: EntryPoint) -> None:
        if self.manager.is_blocked(point.name):
            return
        with name_in_errors(point):
            module = point.load()
            if self.manager.get_plugin(point.name) is None:
                _register_last(self.manager, module, point.name)
        try:
            self._check_hooks(module)
        except RegistryError:
            self.manager.unregister(module)
            raise
        self._packages[id(module)] = (owner_of(point), point.name)
        self.packages.append(owner_of(point))

    def _check_hooks(self, plugin: object) -> None:
        if wrong := list(list_wrong_hooks(plugin, self.manager)):
            raise RegistryError("\n".join(wrong))

    # -- what they are asked

    def ask_each(self, hook: str, report: Callable[[str], None]) -> Iterator[tuple[str, Any]]:
        """Yield what each plug-in returns from a hook that returns several things, with its owner.

        Ours come first, so that nothing takes their place.

        Args:
            hook: its name.
            report: called with a sentence for each plug-in that fails: it does not keep the others from
                being asked.
        """
        plugins = [impl.plugin for impl in getattr(self.hook, hook).get_hookimpls()]
        for plugin in sorted(plugins, key=lambda one: not is_ours(one)):
            ask = self.manager.subset_hook_caller(hook, [one for one in plugins if one is not plugin])
            try:
                found = [one for several in ask() for one in several]
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 a hook may call pytest.skip or sys.exit
                what = f"{hook} of {self.describe(plugin)} fails: {name_raised(error)}: {error}."
                report(f"{what} What it offers to this command is left out. Fix or uninstall the package.")
            else:
                yield from ((self.describe(plugin), one) for one in found)

    def fetch_run(self, url: str, before: str | None = None, *, with_files: bool = True) -> list[Path]:
        """Return copies of the parts of a run at a URL.

        Args:
            url: of the run; its last part may be ``latest`` or ``latest-on-BRANCH``.
            before: the id of a run; neither it nor later ones are meant by these.
            with_files: whether pictures, traces and other files of attempts are needed as well as their
                records.

        Raises:
            UsageError: nothing that is installed knows it, or the run cannot be had.
        """
        url = self.find_url(url, before)
        if found := self.hook.pytest_browsereval_fetch_run(url=url, with_files=with_files):
            return list(found)
        raise UsageError(f"{url}: nothing that is installed reads runs at such a URL. Give a run folder.")

    def find_url(self, url: str, before: str | None = None) -> str:
        """Return the URL of a run, also where its end is a name such as ``latest``."""
        named = _NAMED_RUN.fullmatch(url)
        return self.choose_run(named[2], named[1], before) if named else url

    def fetch_one(self, url: str, before: str | None = None, *, with_files: bool = True) -> Path:
        """Return a copy of a run at a URL, as ``fetch_run`` does of its parts.

        Raises:
            UsageError: it cannot be had, or is in several parts.
        """
        found = self.fetch_run(url, before, with_files=with_files)
        if len(found) > 1:
            raise UsageError(
                f"{url} is a run in {len(found)} parts. Run `browsereval merge {url} -o FOLDER`, and "
                "give that folder."
            )
        return found[0]

    def choose_run(self, name: str, home: str, before: str | None = None) -> str:
        """Return the run that a name such as ``latest-on-main`` stands for: its folder or its URL.

        Args:
            name: what was typed.
            home: the folder of the runs of an eval, or its URL.
            before: the id of a run; neither it nor later ones are meant.

        Raises:
            UsageError: there is none.
        """
        runs = self.open_runs(home.rpartition("/")[0]) if "://" in home else None
        hook = self.hook.pytest_browsereval_choose_run
        found: str | None = hook(name=name, home=home, before=before, runs=runs)
        if found is None:
            raise UsageError(f"nothing installed knows which run {name!r} is. Give a run folder.")
        return found

    def open_runs(self, url: str) -> RemoteRuns:
        """Return all runs at a URL.

        Raises:
            UsageError: nothing that is installed knows it, or it cannot be used.
        """
        found: RemoteRuns | None = self.hook.pytest_browsereval_open_runs(url=url)
        if found is None:
            raise UsageError(
                f"{url}: nothing that is installed lists runs at such a URL. Give a results folder."
            )
        return found

    def make_table(self, run: Any, name: str) -> Any:
        """Return a table of a run: a ``StoredRun``, and pyarrow's ``Table``, which are not known here.

        Raises:
            UsageError: nothing that is installed makes such a table, or it cannot be made.
        """
        found = self.hook.pytest_browsereval_make_table(run=run, name=name)
        if found is None:
            raise UsageError(f"nothing installed makes a table {name!r} of a run.")
        return found

    def find_cause(self, metadata: TaskMetadata, folder: Path) -> Cause | None:
        """Return why an attempt did not pass; None if it passed, or if nobody knows.

        Reports go on without the cause that a plug-in should have found: its error is the cause's detail.
        """
        hook = self.hook.pytest_browsereval_find_cause
        try:
            found: Cause | None = hook(metadata=metadata, folder=folder)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 a hook may call pytest.skip or sys.exit
            detail = redact_known(f"{hook.name} fails: {describe_error(error)}")
            return Cause("not_known", "not known", detail, (), None, "")
        return found

    def judge_run(self, run: Any, gate: Any) -> list[RuleResult]:
        """Return the result of each rule of a gate that a plug-in decides for a ``StoredRun``.

        Raises:
            RegistryError: a plug-in is broken, and nobody knows what it would decide.
        """
        self.check()
        found = self.hook.pytest_browsereval_judge_run(run=run, gate=gate)
        return [rule for rules in found for rule in rules]

    def sum_up_run(self, run: Any) -> dict[str, Any]:
        """Return the figures that plug-ins add to those of a ``StoredRun``."""
        found: list[Mapping[str, Any]] = self.hook.pytest_browsereval_sum_up(run=run)
        return {key: value for figures in reversed(found) for key, value in figures.items()}

    def describe_run(self, run: Any) -> list[str]:
        """Return the lines that plug-ins add to the pass rate of a ``StoredRun``."""
        found = self.hook.pytest_browsereval_describe_run(run=run)
        return [line for lines in found for line in lines]


def make_manager(hookspecs: ModuleType, left_out: Iterable[str]) -> pytest.PytestPluginManager:
    """Return a plugin manager for a command, which has no session.

    Args:
        hookspecs: the module with our hooks.
        left_out: what ``-p no:NAME`` names.
    """
    manager = pytest.PytestPluginManager()
    manager.add_hookspecs(hookspecs)
    for name in left_out:
        manager.set_blocked(name)
    return manager


# -- members


def builtin_registry(is_blocked: Callable[[str], object] = lambda _: False) -> Registry:
    """Return a registry with what this package, its benchmarks and its features bring.

    Args:
        is_blocked: whether a feature of a name is left out.
    """
    features = list_features()

    def find_left_out(family: str, name: str) -> str:
        left_out = (PREFIX + one for one, feature in features.items() if feature.brings(family, name))
        return next(filter(is_blocked, left_out), "")

    there = [one for name, one in features.items() if not is_blocked(PREFIX + name)]

    def explain(family: str, name: str) -> str:
        return next(filter(None, (one.load(one.explains)(family, name) for one in there if one.explains)), "")

    registry = Registry(find_left_out=find_left_out, explain=explain)
    for feature in (MEMBERS, *list_features("benchmarks").values(), *there):
        feature.register(registry)
    return registry


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
            f"({last.filename}:{last.lineno}). Fix it."
        ) from error
    for family, label in mine.names():
        if prefix and not label.startswith(f"{prefix}/"):
            raise RegistryError(
                f"{owner} registers the {family} {label!r}. Members of an installed package are named "
                f"'{prefix}/...', after its entry point; write {prefix}/{label}."
            )
    registry.adopt(mine)


# -- packages


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
            f"{what} Fix or uninstall the package; pytest leaves it out with "
            f"-p no:{point.name}."
        ) from error


# -- hooks


def _register(manager: pytest.PytestPluginManager, module: Any, name: str) -> None:
    """Register a module, whose hooks pytest checks.

    Raises:
        RegistryError: one of ours takes what it is not given.
    """
    try:
        manager.register(module, name)
    except PluginValidationError as error:
        wrong = list(list_wrong_hooks(module, manager))
        raise (RegistryError("\n".join(wrong)) if wrong else error) from None


def _register_last(manager: pytest.PytestPluginManager, module: Any, name: str) -> None:
    """Register a module whose hooks of ours are called after those of conftests.

    It is loaded after them, since a run without an eval does not need it, and what is registered later is
    called earlier. What says `tryfirst` or is a wrapper stays so.
    """
    for hook in dir(module):
        options = manager.parse_hookimpl_opts(module, hook) if hook.startswith(HOOKS) else None
        if options and not any(map(options.get, ("tryfirst", "trylast", "wrapper", "hookwrapper"))):
            last = pytest.hookimpl(
                trylast=True,
                optionalhook=options.get("optionalhook", False),
                specname=options.get("specname"),
            )
            last(getattr(module, hook))
    _register(manager, module, name)
