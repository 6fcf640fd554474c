"""Checks before money is spent: keys, sites, browser, tools, graders, rows."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from pytest_browsereval import errors
from pytest_browsereval.addresses import find_certificates
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.doctor.golden import try_golden
from pytest_browsereval.features.doctor.lint.base import Finding, Level, Row
from pytest_browsereval.features.doctor.lint.linting import TIMEOUT_S, ask_url, lint
from pytest_browsereval.features.doctor.lint.loading import load
from pytest_browsereval.features.doctor.validation import Validated, learn_volatile, validate
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.llm.api import open_api
from pytest_browsereval.llm.client import ChatClient, check_key
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.llm.retries import KEY_STATUSES
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import ask_needs
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.manifest import file_hash
from pytest_browsereval.run.new_trials import NewTrials
from pytest_browsereval.run.session import start_browser
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.sites import Sites, check

T = TypeVar("T")

# For a browser, a site or a judge. A cold model on the same machine takes a minute.
ANSWER_S = 120.0

# The lowest status of a broken server; with a lower one it answers, as any request without a key shows.
SERVER_ERROR = 500

ANY_TASK = Task(query_id="any", query="any")

QUESTION = "Reply with the one word: ready"


class State(StrEnum):
    """Result of a check; an error makes the exit code 1."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    state: State
    area: str
    subject: str
    message: str = ""


@dataclass(frozen=True)
class Options:
    """What to try besides what costs nothing."""

    today: date
    runs: tuple[StoredRun, ...] = ()
    online: bool = False
    ask_judge: bool = False
    validate: bool = False
    learn_volatile: bool = False
    sets: tuple[str, ...] = ()
    """Overrides that the config was loaded with."""


@dataclass
class Examination:
    """All checks and findings."""

    checks: list[Check] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    validated: Validated | None = None

    @property
    def has_errors(self) -> bool:
        """True if a run would fail."""
        bad = any(one.state is State.ERROR for one in self.checks)
        return bad or any(found.level is Level.ERROR for found in self.findings)


def examine(config: EvalConfig, registry: Registry, options: Options) -> Examination:
    """Try all that a run needs, and check its rows.

    Args:
        config: what is to be run.
        registry: where rows look their graders up.
        options: what else to look at.

    Raises:
        ConfigError: the config cannot be used at all.
    """
    found = Examination()
    store = RunStore.locate(config.output_dir, config.name, "doctor")  # never written
    active_run = ActiveRun(config=config, registry=registry, store=store, source=NewTrials)
    loaded = load(config, registry)
    graders, models = _list_graders(config, loaded.rows)
    for name, agent in config.variants.items():
        found.checks.append(_try("agent", name, agent.type, agent.preflight, config.base_dir))
    if config.judge is not None:
        found.checks.append(_try("judge", _name(config.judge), "has a key", check_key, config.judge))
    found.checks += _tools(active_run, found.checks)
    found.checks += _rows(config, loaded.rows)
    tried = (_try("grader", one.label, "", one.preflight, config.base_dir) for one in graders)
    found.checks += (check for check in tried if check.state is State.ERROR)
    for kind in dict.fromkeys(type(one) for one in graders):
        found.checks += asyncio.run(_goldens(registry, kind))
    with tempfile.TemporaryDirectory(prefix="browsereval-doctor-") as name:
        found.checks += asyncio.run(_live(config, models, options, Path(name)))
        runs = options.runs
        if options.validate:
            done = validate(config, loaded.rows, Path(name), sets=options.sets, ask_judge=options.ask_judge)
            found.validated, runs = done, (*runs, *map(StoredRun, done.runs))
            loaded.findings += done.findings
        if options.learn_volatile:
            loaded.findings += learn_volatile(config, loaded.rows, Path(name), sets=options.sets)
        found.findings = asyncio.run(
            lint(config, registry, today=options.today, runs=runs, online=options.online, loaded=loaded)
        )
    found.checks = [Check(c.state, c.area, c.subject, active_run.redact(c.message)) for c in found.checks]
    return found


# -- without a browser


def _try(area: str, subject: str, message: str, check: Callable[[T], object], value: T) -> Check:
    """Return the result of a check that raises an error of the config."""
    try:
        check(value)
    except ConfigError as error:
        return Check(State.ERROR, area, subject, str(error))
    return Check(State.OK, area, subject, message)


def _name(judge: JudgeConfig) -> str:
    return judge.model or judge.provider


def _tools(active_run: ActiveRun, before: Sequence[Check]) -> Iterator[Check]:
    try:
        notes = active_run.trials.prepare()
    except (errors.UsageError, errors.Fault) as error:
        if not any(one.state is State.ERROR and one.message in str(error) for one in before):
            yield Check(State.ERROR, "setup", active_run.config.name, str(error))
    else:
        yield Check(State.OK, "tools", "", f"{len(active_run.toolsets.tools)} enabled")
        yield from (Check(State.WARNING, "setup", "", note) for note in notes)


def _rows(config: EvalConfig, rows: Sequence[Row]) -> Iterator[Check]:
    for dataset in config.dataset:
        count = sum(row.dataset is dataset for row in rows)
        try:
            path = dataset.file(config.base_dir)
        except errors.DatasetError as error:
            yield Check(State.ERROR, "rows", dataset.type, str(error))
            continue
        message = f"{count} of type {dataset.type}, sha256 {(file_hash(path)['sha256'] or 'unknown')[:16]}"
        yield Check(State.OK if count else State.ERROR, "rows", format_path(path), message)


