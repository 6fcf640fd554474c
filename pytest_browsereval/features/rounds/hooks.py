"""Rounds in a session: their order, what starts a further one, what is said of trials that are not needed."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import pytest

from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.features.rounds.decision import Standing, find_standing, read_rounds
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.items import EvalItem, Unmade
from pytest_browsereval.hooks.names import runs_nothing
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.model.messages import now
from pytest_browsereval.run.active import ActiveRun, TrialChoice
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.run.selection import note_selected, read_selected
from pytest_browsereval.runs.run import StoredRun

LOOK_S = 0.1
"""How often a process looks that waits for the others to end a round."""
JOURNAL = "rounds.jsonl"
"""In the run folder: what was decided after each round, which all processes read and one writes."""

_TRIAL = re.compile(r"([0-9]+)\]$")
_CUT_OFF: Mapping[Unmade, str] = {
    "budget": "it was used up before the round was over",
    "dashboard": "a trial of a round was cancelled there",
    "stopped": "the run was stopped in a round",
}
"""Why a round is not complete, so that nothing can be decided by it."""


class RoundState(TrialChoice):
    """Which rounds of a run may be made, as far as a process knows.

    Args:
        run: whose trials are made in rounds; an earlier session may have made some.
        limits: how many there are to be.
    """

    def __init__(self, run: ActiveRun, limits: RoundsConfig) -> None:
        self.limits = limits
        self._run_store = run.store
        self._session = run.began
        self.admitted = limits.min
        """Up to which number trials are made."""
        self.unmade: Unmade | None = None
        """Why trials of further rounds are not made."""
        self.why = ""
        """... in words."""
        self.update()

    def is_wanted(self, entry: Entry) -> bool:
        """Whether a trial is in a round that is made."""
        return entry.trial <= self.admitted

    def is_undecided(self, entry: Entry) -> bool:
        """Whether it is not known yet whether a trial is made."""
        return not self.is_wanted(entry) and self.unmade is None

    def update(self) -> None:
        """Learn what the process has written that decides; what ended an earlier session is over."""
        for session, after, end, why in self._run_store.run.read_lines(JOURNAL, _read_line):
            if not end:
                self.admitted = max(self.admitted, after + 1)
            elif session == self._session:
                self._end(end, why)

    def end_round(self, end: str, why: str, decisions: dict[str, str]) -> None:
        """Write down what comes after the rounds that were admitted; only one process may.

        Args:
            end: what keeps further ones from being made, one of ``Unmade`` or *last*; empty if there is one.
            why: ... in words.
            decisions: what the test says by then, by the names of rules.

        Raises:
            OSError: it cannot be written.
        """
        line = {"at": now(), "session": self._session, "after": self.admitted, "end": end, "why": why}
        self._run_store.append(JOURNAL, {**line, "decisions": decisions})
        if end:
            self._end(end, why)
        else:
            self.admitted += 1

    def _end(self, end: str, why: str) -> None:
        kinds: dict[str, Unmade] = {kind: kind for kind in get_args(Unmade)}
        self.unmade, self.why = kinds.get(end, "stopped"), why

    def wait(self, entry: Entry, look: Callable[[], None]) -> None:
        """Wait until it is known whether a trial is needed.

        Args:
            entry: the trial.
            look: called meanwhile; may raise to stop waiting.
        """
        self.update()
        while self.is_undecided(entry):
            look()
            time.sleep(LOOK_S)
            self.update()


def _read_line(line: Any) -> tuple[float, int, str, str]:
    return float(line["session"]), int(line["after"]), str(line["end"]), one_line(str(line["why"]))


def find_state(active_run: ActiveRun) -> RoundState | None:
    """Return the state of a run; None if its trials are not made in rounds here."""
    return active_run.choice if isinstance(active_run.choice, RoundState) else None


class RoundOrder:
    """Has items of a round come after those of the one before, and waits where that is not over.

    Args:
        session: the eval session of this process.
    """

    def __init__(self, session: EvalSession) -> None:
        self._config = session.config
        self._share = session.prefetch.share

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Sort the items of each run by their rounds, in the places that they have together."""
        places: defaultdict[ActiveRun, list[int]] = defaultdict(list)
        for place, item in enumerate(session.items):
            if isinstance(item, EvalItem) and isinstance(item.active_run.config.trials, RoundsConfig):
                places[item.active_run].append(place)
        for own in places.values():
            items: list[Any] = sorted(
                (session.items[place] for place in own), key=lambda item: item.entry.trial
            )
            for place, item in zip(own, items, strict=True):
                session.items[place] = item

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip a trial that is not needed, before its fixtures are set up."""
        state = find_state(item.active_run) if isinstance(item, EvalItem) else None
        if not isinstance(item, EvalItem) or state is None or runs_nothing(self._config):
            return
        if hasattr(self._config, "workerinput"):  # the controller decides when all workers are through
            if not self._share.holds(item):
                item.unmade = "stopped"
                pytest.skip("stopped: the session ends, and the previous round is not decided")
            state.wait(item.entry, self._check_stop)
        if state.unmade is not None and not state.is_wanted(item.entry):
            item.unmade = state.unmade
            pytest.skip(state.why)

    def _check_stop(self) -> None:
        if self._share.is_stopped():
            raise KeyboardInterrupt

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Count them as what they are: they have not passed, and nobody has skipped them."""
        is_one = report.outcome == "skipped" and getattr(report, "browsereval_unmade", None) == "decided"
        return ("not needed", "-", "NOT NEEDED") if is_one else None


