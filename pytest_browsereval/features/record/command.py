"""``record URL``: a person does a task in a window, and a row of a dataset comes out."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_browsereval.commands.base import Command, add_overrides
from pytest_browsereval.errors import BrowserEvalError, UsageError, nearest

if TYPE_CHECKING:
    from pydantic import JsonValue

    from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.features.record.row import Heading
    from pytest_browsereval.features.record.steps import Item

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
LONGEST_QUERY = 10_000


@dataclass
class Recorded:
    """What came of a recording."""

    items: list[Item] | None
    """None: the person has cancelled."""
    sites: Mapping[str, str] = field(default_factory=dict)
    """The base URLs that sites had."""


def record_row(arguments: argparse.Namespace) -> int:
    """Record a row, try it and write it; 1 if the person cancels, or the row does not hold."""
    import asyncio

    from pytest_browsereval.features.record.row import (
        append_row,
        format_row,
        make_row,
        prefix_of,
        propose_names,
    )
    from pytest_browsereval.features.record.validation import find_problems

    if not arguments.headless:
        _check_display()
    config = _load(arguments)
    _check_address(arguments.url, config)
    heading = _ask_heading(arguments)
    _say(
        f"Recording {heading.query_id!r}. Do the task in the window; `Finish` in its bar ends the recording."
    )
    recorded = asyncio.run(_record(heading, config, headless=arguments.headless))
    if recorded.items is None:
        _say("Cancelled: no row was made.")
        return 1
    known = config.variable_values() if config else {}
    names = propose_names(recorded.items, known, os.environ, prefix_of(heading.start_url))
    row = make_row(heading, recorded.items, names, recorded.sites)
    _say("Trying the row: its steps have to pass, and doing nothing has to fail ...")
    values = {name: value for value, name in names.items()}
    with _printing_if_lost(row):
        problems = find_problems(arguments.door, row, values, config, arguments.eval_set)
    for problem in problems:
        _say(f"The row does not hold: {problem}")
    if problems:
        _say("Nothing was written. This is the row:")
        _say(format_row(row))
        return 1
    if arguments.out is None:
        print(format_row(row))
    else:
        with _printing_if_lost(row):
            append_row(arguments.out, row)
        _say(f"Added {heading.query_id!r} to {arguments.out}.")
    _say_what_is_missing(config, tuple(values))
    return 0


@contextlib.contextmanager
def _printing_if_lost(row: Mapping[str, JsonValue]) -> Iterator[None]:
    """Print a row that an error or Ctrl-C would lose: it took somebody's time, and has no secrets."""
    from pytest_browsereval.features.record.row import format_row

    try:
        yield
    except (KeyboardInterrupt, BrowserEvalError, OSError):
        _say("The row was not written. So that it is not lost, it is printed:")
        print(format_row(row), flush=True)
        raise


def _say(text: str) -> None:
    # The row alone is what a script reads.
    print(text, file=sys.stderr, flush=True)


def _say_what_is_missing(config: EvalConfig | None, names: tuple[str, ...]) -> None:
    """Say what the row needs of a config to run."""
    lacking = [name for name in names if config is None or name not in config.variables]
    if lacking:
        every = [*(config.variables if config else ()), *lacking]
        _say(
            f"The row types {', '.join(f'${{{name}}}' for name in lacking)}. Write `variables: "
            f"[{', '.join(every)}]` in the config and `trusted: true` in the block of the dataset, and set "
            f"{'the variable' if len(lacking) == 1 else 'the variables'} where the eval runs."
        )
    if config is not None and config.graders and all(one.type != "page_state" for one in config.graders):
        _say("The graders of the config take the place of the row's, and none of them is `page_state`.")


# -- before the window opens


def _check_display() -> None:
    """Refuse to record where no window can be shown.

    Raises:
        UsageError: with what to type.
    """
    if sys.platform == "linux" and not any(os.environ.get(name) for name in DISPLAYS):
        raise UsageError(
            "there is no display to show a window on: neither DISPLAY nor WAYLAND_DISPLAY is set. Run it on "
            "a desktop, or through `ssh -X`. `xvfb-run browsereval record ...` shows it on a virtual "
            "display, which VNC can look at; --headless shows nothing and is for tests."
        )


