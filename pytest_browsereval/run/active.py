"""An eval that is run in this process: what is asked for, its trials, and what the run keeps count of."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.base import Survey
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.contracts import naming, texts_of
from pytest_browsereval.errors import BrowserEvalError, Fault
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.redaction.config import hide_passwords
from pytest_browsereval.redaction.known import know_secrets
from pytest_browsereval.redaction.redactor import Redactor
from pytest_browsereval.redaction.spellings import list_base64_forms, list_spellings
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.behaviour import Behaviour
from pytest_browsereval.run.blame import Deaths
from pytest_browsereval.run.budget import Budget
from pytest_browsereval.run.cassettes import Cassettes, CassetteSource
from pytest_browsereval.run.control import Control
from pytest_browsereval.run.manifest import place_of
from pytest_browsereval.run.outages import Outages
from pytest_browsereval.run.plan import Entry, Plan
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run.store import AttemptRecord, RunStore
from pytest_browsereval.run.toolsets import Toolsets
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.tools.toolkits import build_plugged_kits, kits_for

if TYPE_CHECKING:
    from pytest_browsereval.run.session import Session


class Trials(ABC):
    """Where the trials of a run come from, and what becomes of them; by default as in a new run."""

    plan: Plan
    """All trials, and the way from one to its checked row."""
    has_earlier = False
    """Whether trials may have results of an earlier session."""
    makes_attempts = True
    """Whether agents are at work; else stored records of earlier sessions are written again."""

    @property
    def needs_browser(self) -> bool:
        """Whether an attempt is to be made, so that the browser is started before the first item."""
        return self.makes_attempts

    @abstractmethod
    def prepare(self) -> list[str]:
        """Check what can be checked without a window: keys, callables, programs, folders of sites.

        Returns:
            what a reader of the run should know.

        Raises:
            ConfigError: something of the config cannot be used; it says what to type next.
            UsageError: the run's folder cannot be used.
        """

    @abstractmethod
    def check(self, entries: Iterable[Entry]) -> list[str]:
        """Read and check every row that is to run, and what its graders need; return notes for readers.

        Raises:
            DatasetError: rows are wrong.
            ConfigError: something of the config does not fit them.
            UsageError: what is to be replayed cannot be.
        """

    def list_due(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the trials of which an attempt has to be made."""
        return list(entries)

    @abstractmethod
    def find_judged(self, entry: Entry) -> AttemptRecord | None:
        """Return the judged attempt of a trial that need not be made again; None if there is none."""

    def count_selected(self, count: int) -> int | None:
        """Return how many trials the run is to have; None if nobody knows.

        Args:
            count: of the session's items that are of this config.
        """
        return count

    def count_skipped(self, count: int) -> int:
        """Return how many trials of the run were skipped before their attempt.

        Args:
            count: of the session's items of this config that were.
        """
        return count

    @abstractmethod
    def begin(self, session: Session, manifest: dict[str, Any]) -> None:
        """Write down what the run is made of and which trials it is to have, once the browser is up.

        Raises:
            RunStopped: the run's folder is not the one that was found before.
            OSError: it cannot be written.
        """

    @abstractmethod
    async def make(self, session: Session, entry: Entry, node_id: str) -> AttemptRecord:
        """Make what a trial needs: an attempt with its retries, or new grades.

        Raises:
            RunStopped: nothing can succeed any more; the attempt was not made.
            OverBudget: the run's budget is used up; the attempt was not made.
            CalledOff: nobody wants the attempt any more; it was not made.
            OSError: the run folder cannot be written.
        """

    @abstractmethod
    def record_fault(self, entry: Entry, node_id: str, fault: Fault) -> AttemptRecord:
        """Record a trial as errored that could not finish by itself; needs no loop.

        Raises:
            OSError: the run folder cannot be written.
        """

    # -- what reports show

    def describe(self, folder: str) -> str:
        """Return what is done with an earlier run; empty if the run is new.

        Args:
            folder: the run's, as messages call it.
        """
        return ""

    def list_changes(self, trials: Iterable[StoredAttempt]) -> Iterator[str]:
        """Yield what has become of results that an earlier session had.

        Args:
            trials: as the run folder has them now.
        """
        yield from ()

    def cost_before(self, node_id: str) -> float:
        """Return what a trial had cost before this session, as far as its record holds that too.

        Args:
            node_id: of its item.
        """
        return 0.0