def _list_graders(
    config: EvalConfig, rows: Sequence[Row]
) -> tuple[Collection[GraderConfig], Sequence[JudgeConfig]]:
    """Return the graders of the config and of rows, and the models that they ask."""
    used = [(grader, row.task) for row in rows for grader in row.graders]
    # A grader whose rows cannot be judged is asked what it needs for any row.
    judging = [grader for grader, _ in used]
    used += [(grader, ANY_TASK) for grader in config.graders if grader not in judging]
    models: list[JudgeConfig] = []
    for grader, task in used:
        with suppress(errors.PluginError, ValueError):  # the rows report what is wrong
            asked = [need.choose_model(config.judge) for need in ask_needs(grader, task).models]
            models += (judge for judge in asked if judge not in models)
    return {grader.model_dump_json(): grader for grader, _ in used}.values(), models


# -- with all that a run starts


async def _live(
    config: EvalConfig, judges: Sequence[JudgeConfig], options: Options, folder: Path
) -> list[Check]:
    checks = [one async for one in _models_there(config, judges, is_online=options.online)]
    asked = judges if options.ask_judge else ()
    checks += [await _try_live("judge", _name(judge), "no answer", _ask(judge)) for judge in asked]
    checks += [one async for one in _sites(config, folder)]
    return [*checks, await _try_live("browser", config.browser.type, "no window", _open_window(config))]


async def _goldens(registry: Registry, kind: type[GraderConfig]) -> list[Check]:
    """Return whether a kind of grader still tells right from wrong on its own examples."""
    tried = [one async for one in try_golden(kind, registry)]
    wrong = [
        f"{one.golden.name!r} has to be {one.golden.verdict}; it is {one.outcome}"
        for one in tried
        if not one.is_right
    ]
    if wrong:
        return [Check(State.ERROR, "grader", kind.type_name(), message) for message in wrong]
    state, found = (State.OK, f"right on {len(tried)}") if tried else (State.SKIPPED, "no")
    return [Check(state, "grader", kind.type_name(), f"{found} known attempts")]


async def _models_there(
    config: EvalConfig, judges: Sequence[JudgeConfig], *, is_online: bool
) -> AsyncIterator[Check]:
    """Yield whether the server of each model answers; servers elsewhere are asked only with ``--online``."""
    own = (model for agent in config.variants.values() for model in models_in(agent))
    servers = {(model.url, model.model_name): model for model in (*own, *judges)}
    for (url, name), model in servers.items():
        if not (model.is_local or is_online):
            yield Check(State.SKIPPED, "model", name, f"{url} was not tried; --online tries it")
            continue
        status = await ask_server(model)
        if isinstance(status, str):
            message = f"{url} does not answer: {status}. Start it, or correct the base_url."
            yield Check(State.ERROR, "model", name, message)
        else:
            is_bad = status >= SERVER_ERROR or status in KEY_STATUSES
            state = State.WARNING if is_bad else State.OK
            yield Check(state, "model", name, f"{url} answers with the status {status}")


async def _try_live(area: str, subject: str, late: str, work: Awaitable[str]) -> Check:
    """Return the result of something that is started, with its message."""
    try:
        async with asyncio.timeout(ANSWER_S):
            return Check(State.OK, area, subject, await work)
    except (errors.BrowserEvalError, TimeoutError) as error:
        return Check(State.ERROR, area, subject, str(error) or f"{late} in {ANSWER_S:g} s")


async def _ask(judge: JudgeConfig) -> str:
    client = ChatClient(judge)
    try:
        reply = await client.complete([{"role": "user", "content": QUESTION}])
    finally:
        await client.close()
    return f"answers in {(reply.duration_ms or 0) / 1000:.1f} s"


async def _sites(config: EvalConfig, folder: Path) -> AsyncIterator[Check]:
    """Yield whether each site starts, and is reset where it can be."""
    try:
        check(config.sites, config.base_dir)
    except ConfigError:
        return  # `_tools` reports it as the setup
    sites = Sites(config.sites, config.base_dir, folder / "sites")
    try:
        for name in config.sites:
            yield await _try_live("site", name, "not up", _start_site(sites, name))
    finally:
        await sites.close()


async def _start_site(sites: Sites, name: str) -> str:
    async with sites.lease([name]) as urls:
        return f"answers at {urls[name]}"


async def _open_window(config: EvalConfig) -> str:
    browser = await start_browser(config.browser.prepare(config.base_dir))
    windows = WindowManager(browser, block=config.browser)
    try:
        await windows.create_window("doctor")
        return browser.description
    finally:
        await windows.close_all()
        await browser.close()


def models_in(member: BaseModel) -> Iterator[LLMConfig]:
    """Yield the models that a block of the config names, at any depth."""
    if isinstance(member, LLMConfig):
        yield member
    for name in type(member).model_fields:
        if isinstance(value := getattr(member, name), BaseModel):
            yield from models_in(value)


async def ask_server(config: LLMConfig) -> int | str:
    """Return the status that the server answers, any of which says that it is there; else why it does not."""
    import httpx

    try:
        key = config.resolve_key()
    except ConfigError:  # reported with the agent
        key = None
    # A proxy of the environment cannot reach this machine's own ports.
    async with httpx.AsyncClient(
        verify=find_certificates(config.url), timeout=TIMEOUT_S, trust_env=not config.is_local
    ) as client:
        return await ask_url(client, f"{config.url}/models", headers=open_api(config).headers(key))