class RoundControl:
    """Decides after each round, in the process that all reports reach.

    Args:
        config: pytest's.
        controller: which knows the items.
    """

    def __init__(self, config: pytest.Config, controller: Controller) -> None:
        self._config = config
        self._controller = controller
        self._ids: dict[ActiveRun, dict[int, set[str]]] = {}
        """The items of each round."""
        self._over: set[str] = set()
        self._is_begun = False

    # -- before anything is spent

    def pytest_browsereval_check_run(self, active_run: ActiveRun) -> None:
        """Refuse what nothing can be decided by, and a resume with other rounds.

        Raises:
            ConfigError: nothing is there to be decided; or the run was begun with other rounds. Who asks for
                more until he likes what they say has proved nothing.
        """
        config, rounds = active_run.config, active_run.config.trials
        if not active_run.trials.makes_attempts:
            return
        before = active_run.store.run.read_manifest()
        is_resumed = active_run.trials.has_earlier and before
        if is_resumed and read_rounds(before) != (rounds if isinstance(rounds, RoundsConfig) else None):
            given = before.get("config", {}).get("trials")
            raise config.wrong(
                ("trials",), f"the run {active_run.store.root.name} was begun with {given}. Use that again."
            )
        gate = config.gate
        shares = [gate.min_pass_rate, *gate.tags.values(), *gate.websites.values(), *gate.variants.values()]
        if isinstance(rounds, RoundsConfig) and not any(share and share < 1 for share in shares):
            message = (
                "rounds end when the gate is decided, but it has no rule that more trials decide. Write "
                "`gate: {min_pass_rate: 0.8}` or another pass rate between 0 and 1; or write a number."
            )
            raise config.wrong(("trials",), message)

    # -- after each round

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Note that items are run: a session that only lists them, or is refused, ends no round."""
        self._is_begun = not runs_nothing(self._config)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Look whether a round is over."""
        active_run = self._controller.rows.get(nodeid)
        if active_run is not None and (state := find_state(active_run)) is not None:
            self._over.add(nodeid)
            rounds = self._list_rounds(active_run)
            while state.unmade is None:
                made = set().union(*(names for number, names in rounds.items() if number <= state.admitted))
                if not made <= self._over:
                    return
                self._decide(active_run, state, made)

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """Do so after a worker has died: what it was at may be over without an end of its own."""
        if crashitem in self._controller.finished:
            self.pytest_runtest_logfinish(crashitem)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Let workers go that wait for a round which will not end."""
        runs = dict.fromkeys(self._controller.rows.values()) if self._is_begun else ()
        for active_run in runs:
            state = find_state(active_run)
            if state and state.unmade is None and active_run.store.root.is_dir():
                state.end_round("stopped", "stopped: the session has ended", {})

    def _list_rounds(self, active_run: ActiveRun) -> dict[int, set[str]]:
        if active_run not in self._ids:
            ids = self._ids[active_run] = defaultdict[int, set[str]](set)
            for name, owner in self._controller.rows.items():
                if owner is active_run:
                    found = _TRIAL.search(name.partition("::")[2])
                    ids[int(found[1]) if found else 1].add(name)
        return self._ids[active_run]

    def _decide(self, active_run: ActiveRun, state: RoundState, made: set[str]) -> None:
        """Admit a further round, or say why there is none."""
        for kind, why in _CUT_OFF.items():
            if not made.isdisjoint(self._controller.unmade[kind]):
                state.end_round(kind, f"{kind}: {why}, so no further round is made", {})
                return
        summary = StoredRun(active_run.store.root).summary
        standing = find_standing(summary, state.limits, active_run.config.gate)
        decisions = {one.rule.name: str(one.answer) for one in standing.floors}
        if standing.is_decided:
            why = f"not needed: decided {standing.describe(state.admitted)}"
            state.end_round("decided", why, decisions)
        elif state.admitted >= state.limits.max:
            state.end_round("last", "the last round was made, but nothing is decided", decisions)
        else:
            further = self._ids[active_run].get(state.admitted + 1, set())
            # First: if the session is killed now, the run lacks these.
            keys = self._controller.keys_of(active_run, further)
            note_selected(active_run.store, sorted(keys, key=lambda key: (key.query_id, key.variant)))
            state.end_round("", "", decisions)

    # -- at the end

    @pytest.hookimpl(trylast=True)
    def pytest_browsereval_count_selected(self, active_run: ActiveRun) -> int | None:
        """Return how many trials the run is to have, without those of rounds that nobody needed."""
        if find_state(active_run) is None:
            return None
        return len(read_selected(active_run.store.run) or ())

    def pytest_browsereval_sum_up(self, run: StoredRun) -> Mapping[str, Any]:
        """Return how many rounds were made, and what they have decided."""
        if (standing := self._find_standing(run)) is None:
            return {}
        content = {
            "made": standing.rounds,
            "most": standing.limits.max,
            "is_decided": standing.is_decided,
            "rules": {one.rule.name: str(one.answer) for one in standing.floors},
        }
        spared = _count_spared(run, standing)
        # A reader of the controller's count of them has rows in it that are skipped in each round.
        return {"rounds": content, **({"not_needed": spared} if standing.is_decided and spared else {})}

    def pytest_browsereval_describe_run(self, run: StoredRun) -> Sequence[str]:
        """Return the line that says it."""
        if (standing := self._find_standing(run)) is None:
            return []
        made = standing.describe(standing.rounds)
        if not standing.is_decided:
            return [f"rounds: undecided {made}"]
        return [f"rounds: decided {made}; {format_count(_count_spared(run, standing), 'trial')} not needed"]

    def _find_standing(self, run: StoredRun) -> Standing | None:
        rounds = read_rounds(run.read_manifest())
        if rounds is None or not run.summary.trials:
            return None
        runs = self._controller.rows.values()
        active_run = next(one for one in runs if one.store.root.absolute() == run.folder)
        return find_standing(run.summary, rounds, active_run.config.gate)


def _count_spared(run: StoredRun, standing: Standing) -> int:
    """Return how many trials of all rounds were not made."""
    rows = {(trial.last.query_id, trial.last.variant) for trial in run.summary.trials}
    return max(len(rows) * standing.limits.max - len(run.summary.trials), 0)