class TrialChoice:
    """Which trials of a run are made, as far as is known yet: all, but a feature may make them in rounds."""

    def is_wanted(self, entry: Entry) -> bool:
        """Whether a trial is to be made."""
        del entry
        return True

    def is_undecided(self, entry: Entry) -> bool:
        """Whether that is to be decided yet."""
        del entry
        return False


@dataclass(frozen=True)
class EarlierRun:
    """An earlier run that an option names, whose trials are the session's."""

    option: str
    """The option without ``--eval-``: the verb for what is done with the run, such as ``regrade``."""
    run: str
    """As the option names it: a folder, an id, or ``latest``."""
    make: Callable[[ActiveRun], Trials]
    """Makes the source of the trials.

    Raises:
        UsageError: the run cannot be taken up so.
    """
    is_empty_allowed: bool = False
    """Whether the run may have no attempt yet."""


class OwnRuns:
    """The runs of the hand-written tests that use one config, in this process.

    Each test has one of its own, and no two of its attempts are one trial.

    Args:
        config: the config.
        store: the run of its items, from which those of tests have their id.
    """

    def __init__(self, config: EvalConfig, store: RunStore) -> None:
        self._config = config
        self._shared = store
        self._held = ExitStack()
        self._stores: dict[str, RunStore] = {}

    def of(self, name: str, manifest: Mapping[str, Any]) -> RunStore:
        """Return the run of a test, begun at the first call.

        Args:
            name: of the test.
            manifest: what the run is made of.

        Raises:
            OSError: its folder cannot be written.
        """
        if name not in self._stores:
            output, run_id, worker = self._config.output_dir, self._shared.root.name, self._shared.worker
            store = RunStore.locate(output, name, run_id, worker=worker)
            self._held.enter_context(store.locks.hold())
            place = place_of(self._config.base_dir, store.root)
            store.write_manifest({**manifest, "name": name, "selected": None, **place})
            if self._config.budget.max_cost_usd is not None:
                self._shared.root.mkdir(parents=True, exist_ok=True)  # all pay from the budget of the config
            self._stores[name] = store
        return self._stores[name]

    @property
    def stores(self) -> tuple[RunStore, ...]:
        """Those that were begun."""
        return tuple(self._stores.values())

    def let_go(self) -> None:
        """Let others write the runs."""
        self._held.close()


