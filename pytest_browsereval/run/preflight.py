"""Checks before anything is spent: keys, callables, programs, folders of sites, tools, rows."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pytest_browsereval.browsers.base import BrowserConfig, Survey
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.contracts import check_result, describe_member, naming
from pytest_browsereval.errors import ConfigError, DatasetError, PluginError, nearest
from pytest_browsereval.model.display import join_first
from pytest_browsereval.needs import Asker, Needs, Offers, ask_needs, check_fit, find_misfits
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.cassettes import LIVE, name_cassette
from pytest_browsereval.run.plan import Entry, list_ids
from pytest_browsereval.run.toolsets import Toolsets
from pytest_browsereval.sites import check

T = TypeVar("T")


def preflight(run: ActiveRun) -> list[str]:
    """Check what can be checked without a window; a browser that is already running is asked what it can do.

    Returns:
        what a reader of the run should know.

    Raises:
        ConfigError: with what to type next.
    """
    config = run.config
    check(config.sites, config.base_dir)
    if (mode := run.model_calls.mode) != LIVE:
        check_agents(config, Offers(llm=mode))
    browser = prepare_browser(config)
    for name, agent in config.variants.items():
        preflight_member(config, agent, "variants", name)
    for key in ("graders", "toolkits"):
        for number, member in enumerate(getattr(config, key)):
            preflight_member(config, member, key, number)
    check_capture(config, Survey())  # what no browser of its type records, before one is asked
    survey = _run(survey_of(browser))
    check_agents(config, Offers(no_cdp=survey.no_cdp))
    check_capture(config, survey)
    run.take_survey(survey)
    notes = [*survey.notes, *dict.fromkeys(_check_tools(config, run.toolsets))]
    for dataset in config.datasets:
        with naming(dataset, "notes"):
            notes += dataset.notes(config.base_dir)
    notes += check_gate_ids(config)
    return notes


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, also in a thread that runs a loop already, as that of a notebook does."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def prepare_browser(config: EvalConfig) -> BrowserConfig:
    """Return the browser's block, its files found from the config's folder.

    Raises:
        ConfigError: one is missing.
    """
    for name in config.browser.site_names():
        if name not in config.sites:
            raise config.wrong(
                ("browser", "context", "http_credentials"),
                f"the origin names {name!r}, which is not a site of the config.{nearest(name, config.sites)} "
                f"Sites: {', '.join(config.sites) or 'none'}.",
            )
    with naming(config.browser, "prepare"):
        return config.browser.prepare(config.base_dir)


async def survey_of(browser: BrowserConfig) -> Survey:
    """Ask a browser what it can do.

    Raises:
        ConfigError: it cannot be reached or lacks something.
        PluginError: it raises or returns what it must not.
    """
    with naming(browser, "survey"):
        survey = await browser.survey()
    survey = check_result(browser, "survey", survey, Survey, "a Survey")
    if browser.brings_tools and survey.tools is None:
        raise PluginError(
            f"{describe_member(browser)}: `brings_tools` is true, and `survey` returned a Survey without "
            "tools. Fix the plug-in."
        )
    return survey


def check_agents(config: EvalConfig, offers: Offers) -> None:
    """Refuse agents that need what the run does not offer.

    Raises:
        ConfigError: there is one.
    """
    for name, agent in config.variants.items():
        try:
            check_fit(Asker("this agent"), ask_needs(agent), offers)
        except ValueError as error:
            raise config.wrong(("variants", name), error) from None


def check_capture(config: EvalConfig, survey: Survey) -> None:
    """Refuse to record what the browser does not let be recorded.

    Raises:
        ConfigError: it is asked for.
    """
    capture, offers = config.capture, Offers(page=config.browser.has_page, browser=config.browser.type)
    refused = {"har": survey.no_har, "trace": survey.no_trace}
    for name in ("har", "trace", "console", "dom", "checks"):
        if getattr(capture, name) in (False, "off", "end"):
            continue
        asker = Asker(f"capture.{name}", "is on", f"Leave {name} out")
        why = next(find_misfits(asker, Needs(page=True), offers), refused.get(name))
        if why is not None:
            raise config.wrong(("capture", name), why)


def preflight_member(config: EvalConfig, member: Any, *path: str | int) -> None:
    """Have an agent, a grader or a toolkit check what it needs.

    Args:
        config: where it stands.
        member: its block.
        path: of its block in the config.

    Raises:
        ConfigError: something is missing, with file and line.
    """
    try:
        with naming(member, "preflight"):
            member.preflight(config.base_dir)
    except ConfigError as error:
        raise config.wrong(path, error) from None


def _check_tools(config: EvalConfig, toolsets: Toolsets) -> Iterator[str]:
    """Ask each agent whether what it says of tools fits those that there are; yield notes.

    Raises:
        ConfigError: it does not.
    """
    for name, agent in config.variants.items():
        tools = {tool.name: tool for tool in toolsets.by_variant[name]}
        if note := toolsets.not_offered(name):
            yield note
        try:
            with naming(agent, "check_tools", ValueError):
                found = agent.check_tools(tools, toolsets.kits)
        except ValueError as error:
            raise config.wrong(("variants", name), toolsets.with_absent_tools(name, error)) from None
        yield from (f"agent {name}: {note}" for note in found if note)


def check_trials(run: ActiveRun, entries: Iterable[Entry], toolsets: Toolsets | None) -> None:
    """Read and check every row that is to run, and what its graders need.

    Args:
        run: whose trials they are.
        entries: the trials.
        toolsets: the tools that agents may have; None where no agent is asked.

    Raises:
        DatasetError: rows are wrong.
        ConfigError: a grader's program is missing.
        UsageError: what is to be replayed cannot be.
    """
    entries = list(entries)
    run.plan.check(entries, toolsets)
    run.cassettes.check(name_cassette(entry.key) for entry in entries)
    seen: set[str] = set()
    for entry in entries:
        trial, no_har = run.plan.ready(entry), run.survey.no_har if toolsets else None
        for grader in trial.graders:
            if no_har and ask_needs(grader, trial.task).traffic is not None:
                raise DatasetError(f"{entry.where}: the grader {grader.label!r} cannot be used: {no_har}")
            if (block := grader.model_dump_json()) not in seen:
                seen.add(block)
                with naming(grader, "preflight"):
                    grader.preflight(run.config.base_dir)


MOST_LISTED = 5
"""Names that a note lists of each kind."""


def check_gate_ids(config: EvalConfig) -> list[str]:
    """Check that rows which the gate names are in a dataset; return notes on those that are left out.

    All rows count, also those that no command line or shard selects: leaving rows out is no error of it.

    Raises:
        ConfigError: no dataset has a row of that id; with file, line and the nearest id.
        DatasetError: a dataset cannot be read.
    """
    gate = config.gate
    named: dict[str, tuple[str | int, ...]] = {
        query_id: ("gate", "must_pass", place) for place, query_id in enumerate(gate.must_pass)
    }
    named |= {query_id: ("gate", "quarantine", query_id) for query_id in gate.quarantine}
    lacking = named.keys() - list_ids(config, named) if named else set[str]()
    if not lacking:
        return []
    everything = list_ids(config, is_selected=False)
    for query_id, path in named.items():
        if query_id not in everything:
            raise config.wrong(
                path,
                f"no row has the id {query_id!r}.{nearest(query_id, everything)} "
                "Name a row of the dataset, or take it out.",
            )
    names = join_first([query_id for query_id in gate.must_pass if query_id in lacking], MOST_LISTED)
    note = f"`select` of the dataset leaves out rows of gate.must_pass ({names}): the gate will be missed"
    return [note] if names else []
