"""Plays known ways by the agent ``scripted``: on fresh state, without a model, as no attempt of the run."""

from __future__ import annotations

import asyncio
import copy
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_browsereval.agents.scripted import ScriptedConfig, check_steps
from pytest_browsereval.config.model import BudgetConfig
from pytest_browsereval.errors import ErrorSource, Fault, TerminationReason
from pytest_browsereval.features.probe.ways import NotTriedError, Way
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.needs import ask_needs
from pytest_browsereval.run.attempt import attempt
from pytest_browsereval.run.behaviour import ToolCallHook
from pytest_browsereval.run.budget import Budget
from pytest_browsereval.run.cassettes import Cassettes, CassetteSource
from pytest_browsereval.run.outages import Outages
from pytest_browsereval.run.relations import list_own_sites
from pytest_browsereval.run.session import Session
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.sites import RESTART

FOLDER = "probe"
"""In the folder of the attempt: the record of the ways, as a run of its own."""

OF_SITE = (ErrorSource.SITE, ErrorSource.NAVIGATION)

_LONGEST = 300
_FAILED = re.compile(r"step \d+ of the solution failed: \w+: (.*)", re.DOTALL)
_NAME = re.compile(r"""(?:name|text|label|placeholder)=(?:"([^"]+)"|'([^']+)'|([^\]"'>]+))""")


@dataclass(frozen=True)
class Played:
    """What ways came to, played one after another."""

    row: str
    """The row whose way broke, or the last one."""
    step: int | None = None
    """Which step broke; 0 is the start page, None the grades at the end."""
    text: str = ""
    target: str = ""
    has_passed: bool = False
    is_unclear: bool = False
    """Whether something else broke than the site."""