@dataclass(kw_only=True, eq=False)
class ActiveRun:
    """A config that is run in this process: what its config and the command line ask for, and what it counts.

    Raises:
        ConfigError: a tool switch names no tool, or a toolkit cannot be used.
    """

    config: EvalConfig
    registry: Registry
    """Where rows look their graders up."""
    store: RunStore
    """The run's folder: the same for every process of the run."""
    source: InitVar[Callable[[ActiveRun], Trials]]
    """Makes the source of its trials."""
    began: float = field(default_factory=time.time)
    """When the session began, in seconds since 1970."""
    behaviour: Behaviour = field(default_factory=Behaviour)
    """What plug-ins change about attempts."""
    model_calls: CassetteSource = field(default_factory=CassetteSource)
    """What becomes of the calls of models."""
    baseline: Path | None = None
    """The earlier run, or a baseline's file, that the run is compared with."""
    limit: int | None = None
    """Take the first so many rows only."""
    choose: Callable[[ActiveRun], TrialChoice] = lambda _: TrialChoice()
    """Makes what says which trials are made."""
    advisory: tuple[GraderConfig, ...] = ()
    """Graders of features that are asked after those of config and rows."""
    keeps_going: bool = False
    """Whether rows are tried no matter what has not answered."""
    controlled_by: str | None = None
    """The session whose control file decides which attempts begin; None reads none."""
    is_planned: bool = False
    """Whether nothing is to be run, only counted."""
    left_out: tuple[str, ...] = ()
    """Features and packages that the session has left out."""
    judged_by: tuple[str, ...] = ()
    """Conftests and packages that decide rules of the gate."""

    def __post_init__(self, source: Callable[[ActiveRun], Trials]) -> None:
        config = self.config
        try:
            self._plugged = build_plugged_kits(config.toolkits, self.registry, config.browser)
        except ValueError as error:
            raise config.wrong(("toolkits",), error) from None
        self.survey = Survey()
        """What the browser can do, once it was asked."""
        self.toolsets = Toolsets() if config.browser.brings_tools else self.make_toolsets(self.survey)
        """The tools that are on: as far as the config says, then those of the browser that was asked."""
        members = (*config.variants.values(), *config.graders, *config.toolkits, *config.sites.values())
        others = filter(None, (config.browser, config.judge))
        own = (secret for member in (*members, *others) for secret in texts_of(member, "secrets"))
        self._secrets = {*config.secrets(), *own}
        self._take_secrets()
        self.budget = Budget(config.budget, self.store, self.began)
        self.outages = Outages(self.store, self.began, self.redact, keeps_going=self.keeps_going)
        self.control = Control(self.store, self.controlled_by)
        self.deaths = Deaths(self)
        self.own_runs = OwnRuns(config, self.store)
        """Those of hand-written tests, which share all else of the config with its items."""
        self.parts: Parts | None = None
        """Which part of the run this session makes; None if it is a whole one."""
        self.held = ExitStack()
        """The locks that show others that this process writes the run."""
        self.trials = source(self)

    @cached_property
    def choice(self) -> TrialChoice:
        """Says which trials are made."""
        return self.choose(self)

    @property
    def plan(self) -> Plan:
        """All its trials, and the way from one to its checked row."""
        return self.trials.plan

    def divide(self, parts: Parts) -> None:
        """Have the session make a part of the run only."""
        self.parts = parts

    # -- secrets

    def redact(self, text: str) -> str:
        """Return the text without the secrets of the config, and without passwords in addresses."""
        return hide_passwords(self._redactor.redact(text))

    def _take_secrets(self) -> None:
        """Redact the secrets in all their spellings, and cut no text through one."""
        self._redactor = Redactor((*list_spellings(self._secrets), *list_base64_forms(self._secrets)))
        know_secrets(self._redactor.spellings)

    def hide_code(self, code: str) -> None:
        """Redact what was made to be typed, from now on."""
        self._secrets.add(code)
        self._take_secrets()

    def hide(self, graders: Iterable[GraderConfig]) -> None:
        """Redact the secrets of a row's own graders too, and of the browser's files as they are now."""
        browser = self.config.browser
        with suppress(BrowserEvalError), naming(browser, "prepare"):  # what opens a window says what is wrong
            browser = browser.prepare(self.config.base_dir)
        own = {secret for member in (*graders, browser) for secret in texts_of(member, "secrets")}
        if not own <= self._secrets:
            self._secrets |= own
            self._take_secrets()

    # -- tools

    def make_toolsets(self, survey: Survey) -> Toolsets:
        """Return the tools that are on in a browser.

        Raises:
            ConfigError: a switch names no tool, or two tools have one name.
        """
        return Toolsets.of(self.config, kits_for(survey, self.config.browser), self._plugged)

    def take_survey(self, survey: Survey) -> None:
        """Take over what the browser can do, and the tools that it has.

        Raises:
            ConfigError: as above.
        """
        self.survey, self.toolsets = survey, self.make_toolsets(survey)

    # -- model calls

    @property
    def cassettes(self) -> Cassettes:
        """Where the calls of its models are recorded, or replayed from."""
        return self.model_calls.make(self)

    def let_go(self) -> None:
        """Let others write the run; needs no loop, and does nothing the second time."""
        self.held.close()
        self.own_runs.let_go()
