"""An eval session: what pytest's side of an eval shares between its features, in each process."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.config import EvalConfig, load_config
from pytest_browsereval.config_text import format_path
from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.conflicts import check_options_of_evals
from pytest_browsereval.hooks.hook_calls import make_behaviour
from pytest_browsereval.hooks.names import is_controlled_key, is_in_editor, is_planned_key, results_url_key
from pytest_browsereval.hooks.output import OutputRouting
from pytest_browsereval.hooks.prefetch import Prefetch
from pytest_browsereval.hooks.records import RecordKeeping
from pytest_browsereval.hooks.redaction import usage_errors
from pytest_browsereval.hooks.surroundings import Surroundings
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.active import ActiveRun, EarlierRun, TrialChoice, Trials
from pytest_browsereval.run.cassettes import CassetteSource
from pytest_browsereval.run.lookup import LATEST, LATEST_ON, describe_unchangeable, run_folder
from pytest_browsereval.run.new_trials import NewTrials
from pytest_browsereval.run.store import RunStore, home_of, new_run_id
from pytest_browsereval.session_caches import begin_session, end_session
from pytest_browsereval.temporary import sweep, use_parent

eval_session_key = pytest.StashKey["EvalSession"]()

OPTION_KEYS = (("trials", "trials"), ("lanes", "lanes"), ("min_pass_rate", "gate.min_pass_rate"))
"""Options that are short for ``--eval-set KEY=...``."""


class EvalSession:
    """The configs that are loaded, by file, and what every process of the run agrees on.

    Args:
        config: pytest's.
        door: asks plug-ins.
    """

    def __init__(self, config: pytest.Config, door: Door) -> None:
        self.config = config
        self.door = door
        self.registry = door.registry
        begin_session()
        config.add_cleanup(end_session)
        given: dict[str, Any] = getattr(config, "workerinput", {})
        self.is_worker = bool(given)
        if (control := given.get("browsereval_control")) is not None:
            use_parent(Path(control))
        elif not self.is_worker:  # a worker has none if its controller has seen no eval
            sweep()
        self.worker = given.get("workerid", "main")
        self.run_id = given.get("browsereval_run_id") or new_run_id()
        self.is_in_editor: bool = given.get("browsereval_editor", is_in_editor(config))
        self.began = float(given.get("browsereval_began") or time.time())
        found: CassetteSource | None = config.hook.pytest_browsereval_cassettes(config=config)
        self.cassettes = found or CassetteSource()
        self.surroundings = Surroundings(config)
        self.prefetch = Prefetch(self)
        self.keeping = RecordKeeping(self)
        self.output = OutputRouting(config)
        self.runs: dict[Path, ActiveRun] = {}
        self._folders: dict[str, str] = {}
        """The folders that runs of this session go into, each with the eval that they are of."""
        self.problems: list[UsageError] = [*door.broken]
        """Found while collecting; the run ends with them before anything is spent."""

    @contextmanager
    def note_problems(self) -> Iterator[None]:
        """Have the run end with a ``UsageError`` that is raised within, once all has been collected."""
        try:
            yield
        except UsageError as error:
            self.problems.append(error)

    def claim_folder(self, home: Path, owner: str) -> None:
        """Take a folder for the runs of an eval.

        Args:
            home: the folder above its runs.
            owner: its file, or its test, for messages; the same owner may ask again.

        Raises:
            UsageError: the folder is another eval's.
        """
        place = os.path.normcase(os.path.realpath(home))
        other = self._folders.setdefault(place, owner)
        if other != owner:
            raise UsageError(
                f"{other} and {owner} share a name and an output folder: both would write trials into "
                f"{format_path(home)}. Write another `name` or another `output_dir` into one of them."
            )

    # -- configs

    def load_run(self, path: Path) -> ActiveRun:
        """Return the active_run of a config file, loaded at the first call.

        Raises:
            UsageError: the file cannot be used, or members of plug-ins cannot.
        """
        self.door.load_registry()  # else no config can be trusted to mean what it says
        path = path.resolve()
        if path not in self.runs:
            self.runs[path] = self._load(path)
        return self.runs[path]

    def _load(self, path: Path) -> ActiveRun:
        overrides, agent = list(self._overrides()), self.config.getoption("eval_agent")
        loaded = load_config(path, registry=self.registry, overrides=overrides, agent=agent)
        if self.is_in_editor and loaded.is_gated and "rows" not in loaded.gate.model_fields_set:
            # It marks rows, and knows nothing of the gate's items, which it has not collected.
            gate = loaded.gate.model_copy(update={"rows": "fail"})
            loaded = loaded.model_copy(update={"gate": gate})
        baseline = self._baseline(loaded)
        if baseline is not None and loaded.gate.compares:
            # Without folders of this machine, where that can be: the config is written down.
            is_below = baseline.is_relative_to(loaded.base_dir)
            place = baseline.relative_to(loaded.base_dir) if is_below else baseline
            gate = loaded.gate.model_copy(update={"baseline": place})
            loaded = loaded.model_copy(update={"gate": gate})
        self.claim_folder(home_of(loaded.output_dir, loaded.name), format_path(path))
        return self._make_run(loaded, baseline)

    def _baseline(self, loaded: EvalConfig) -> Path | None:
        """Return the place of what the command line wants runs compared with.

        Raises:
            UsageError: there is no such run.
        """
        given: str | None = self.config.getoption("eval_baseline", None)  # a feature has the option
        if given is None:
            return None
        base = self.config.invocation_params.dir
        if (base / given).is_file():
            return Path(base / given)
        own, earlier = Path(self.run_id), self.find_earlier_run()
        if earlier is not None:  # a run is not compared with itself
            own = run_folder(loaded, earlier.run, base, before=own, is_empty_allowed=True)
        url = self.config.stash.get(results_url_key, None)
        if given.startswith(LATEST_ON) or (url is not None and given == LATEST):
            place = home_of(loaded.output_dir, loaded.name)
            home = str(place) if url is None else f"{url.rstrip('/')}/{place.name}"
            given = self.door.choose_run(given, home, own.name)
        if "://" in given:
            return self.door.fetch_one(given, own.name, with_files=False)
        return run_folder(loaded, given, base, before=own)

    def _make_run(self, loaded: EvalConfig, baseline: Path | None) -> ActiveRun:
        """Return the run of a config: a new one, or an earlier one.

        Raises:
            UsageError: there is no such run, or options contradict each other.
        """
        earlier, brought = self.find_earlier_run(), None
        if earlier is None:
            brought = self.config.hook.pytest_browsereval_bring_run(config=self.config, eval_config=loaded)
            earlier = None if brought is None else self.find_earlier_run(brought)
        if earlier is None:
            return self._activate(loaded, baseline=baseline)
        run, option = earlier.run, earlier.option
        if run not in (LATEST, str(brought)) and self.runs:
            raise UsageError(
                f"--eval-{option}={run} is one run, but there are several configs. Name its config "
                f"with --eval-config, or write --eval-{option}={LATEST} for the last run of each."
            )
        base, is_empty_allowed = self.config.invocation_params.dir, earlier.is_empty_allowed
        folder = brought or run_folder(
            loaded, run, base, before=self.run_id, is_empty_allowed=is_empty_allowed
        )
        return self._activate(loaded, earlier.make, folder=folder, baseline=baseline)

    def _activate(
        self,
        loaded: EvalConfig,
        source: Callable[[ActiveRun], Trials] = NewTrials,
        *,
        folder: Path | None = None,
        **asked: Any,
    ) -> ActiveRun:
        """Return the run of a config in this process.

        Args:
            loaded: the config.
            source: makes the source of its trials.
            folder: of an earlier run; None for a new one.
            asked: what is asked of it otherwise than by the options of the session.
        """
        option, hook = self.config.getoption, self.config.hook
        advisory = hook.pytest_browsereval_add_graders(config=self.config, registry=self.registry)
        root = home_of(loaded.output_dir, loaded.name) / self.run_id if folder is None else folder
        by_options: dict[str, Any] = {
            "limit": option("eval_limit"),
            "keeps_going": option("eval_keep_going"),
            "is_planned": self.config.stash.get(is_planned_key, False),
        }
        run = ActiveRun(
            config=loaded,
            registry=self.registry,
            store=RunStore(root, worker=self.worker),
            source=source,
            began=self.began,
            behaviour=make_behaviour(self.config, loaded),
            model_calls=self.cassettes,
            advisory=tuple(chain.from_iterable(advisory)),
            choose=lambda run: hook.pytest_browsereval_choose_trials(active_run=run) or TrialChoice(),
            controlled_by=self.run_id if self.config.stash.get(is_controlled_key, False) else None,
            left_out=tuple(self.door.find_left_out()),
            judged_by=tuple(self.door.list_judges(loaded.base_dir)),
            **by_options | asked,
        )
        run.store.writer.report = self.keeping.send
        return run

    def find_earlier_run(self, brought: Path | None = None) -> EarlierRun | None:
        """Return the run whose trials an option of a feature takes up; None if no such option is given.

        Args:
            brought: the folder of one that another machine has begun.

        Raises:
            UsageError: options contradict each other, or the run is at a URL.
        """
        hook = self.config.hook.pytest_browsereval_earlier_run
        found: list[EarlierRun] = hook(config=self.config, brought=brought)
        if len(found) > 1:
            options = " and ".join(sorted(f"--eval-{one.option}" for one in found))
            raise UsageError(f"{options} name an earlier run each. Leave one out.")
        for one in found:
            if "://" in one.run:
                raise UsageError(describe_unchangeable(one.run))
        return found[0] if found else None

    def check_attempts(self) -> None:
        """Refuse tests that make attempts of their own where the command line names an earlier run.

        Raises:
            UsageError: it does.
        """
        if (earlier := self.find_earlier_run()) is not None:
            raise UsageError(
                f"--eval-{earlier.option} is for runs of eval configs, but this test would make new "
                "attempts. Name the configs only, without this test's file."
            )

    def adopt(self, path: Path, loaded: EvalConfig) -> ActiveRun:
        """Return the active_run of a config that is in no file, a marker's for example.

        It has no items: all its attempts are of hand-written tests, each of which has a run of its own.

        Args:
            path: a name for it that no file has.
            loaded: the config.

        Raises:
            UsageError: this session makes no attempts.
        """
        self.find_earlier_run()
        self.runs[path] = self._activate(loaded, limit=None, keeps_going=False, is_planned=False)
        return self.runs[path]

    def _overrides(self) -> Iterator[str]:
        option = self.config.getoption
        yield from option("eval_set")
        for name, key in OPTION_KEYS:
            if (value := option(f"eval_{name}")) is not None:
                yield f"{key}={value}"
        if output := option("eval_output"):
            yield f"output_dir={json.dumps(str((self.config.invocation_params.dir / output).resolve()))}"
        if option("eval_headed"):
            yield "browser.headless=false"

    def nodeid_of(self, path: Path) -> str:
        """Return the node id of a config file: relative to the root folder, also for one outside of it.

        (pytest leaves the file out of the ids of files outside its root folder: two such files would
        share their ids.)
        """
        try:
            return Path(os.path.relpath(path, self.config.rootpath)).as_posix()
        except ValueError:  # another drive
            return path.as_posix()

    def path_of(self, nodeid: str) -> Path:
        """Return the config file of an item's node id."""
        return Path(os.path.normpath(self.config.rootpath / nodeid.partition("::")[0]))

    # -- pytest's hooks

    def pytest_plugin_registered(self, plugin: object) -> None:
        """Ask conftests that come up after the start."""
        known = len(self.door.broken)
        self.door.late(plugin)
        self.problems += self.door.broken[known:]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Refuse configs that were named on the command line before anything else happens."""
        if self.is_worker:
            return
        with self.note_problems():
            self.find_earlier_run()
        self._refuse()
        base = self.config.invocation_params.dir
        for file in self.config.getoption("eval_config"):
            with usage_errors():
                self.load_run(base / file)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """End the run when files that were found while collecting cannot be used.

        (Not a wrapper of the whole collection: a file that is found may be what wakes this session up.)
        A worker offers no items then and leaves the telling to the controller.
        """
        with self.note_problems():
            if not (self.runs or self.problems) and (earlier := self.find_earlier_run()) is not None:
                raise UsageError(f"--eval-{earlier.option} needs the config of the run: --eval-config=FILE.")
        with self.note_problems():
            check_options_of_evals(self.config, session.items, has_evals=bool(self.runs))
        if self.problems and self.is_worker:
            self.config.workeroutput["browsereval_problems"] = self._problem_text()  # type: ignore[attr-defined]
            session.items.clear()
        else:
            self._refuse()

    def _refuse(self) -> None:
        if self.problems:
            raise pytest.UsageError(self._problem_text())

    def _problem_text(self) -> str:
        return redact_known("\n".join(dict.fromkeys(map(str, self.problems))))