def _load(arguments: argparse.Namespace) -> EvalConfig | None:
    if arguments.config is None:
        if arguments.eval_set:
            raise UsageError("--eval-set is about a config. Name one by --config.")
        return None
    from pytest_browsereval.config import load_config

    registry = arguments.door.load_registry()
    # No agent of the config is at work, so no key of a model has to be set.
    return load_config(arguments.config, registry=registry, overrides=arguments.eval_set, agent="noop")


def _check_address(url: str, config: EvalConfig | None) -> None:
    """Refuse what is no address to begin at.

    Raises:
        UsageError: with what to write.
    """
    from pytest_browsereval.sites import names_in, unknown_sites

    sites = tuple(config.sites) if config else ()
    if unknown := next(iter(unknown_sites({"url": url}, sites)), None):
        name = unknown[1]
        if config is None:
            raise UsageError(
                f"{url!r} begins with the site {name!r}, and sites are in a config. Name it by --config."
            )
        known = ", ".join(sites) or "none"
        raise UsageError(f"{name!r} is not a site of the config.{nearest(name, sites)} Sites: {known}.")
    if names_in(url):
        return
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        hint = f" Did you mean https://{url}?" if "://" not in url else ""
        raise UsageError(
            f"{url!r} is not an address of a page: write http:// or https://, or {{site}}/.{hint}"
        )


def _ask_heading(arguments: argparse.Namespace) -> Heading:
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.features.record.row import Heading, make_id, read_ids

    taken = read_ids(arguments.out) if arguments.out else {}
    if arguments.query_id in taken:
        raise UsageError(
            f"{format_path(arguments.out)}:{taken[arguments.query_id]} has the id {arguments.query_id!r} "
            "already. Ids must differ; give another one by --id."
        )
    query = arguments.query if arguments.query is not None else _ask_query()
    if not 0 < len(query.strip()) <= LONGEST_QUERY:
        raise UsageError("the query is empty, or too long. Say in a sentence what an agent is to do.")
    return Heading(arguments.query_id or make_id(query, taken), query.strip(), arguments.url)


def _ask_query() -> str:
    if not sys.stdin.isatty():
        raise UsageError('there is no query. Write --query "...": what an agent is to do.')
    # `input` would print the question where the row is printed.
    print("What is an agent to do? ", end="", file=sys.stderr, flush=True)
    return input()


# -- the window


async def _record(heading: Heading, config: EvalConfig | None, *, headless: bool) -> Recorded:
    from pytest_browsereval.browsers.base import WindowRequest
    from pytest_browsereval.features.record.recorder import record
    from pytest_browsereval.sites import Sites, fill, names_in

    base_dir = config.base_dir if config else Path.cwd()
    sites = Sites(config.sites if config else {}, base_dir)
    browser = _choose_browser(config, headless=headless).prepare(base_dir).build()
    try:
        await browser.start()
        async with sites.lease(names_in(heading.start_url)) as urls:
            url, clock = fill(heading.start_url, urls), config.clock if config else None
            window = await browser.open_window(WindowRequest("record", url, clock=clock, site_urls=urls))
            try:
                known = config.variable_values().values() if config else ()
                return Recorded(await record(window, is_shown=not headless, known=known), dict(urls))
            finally:
                await window.close()
    finally:
        await browser.close()
        await sites.close()


def _choose_browser(config: EvalConfig | None, *, headless: bool) -> PlaywrightBrowserConfig:
    """Return the config's browser with its windows shown; a plain one where it has another kind."""
    from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig

    own = config.browser if config else None
    chosen = own if isinstance(own, PlaywrightBrowserConfig) else PlaywrightBrowserConfig()
    return chosen.model_copy(update={"headless": headless})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", metavar="URL", help="where the task begins; {shop}/ begins at a site of --config"
    )
    parser.add_argument("--query", metavar="TEXT", help="what an agent is to do (default: you are asked)")
    parser.add_argument(
        "--id", dest="query_id", metavar="ID", help="the row's id (default: made of the query)"
    )
    parser.add_argument(
        "--out", metavar="FILE", type=Path, help="add the row to these JSON Lines (default: print it)"
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="an eval config whose sites and browser the row is made with",
    )
    add_overrides(parser)
    parser.add_argument("--headless", action="store_true", help="show no window, which is for tests")


COMMANDS = (
    Command(
        "record",
        "do a task in a window, and get a row of a dataset that shows how",
        record_row,
        _arguments,
        group="start",
    ),
)
