"""Rounds in a session: their order, what starts a further one, what is said of trials that are not needed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.features.rounds.rules import (
    describe_comparison,
    describe_made,
    describe_rounds,
    estimate_savings,
    find_summary_standing,
    read_rounds,
)
from pytest_browsereval.features.rounds.state import RoundState
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.items import EvalItem, Unmade
from pytest_browsereval.hooks.names import runs_nothing
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.selection import note_selected, read_selected
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.stats.statistics import CONFIDENCE

NONE_MADE = "no trial of the row was made"
"""Begins the reason why a trial is not made whose row was skipped in the first round; that saves nothing."""

_TRIAL = re.compile(r"([0-9]+)\]$")


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
        self._made: dict[tuple[ActiveRun, TrialKey], bool] = {}

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
        if not isinstance(item, EvalItem) or (state := find_state(item.active_run)) is None:
            return
        if not runs_nothing(self._config):
            if hasattr(self._config, "workerinput"):  # the controller decides when all workers are through
                if not self._share.holds(item):
                    item.unmade = "stopped"
                    pytest.skip("stopped: the session ends, and the previous round is not decided")
                state.wait(item.entry, self._check_stop)
            if state.stop is not None and not state.is_wanted(item.entry):
                item.unmade = state.stop.unmade
                pytest.skip(state.stop.why if self._is_made(item) else f"{NONE_MADE}; {state.stop.why}")

    def _is_made(self, item: EvalItem) -> bool:
        """Return whether the row has a trial of the first round: a fixture or a mark may have skipped it."""
        place = item.active_run, replace(item.entry.key, trial=1)
        if place not in self._made:
            self._made[place] = place[0].store.verdict(place[1]) is not None
        return self._made[place]

    def _check_stop(self) -> None:
        if self._share.is_stopped():
            raise KeyboardInterrupt

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Count them as what they are: they have not passed, and nobody has skipped them."""
        is_one = report.outcome == "skipped" and getattr(report, "browsereval_unmade", None) == "decided"
        is_needless = is_one and NONE_MADE not in str(report.longrepr)
        return ("not needed", "-", "NOT NEEDED") if is_needless else None


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
        """Refuse what nothing can be decided by.

        Raises:
            ConfigError: nothing is there to be decided.
            UsageError: an option contradicts rounds.
        """
        config, rounds = active_run.config, active_run.config.trials
        self._check_resumed(active_run)
        if not isinstance(rounds, RoundsConfig) or not active_run.trials.makes_attempts:
            return
        gate, wrong = config.gate, config.wrong
        for name in rounds.compare or ():
            if name not in config.variants:
                named = ", ".join(config.variants)
                raise wrong(("trials", "compare"), f"{name!r} is not a variant here. Variants: {named}.")
        shares = [gate.min_pass_rate, *gate.tags.values(), *gate.websites.values(), *gate.variants.values()]
        if rounds.compare is None and not any(share and share < 1 for share in shares):
            message = (
                "rounds end when the gate is decided, but it has no rule that more trials decide. Write "
                "`gate: {min_pass_rate: 0.8}` or another pass rate between 0 and 1; or name two variants to "
                "compare, `compare: [a, b]`; or write a number."
            )
            raise wrong(("trials",), message)

    def _check_resumed(self, active_run: ActiveRun) -> None:
        """Refuse a resume with other rounds: who asks for more until he likes it has proved nothing."""
        rounds, before = active_run.config.trials, active_run.store.run.read_manifest()
        is_resumed = active_run.trials.has_earlier and before and active_run.trials.makes_attempts
        begun = read_rounds(before) if is_resumed else None
        if is_resumed and begun != (rounds if isinstance(rounds, RoundsConfig) else None):
            given = before.get("config", {}).get("trials")
            raise active_run.config.wrong(
                ("trials",), f"the run {active_run.store.root.name} was begun with {given}. Write that again."
            )

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
            while state.stop is None:
                if not all(names <= self._over for n, names in rounds.items() if n <= state.admitted):
                    return
                self._decide(active_run, state)

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
            if state and state.stop is None and active_run.store.root.is_dir():
                state.end_round("stopped", "stopped: the session has ended", {})

    def _list_rounds(self, active_run: ActiveRun) -> dict[int, set[str]]:
        if active_run not in self._ids:
            ids = self._ids[active_run] = defaultdict[int, set[str]](set)
            for name, owner in self._controller.rows.items():
                if owner is active_run:
                    ids[_trial_of(name)].add(name)
        return self._ids[active_run]

    def _decide(self, active_run: ActiveRun, state: RoundState) -> None:
        """Admit a further round, or say why there is none."""
        made = {
            one for number, ids in self._ids[active_run].items() for one in ids if number <= state.admitted
        }
        for kind, why in _CUT_OFF.items():
            if not made.isdisjoint(self._controller.unmade[kind]):
                state.end_round(kind, f"{kind}: {why}, so no further round is made", {})
                return
        summary = StoredRun(active_run.store.root).summary
        standing = find_summary_standing(summary, state.rounds, active_run.config.gate)
        decisions = {rule.name: str(decision.answer) for rule, decision in standing.floors}
        if standing.is_decided:
            made_by = describe_made(state.admitted, state.rounds)
            state.end_round("decided", f"not needed: decided {made_by}", decisions)
            return
        if state.admitted >= state.rounds.max:
            state.end_round("last", "the last round was made, but nothing is decided", decisions)
            return
        further = self._ids[active_run].get(state.admitted + 1, set())
        # First: if the session is killed now, the run lacks these.
        keys = self._controller.keys_of(active_run, further)
        note_selected(active_run.store, sorted(keys, key=lambda key: (key.query_id, key.variant)))
        state.end_round(None, "", decisions)

    def _find_rounds(self, active_run: ActiveRun) -> RoundsConfig | None:
        """Return how many rounds the run was to have; None if it is not made in rounds."""
        if not active_run.trials.makes_attempts:  # its trials were made so
            return read_rounds(active_run.store.run.read_manifest())
        rounds = active_run.config.trials
        return rounds if isinstance(rounds, RoundsConfig) else None

    # -- at the end

    @pytest.hookimpl(trylast=True)
    def pytest_browsereval_count_selected(self, active_run: ActiveRun) -> int | None:
        """Return how many trials the run is to have, without those of rounds that nobody needed."""
        if find_state(active_run) is None:
            return None
        return len(read_selected(active_run.store.run) or ())

    def pytest_browsereval_sum_up(self, run: StoredRun) -> Mapping[str, Any]:
        """Return how many rounds were made, what they have decided, and what was saved."""
        return self._sum_up(run)[0]

    def pytest_browsereval_describe_run(self, run: StoredRun) -> Sequence[str]:
        """Return the lines that say it."""
        return self._sum_up(run)[1]

    def _sum_up(self, run: StoredRun) -> tuple[dict[str, Any], list[str]]:
        active_run = next(
            one for one in self._controller.rows.values() if one.store.root.absolute() == run.folder
        )
        rounds, summary = self._find_rounds(active_run), run.summary
        if rounds is None or not summary.trials:
            return {}, []
        standing = find_summary_standing(summary, rounds, active_run.config.gate)
        spared, cost_usd = estimate_savings(summary, rounds)
        line = describe_rounds(standing, rounds, spared, cost_usd)
        lines = [f"rounds: {line}"]
        content: dict[str, Any] = {
            "line": line,
            "made": standing.rounds,
            "most": rounds.max,
            "is_decided": standing.is_decided,
            "rules": {rule.name: str(decision.answer) for rule, decision in standing.floors},
        }
        if standing.is_decided:
            content |= {"not_needed": spared, "saved_usd": cost_usd}
        if standing.compared is not None and rounds.compare is not None:
            content |= {"compared": [*rounds.compare], "first_is": str(standing.compared.answer)}
            confidence = active_run.config.gate.confidence or CONFIDENCE
            lines.append(describe_comparison(summary, standing.compared, rounds, rounds.compare, confidence))
        # A reader of the controller's count of them has rows in it that are skipped in each round.
        return {
            "rounds": content,
            **({"not_needed": spared} if standing.is_decided and spared else {}),
        }, lines


_CUT_OFF: Mapping[Unmade, str] = {
    "budget": "it is used up before a round was over",
    "dashboard": "a trial of a round was cancelled there",
    "stopped": "the run was stopped in a round",
}
"""Why a round is not complete, so that nothing can be decided by it."""


def _trial_of(node_id: str) -> int:
    found = _TRIAL.search(node_id.partition("::")[2])
    return int(found[1]) if found else 1
