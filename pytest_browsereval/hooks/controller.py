"""The controller's side: rows are checked before anything is spent, and nothing is lost on the way."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, get_args

import pytest

from pytest_browsereval.errors import RunStopped, UsageError, describe_error
from pytest_browsereval.feature import PREFIX, list_features
from pytest_browsereval.hooks.gating import Gating
from pytest_browsereval.hooks.hook_calls import OUTCOMES, describe_outcome
from pytest_browsereval.hooks.items import EvalItem, Unmade
from pytest_browsereval.hooks.marks import describe_acting
from pytest_browsereval.hooks.names import is_eval, is_planned_key, runs_nothing
from pytest_browsereval.hooks.prefetch import StoreError
from pytest_browsereval.hooks.records import RecordCheck
from pytest_browsereval.hooks.redaction import safe_output, usage_errors
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.budget import UNKNOWN_COST
from pytest_browsereval.run.new_trials import NewTrials
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.run.relations import Relations
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.runs.summary_file import read_figures

UNMADE_KEYS: dict[Unmade, str] = {"budget": "over_budget", "dashboard": "called_off", "decided": "not_needed"}
"""Under which key the summary tells how many trials were not run for a reason."""


controller_key = pytest.StashKey["Controller"]()


class Controller:
    """Knows which items must finish, which have, and what the run folders say.

    Args:
        session: the eval session of this process, which is not an xdist worker.
    """

    def __init__(self, session: EvalSession) -> None:
        self.session = session
        self.expected: dict[str, None] = {}
        """Node ids of all items that are to run."""
        self.rows: dict[str, ActiveRun] = {}
        """The eval items among them."""
        self.relations: dict[str, Relations] = {}
        """What those have to do with others that have to do with any."""
        self.needs: dict[str, list[str]] = {}
        """The items that those depend on, as far as they are to run."""
        self.held_back: dict[str, Entry] = {}
        """Those that nobody knows of yet whether they are to be made."""
        self.finished: set[str] = set()
        self.verdicts: dict[str, str] = {}
        self.skipped: set[str] = set()
        """Rows that a fixture or a mark has skipped before their attempt."""
        self.has_unknown_cost = False
        """Whether that kept trials from being made, as a budget of money needs it."""
        self.unmade: dict[Unmade, set[str]] = {kind: set() for kind in get_args(Unmade)}
        """Rows that were not run since something did not allow it: the run lacks them, but for those that it
        did not need."""
        self.stored_runs: dict[ActiveRun, StoredRun] = {}
        self.broken: dict[ActiveRun, str] = {}
        """What broke at the end, by the eval: its run folder cannot be read or written, so that the gate is
        undecided, or a plug-in broke when it was handed the summary."""
        self.lines_beside: dict[ActiveRun, list[str]] = {}
        """What features say of each eval next to its pass rate."""
        self.records = RecordCheck(session)
        self.gating = Gating(session, self)
        self.missing: list[str] = []
        self.has_looped = False
        self.stopped_by_workers: list[str] = []
        """Why workers have stopped the run."""
        self.unclosed_by_workers: list[str] = []
        """What they could not close."""

    # -- what must finish

    def expect(self, node_ids: Iterable[str]) -> None:
        """Take over the ids that are to run.

        Raises:
            pytest.UsageError: a config or a selected row is wrong.
        """
        by_file: dict[str, list[str]] = {}
        for node_id in node_ids:
            if node_id not in self.expected:
                self.expected[node_id] = None
                file, _, name = node_id.partition("::")
                by_file.setdefault(file, []).append(name)
        with usage_errors():
            for file, names in by_file.items():
                path = self.session.path_of(file)
                if path in self.session.runs or is_eval(path.name):
                    self._check(self.session.load_run(path), file, set(names))

    def _check(self, active_run: ActiveRun, file: str, names: set[str]) -> None:
        notes = active_run.trials.prepare()
        self._check_features(active_run)
        self._check_workers(active_run)
        self._note(active_run, notes)
        rows = {name.partition("[")[0] for name in names}
        entries = [entry for entry in active_run.plan.entries(only=rows) if entry.name in names]
        notes = active_run.trials.check(entries)
        ids = {f"{file}::{entry.name}": entry for entry in entries}
        self.rows.update(dict.fromkeys(ids, active_run))
        self._relate(active_run, ids)
        self.records.take_stock(active_run)
        acting = describe_acting(self.session.config, active_run, entries)
        self._note(active_run, [*notes, *active_run.plan.notes(entries), *acting])

    def _relate(self, active_run: ActiveRun, ids: dict[str, Entry]) -> None:
        """Note what items have to do with others, and what they wait for."""
        self.held_back.update({name: one for name, one in ids.items() if active_run.choice.is_undecided(one)})
        if not active_run.plan.relates:
            return
        relations = {name: active_run.plan.relations(entry) for name, entry in ids.items()}
        self.relations.update(relations)
        by_key = {entry.key: name for name, entry in ids.items()}
        for name, entry in ids.items():
            keys = (replace(entry.key, query_id=one) for one in relations[name].depends_on)
            if needed := [by_key[key] for key in keys if key in by_key]:
                self.needs[name] = needed

    def _check_features(self, active_run: ActiveRun) -> None:
        notes = self.session.config.hook.pytest_browsereval_check_run(active_run=active_run)
        self._note(active_run, chain.from_iterable(notes))
        known = {key for _, feature in self.session.door.features() for key in feature.keys}
        for key in active_run.config.list_feature_keys():
            if key not in known:
                names = [name for name, one in list_features().items() if key in one.keys]
                left_out = f"-p no:{PREFIX}{names[0]}" if names else "its folder is missing"
                why = f"the feature that acts on this key is left out ({left_out}). Leave the key out too."
                raise active_run.config.wrong(key, why)

    def _check_workers(self, active_run: ActiveRun) -> None:
        """Refuse workers that each run every row, and more processes than the browser takes attempts."""
        option, name = self.session.config.getoption, active_run.config.name
        if option("tx", None) and option("dist", "no") == "each":
            raise UsageError(
                f"eval {name}: --dist each has every worker run every row, and of two "
                "results of one trial the last would count. Use --dist load; to run each row twice, use "
                "--eval-trials=2."
            )
        processes, limit = option("numprocesses", None) or 1, active_run.survey.max_windows
        if limit is not None and processes > limit:
            raise UsageError(
                f"eval {name}: the browser takes {limit} attempt{'s' if limit > 1 else ''} at a time, and -n "
                f"{processes} would make {processes}. Leave -n out; lanes wait for their turn."
            )

    def _note(self, active_run: ActiveRun, notes: Iterable[str]) -> None:
        reporter: Any = self.session.config.pluginmanager.get_plugin("terminalreporter")
        for note in notes if reporter is not None and reporter.verbosity > -2 else ():
            reporter.write_line(f"eval {active_run.config.name}: note: {note}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Check all rows and start the browser; after the loop, write the summaries."""
        if session.config.stash.get(is_planned_key, False):
            self.expect(item.nodeid for item in session.items)
        elif not runs_nothing(session.config):
            self.has_looped = True
            self.expect(item.nodeid for item in session.items)
            self._start_browsers(session)
        result = yield
        if self.has_looped:
            self.summarise()
        return result

    def _start_browsers(self, session: pytest.Session) -> None:
        """Find out now, not at the first item, that there is no browser."""
        prefetch = self.session.prefetch
        for active_run in {i.active_run: None for i in session.items if isinstance(i, EvalItem)}:
            try:
                prefetch.lanes.call(prefetch.session_of(active_run).start())
            except RunStopped as stop:
                raise pytest.UsageError(redact_known(str(stop))) from None
            except OSError as error:
                raise pytest.UsageError(str(StoreError(active_run.store.root, error))) from None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Do the same for what a worker has collected."""
        self.has_looped = True
        self.expect(ids)

    # -- what has finished

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note the verdict."""
        verdict = getattr(report, "browsereval_verdict", None)
        if verdict is not None:
            self.verdicts[report.nodeid] = verdict
            self.skipped.discard(report.nodeid)
        elif report.when == "setup" and report.outcome == "skipped" and report.nodeid in self.rows:
            unmade: Unmade | None = getattr(report, "browsereval_unmade", None)
            (self.skipped if unmade is None else self.unmade[unmade]).add(report.nodeid)
            self.has_unknown_cost |= unmade == "budget" and UNKNOWN_COST in report.longreprtext

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note that an item is over."""
        self.finished.add(nodeid)

    def summarise(self) -> None:
        """Read the run folders and write ``summary.json`` into each, once no attempt runs any more."""
        known = self.stored_runs.keys() | self.broken.keys()
        runs = [
            one for one in dict.fromkeys(self.rows.values()) if one not in known and one.store.root.exists()
        ]
        if runs:
            # A record of an attempt that has run ahead of an interrupt and comes later counts nowhere.
            self.session.prefetch.end_attempts()
            workers = self.session.config.pluginmanager.get_plugin("dsession")
            if (nodes := getattr(workers, "nodemanager", None)) is not None:
                nodes.teardown_nodes()  # as xdist does a little later; the workers' sessions end with it
        for active_run in runs:
            try:
                self._summarise(active_run)
            except (UsageError, OSError) as error:
                self.broken[active_run] = f"summary.json was not written: {error}"

    @property
    def summaries(self) -> dict[ActiveRun, RunSummary]:
        """What the runs came to that are over."""
        return {one: run.summary for one, run in self.stored_runs.items()}

    def label(self, active_run: ActiveRun) -> str:
        """Return what reports call an eval: its name, and its file where another one has that name."""
        name = active_run.config.name
        if sum(one.config.name == name for one in self.stored_runs) < 2:
            return name
        places = (path for path, one in self.session.runs.items() if one is active_run)
        return f"{name} ({self.session.nodeid_of(next(places, active_run.config.path))})"

    def count_selected(self, active_run: ActiveRun) -> int | None:
        """Return how many trials of an eval there are to be; None if nobody knows."""
        hook = self.session.config.hook.pytest_browsereval_count_selected
        if (count := hook(active_run=active_run)) is not None:
            return int(count)
        return active_run.trials.count_selected(sum(owner is active_run for owner in self.rows.values()))

    def lacking(self) -> list[str]:
        """Return the rows that have no result and were not skipped, in their order.

        In an earlier run these are the ones that this session has not come to.
        """
        new = (one for active_run, one in self.summaries.items() if type(active_run.trials) is NewTrials)
        recorded = {trial.last.node_id for summary in new for trial in summary.trials}  # some ran ahead
        done = self.verdicts.keys() | self.skipped | self.unmade["decided"] | recorded
        return [name for name in self.rows if name not in done]

    def stops(self) -> list[str]:
        """Return why the run was stopped, each reason once."""
        own = (one.stopped for one in self.session.prefetch.sessions.values() if one.stopped is not None)
        return list(dict.fromkeys([*own, *self.stopped_by_workers]))

    def list_unclosed(self) -> list[str]:
        """Return what could not be closed and why, each once."""
        own = (problem for one in self.session.prefetch.sessions.values() for problem in one.unclosed)
        return list(dict.fromkeys([*own, *self.unclosed_by_workers]))

    def keys_of(self, active_run: ActiveRun, node_ids: Iterable[str]) -> set[TrialKey]:
        """Return which trials of an eval items are of."""
        ids = (node_id for node_id in node_ids if self.rows.get(node_id) is active_run)
        names = {node_id.partition("::")[2] for node_id in ids}
        rows = {name.partition("[")[0] for name in names}
        return {e.key for e in active_run.plan.entries(only=rows) if e.name in names} if names else set()

    def _summarise(self, active_run: ActiveRun) -> None:
        active_run.store.writer.close()
        self.records.check(active_run, is_over=self.finished.issuperset(self.expected))
        run = StoredRun(active_run.store.root, self.session.door)
        summary = run.summary
        later = {trial.last.place.rpartition("/")[0] for trial in summary.trials}
        self.records.check_foreign(active_run.store, later)
        self.stored_runs[active_run] = run
        door = self.session.door
        self.lines_beside[active_run] = door.describe_run(run)
        lacking = {
            key: sum(self.rows[node_id] is active_run for node_id in self.unmade[why])
            for why, key in UNMADE_KEYS.items()
        }
        is_run = active_run.trials.makes_attempts
        not_run = [name for name in self.lacking() if is_run and self.rows[name] is active_run]
        # An earlier session or a run ahead may have left a result of a skipped trial.
        of_skipped = self.keys_of(active_run, self.skipped)
        skipped = sum(active_run.store.verdict(key) is None for key in of_skipped)
        counted = {
            "selected": self.count_selected(active_run),
            "skipped": active_run.trials.count_skipped(skipped),
            **{key: count for key, count in lacking.items() if count},
            **({"not_run": [name.partition("::")[2] for name in not_run]} if not_run else {}),
        }
        if (count := self._count_all(active_run)) is not None:
            counted["all_trials"] = count
        counted |= door.sum_up_run(run)
        gate = active_run.config.public_dump().get("gate")
        figures = {**counted, **summary.figures(), "gate": gate}
        active_run.store.write_summary({**figures, "results": summary.list_results()})
        self._tell_plugins(active_run, summary)

    def _count_all(self, active_run: ActiveRun) -> int | None:
        """Return how many trials the config has: a run of some of them can be told from one of all.

        Where stored trials are graded again, that is what was counted when they were made.
        """
        if not active_run.trials.makes_attempts:
            with suppress(OSError, ValueError):
                return read_figures(active_run.store.root).get("all_trials")
            return None
        config = active_run.config
        try:
            entries = active_run.plan.entries(is_limited=False)
            # Rounds that nobody needed are not lacking.
            count = sum(map(active_run.choice.is_wanted, entries))
        except UsageError:  # the rows were changed meanwhile
            return None
        return count + count // len(config.variants) * config.variants_left_out

    def _tell_plugins(self, active_run: ActiveRun, summary: RunSummary) -> None:
        """Hand the summary to plug-ins: one that breaks takes neither the gate nor the reports along."""
        hook = self.session.config.hook.pytest_browsereval_run_summary
        try:
            with safe_output():
                hook(summary=summary, run_folder=active_run.store.root)
        except OUTCOMES as outcome:
            if getattr(outcome, "returncode", None):  # someone's own verdict on the run, and no green one
                raise
            self.broken[active_run] = redact_known(describe_outcome(hook.name, outcome))
        except Exception as error:  # noqa: BLE001 the run is over and recorded
            self.broken[active_run] = redact_known(f"{hook.name} raised {describe_error(error)}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Make a run that has lost items red: exit code 3 where pytest would say 0 or 1.

        (A value that cannot be sent kills an xdist worker, and the run would end with 0.)
        """
        if self.has_looped:
            self.summarise()
        if any(names for why, names in self.unmade.items() if why != "decided") and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED  # what was asked for is not known
        has_failed = session.shouldfail or session.shouldstop or int(session.exitstatus) not in (0, 1, 3)
        if not self.has_looped or self.stopped_by_workers or has_failed:
            return
        self.missing = [node_id for node_id in self.expected if node_id not in self.finished]
        if self.missing or self.broken:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def pytest_unconfigure(self) -> None:
        """Let others resume the runs."""
        for active_run in self.session.runs.values():
            active_run.let_go()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Tell of run folders that cannot be summed up, and of hooks that broke when they were to."""
        for active_run, problem in self.broken.items():
            terminalreporter.section(f"eval {active_run.config.name}", red=True)
            terminalreporter.line(problem, red=True)