class Player:
    """Plays ways in the place of an attempt.

    Args:
        session: of the attempt.
        variant: of the attempt, whose name the record has.
        folder: of the record; it must not exist.
        node_id: of the attempt's item.
    """

    def __init__(self, session: Session, variant: str, folder: Path, node_id: str) -> None:
        self._node_id, run = node_id, copy.copy(session.run)
        har = bool(run.config.capture.har)  # what goes out is neither recorded nor replayed
        capture = run.config.capture.model_copy(update={"har": har})
        changed = {"variants": {variant: ScriptedConfig()}, "capture": capture}
        run.config = run.config.model_copy(update=changed)
        run.store = RunStore(folder, worker=run.store.worker)
        run.budget = Budget(BudgetConfig(), run.store, run.began)
        run.outages = Outages(run.store, run.began, run.redact, keeps_going=True)
        run.model_calls = CassetteSource()
        self._refusal, self._pause_s = "", 0.0
        off: dict[str, Any] = dict.fromkeys(("message", "create_agent", "record_window", "follow", "review"))
        ask = partial(self._ask, run.behaviour.tool_call)
        run.behaviour = replace(run.behaviour, **off, tool_call=ask)
        run.toolsets = run.make_toolsets(run.survey)
        self._session = copy.copy(session)
        self._session.run, self._session.cassettes = run, Cassettes(run.config)

    async def _ask(self, ask: ToolCallHook | None, *call: Any) -> object:
        """Pause, and ask plug-ins and guards before a call: what they refuse is not the site's fault."""
        await asyncio.sleep(self._pause_s)
        reason = ask(*call) if ask else None
        reason = await reason if inspect.isawaitable(reason) else reason
        self._refusal = str(reason or self._refusal)
        return reason

    def check(self, ways: Sequence[Way]) -> None:
        """Check that ways can be played, and make the folder.

        Raises:
            NotTriedError: a row has none, or a tool of one is switched off.
        """
        run = self._session.run
        for way in ways:
            if not way.steps:
                raise NotTriedError(f"the row {way.trial.key.query_id!r}, which it depends on, has none")
            sites = way.trial.sites | list_own_sites(way.trial.task, run.config.sites)
            tools = {tool.name: tool for tool in run.toolsets.tools_for(way.trial.key.variant, sites)}
            for _, message in check_steps(way.steps, tools, "it"):
                raise NotTriedError(message)
        try:
            run.store.root.mkdir()
        except FileExistsError:  # a program of the agent has made it
            raise NotTriedError(f"the attempt's folder has a {FOLDER}/ already") from None

    async def play(self, ways: Sequence[Way], *, is_slow: bool = False) -> Played:
        """Play ways from the first start page to the last grades.

        A site that a restart brings back is started for them, and keeps what they leave behind.

        Args:
            ways: what is played, in its order.
            is_slow: pause before each step as the agent did that found it, for half of its time at most.
        """
        config, last = self._session.run.config, ways[-1].trial
        used = {name for way in ways for name in list_own_sites(way.trial.task, config.sites)}
        restarted = {name for name in used - last.site_urls.keys() if config.sites[name].reset == RESTART}
        played = Played(last.key.query_id)
        try:
            async with self._session.sites.lease(restarted) as urls:
                for way in ways:
                    longest = config.limits.timeout_ms / 2000 / len(way.steps)
                    self._pause_s = min(way.pause_s, longest) if is_slow else 0.0
                    played = await self._play_one(way, {**last.site_urls, **urls})
                    if not played.has_passed:
                        break
        except Fault as fault:  # it does not start, or has ended
            is_unclear = fault.source not in OF_SITE
            return Played(last.key.query_id, 0, _shorten(str(fault)), is_unclear=is_unclear)
        return played

    async def _play_one(self, way: Way, urls: dict[str, str]) -> Played:
        asked = tuple(one for one in way.trial.graders if not ask_needs(one, way.trial.task).models)
        task = way.trial.task.model_copy(update={"solution": way.steps})
        trial = replace(
            way.trial,
            task=task,
            graders=asked,
            agent=ScriptedConfig(),
            site_urls=urls,
            is_output_passed_on=False,
        )
        record = await attempt(trial, self._session, self._node_id)
        played = self._read(way, record.metadata, asked)
        # Of a protected row, steps and grades may have the answer.
        return replace(played, text="", target="") if task.protected else played

    def _read(self, way: Way, data: TaskMetadata, asked: Sequence[GraderConfig]) -> Played:
        """Return what a way came to, by the record of it."""
        row, step = way.trial.key.query_id, data.total_steps
        failed = [one[1] for each in data.errors if (one := _FAILED.fullmatch(each.message))]
        if data.limit and data.termination_reason is not TerminationReason.TIMEOUT:
            return Played(row, text=data.limit, is_unclear=True)
        if data.limit or failed or data.error_source in OF_SITE:
            text = data.limit or next(iter(failed), data.reason)
            if data.broken_page and (data.limit or failed):
                text = f"the page is broken: {data.broken_page}"
            return Played(row, step, _shorten(text), name_target(way, step), is_unclear=bool(self._refusal))
        has_judge = any(not one.advisory for one in asked)
        if data.verdict is Verdict.PASSED or (not has_judge and not data.errors):
            return Played(row, has_passed=True)
        rule = self._session.run.config.pass_when
        is_whole = len(asked) == len(way.trial.graders) or rule == "all"
        return Played(
            row, text=_shorten(data.reason), is_unclear=data.verdict is Verdict.ERRORED or not is_whole
        )


def name_target(way: Way, step: int) -> str:
    """Return what a step acts on, as a reader calls it: the name of an element, else its selector."""
    if not 0 < step <= len(way.steps):
        return ""
    given = way.steps[step - 1]
    others = (one for key, one in given.items() if key != "tool")
    texts = (one for one in (*map(given.get, ("target", "source", "url")), *others) if isinstance(one, str))
    target = next(texts, str(given.get("tool")))
    found = [one for match in _NAME.findall(target) for one in match if one]
    return one_line(found[-1].strip() if found else target, 60)


def _shorten(text: str) -> str:
    """Return the first line, without advice for an agent."""
    first = text.strip().partition("\n")[0].removesuffix(".").removesuffix(". Call snapshot to see the page")
    return one_line(first[:1].lower() + first[1:], _LONGEST)
