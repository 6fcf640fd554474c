"""Asks a judge for a name of each group: advice for whoever reads it, and never a verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from pytest_browsereval.config import load_config
from pytest_browsereval.errors import TerminationReason, UsageError
from pytest_browsereval.features.causes.groups import Causes, Group, Member, Names
from pytest_browsereval.features.causes.report import describe_member, name_member
from pytest_browsereval.features.judge import Given, Judge
from pytest_browsereval.features.judge_replies import JudgeReply
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.llm.client import check_key, close_clients
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.new_trials import NewTrials
from pytest_browsereval.run.store import RunStore

MOST_MEMBERS = 8
"""Attempts of a group that the judge is shown."""

LONGEST = 100
"""Characters of a name."""

RULES = """\
A program has put failed attempts of a browser agent into a group by simple rules. Say in at most ten words \
what they have in common that somebody who mends the agent would want to know: what it did, and where. \
Say only what the lines show. If they show no more than the group's label says, repeat the label."""


class GroupName(JudgeReply):
    """What a judge says of a group."""

    reasoning: str = Field(description="What the attempts have in common, in one or two sentences")
    name: str = Field(description="The name of the group, at most ten words")


def name_groups(registry: Registry, found: Causes, run: Path, config: Path, sets: Sequence[str]) -> Names:
    """Return a name of each group of two attempts or more; no text of a protected row is sent.

    Args:
        registry: has the members that the config names.
        found: the groups.
        run: the folder of the run in which replies are kept: the same question is paid for once.
        config: the file whose ``judge`` is asked.
        sets: keys of the judge that are overridden.

    Raises:
        ConfigError: the config cannot be read, or the key of its judge is missing.
        UsageError: it has no judge.
        StopRun: the provider refused the key.
    """
    loaded = load_config(config, registry=registry, overrides=[f"judge.{one}" for one in sets])
    if loaded.judge is None:
        raise UsageError(f"{config} has no judge that could name groups. Write one: judge: {{model: ...}}")
    active_run = ActiveRun(config=loaded, registry=registry, store=RunStore(run), source=NewTrials)
    check_key(loaded.judge)
    task = Task(query_id="causes", query="Name groups of attempts.")
    recorded = Recorded(task, None, TerminationReason.UNKNOWN, None, run, redact=active_run.redact)
    judge = Judge(loaded.judge, recorded)
    groups = [one for one in found.groups if len(one.members) > 1]
    said = asyncio.run(_ask_all(judge, groups))
    names = {
        (group.verdict, group.label): one_line(active_run.redact(text), LONGEST)
        for group, text in zip(groups, said, strict=True)
    }
    usage = judge.ledger.usage
    return Names(names, judge.name, usage.requests, usage.cost_usd if usage.requests else 0.0)


async def _ask_all(judge: Judge, groups: Iterable[Group]) -> list[str]:
    try:
        async with asyncio.timeout(judge.config.timeout_s):
            replies = await judge.gather(*(_ask(judge, group) for group in groups))
    finally:
        await close_clients()
    return [one.name if isinstance(one, GroupName) else f"not named: {one}" for one in replies]


def _ask(judge: Judge, group: Group) -> Coroutine[Any, Any, GroupName]:
    parts = [Given("group", f"{group.verdict}: {group.label}, {len(group.members)} attempts")]
    shown = [one for one in group.members if not one.is_protected][:MOST_MEMBERS]
    parts += [Given(f"attempt {number}", _describe(one)) for number, one in enumerate(shown, 1)]
    return judge.ask(GroupName, RULES, parts, call="name")


def _describe(one: Member) -> str:
    return f"{name_member(one)}: {describe_member(one)}\n{one.cause.detail}"
