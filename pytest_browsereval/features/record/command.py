"""``record URL``: a person does a task in a window, and a row of a dataset comes out."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command, add_overrides
from pytest_browsereval.errors import UsageError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.features.record.row import Heading
    from pytest_browsereval.features.record.steps import Item, ItemList

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
LONGEST_QUERY = 10_000


@dataclass
class Recording:
    """What is recorded for a row, which outlives the window."""

    heading: Heading
    config: EvalConfig | None
    items: ItemList
    sites: Mapping[str, str] = field(default_factory=dict)
    """The base URLs that sites have."""
    known: Mapping[str, str] = field(default_factory=dict)
    """The names of the config's variables, by the values that may be typed."""
    effects: JsonValue = None
    """What the row changes in the state of its sites, once that was proved."""

    def make_row(self, *, is_whole: bool = True) -> tuple[dict[str, JsonValue], dict[str, str]]:
        """Return the row, and the variables that it types with their values.

        Args:
            is_whole: whether the person has finished; else a page may repeat secrets in it, which are hidden.
        """
        from pytest_browsereval.features.record.effects import add_effects
        from pytest_browsereval.features.record.row import make_row, prefix_of, propose_names
        from pytest_browsereval.features.record.steps import hide_leaks

        items = self.items.items if is_whole else hide_leaks(self.items.items, self.items.secrets)
        names = propose_names(items, self.known, os.environ, prefix_of(self.heading.start_url))
        row = make_row(self.heading, items, names, self.sites)
        values = {name: value for value, name in names.items()}
        return (row if self.effects is None else add_effects(row, self.effects, "effects")), values

    def print_lost(self) -> None:
        """Print what was recorded and is in no file: it took a person's time. Secrets are left out."""
        from pytest_browsereval.features.record.row import format_row

        if self.items.items:
            _say("No row was written. So that nothing is lost, this is what was recorded:")
            _say(format_row(self.make_row(is_whole=False)[0]))
        else:
            _say("No row was made: nothing was recorded.")


def record_row(arguments: argparse.Namespace) -> int:
    """Record a row, try it and write it; 1 if the person ends before it holds."""
    import asyncio

    from pytest_browsereval.features.record.files import FOLDER, copy_files
    from pytest_browsereval.features.record.row import append_row, format_row
    from pytest_browsereval.features.record.steps import ItemList

    if not arguments.headless:
        _check_display()
    config = _load(arguments)
    _check_address(arguments.url, tuple(config.sites) if config else ())
    heading = _ask_heading(arguments)
    known = config.variable_values().list_typed() if config else {}
    recording = Recording(heading, config, ItemList(known), known=known)
    _say(f"Recording {heading.query_id!r}. The bar in the window says how to continue.")
    try:
        if not asyncio.run(_record(recording, arguments)):
            recording.print_lost()
            return 1
        row, values = recording.make_row()
        files = recording.items.used_files
        if arguments.out is not None:
            copy_files(files, arguments.out.parent / FOLDER)
            append_row(arguments.out, row)
            _say(f"Added {heading.query_id!r} to {arguments.out}.")
    except BaseException:
        if recording.items.items:
            recording.print_lost()
        raise
    if arguments.out is None:
        print(format_row(row))
        for name, path in files.items():
            _say(f"Copy {path} to {FOLDER}/{name}, next to the dataset of the row.")
    _say_what_is_missing(config, tuple(values))
    return 0


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
        _say("The graders of the config replace the row's, but none of them is `page_state`.")


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
            raise UsageError("--eval-set is about a config. Name one with --config.")
        return None
    from pytest_browsereval.config import load_config

    registry = arguments.door.load_registry()
    # No agent of the config is at work, so no key of a model has to be set.
    return load_config(arguments.config, registry=registry, overrides=arguments.eval_set, agent="noop")


def _check_address(url: str, sites: Collection[str]) -> None:
    """Refuse what is no address to begin at.

    Raises:
        UsageError: with what to write.
    """
    from pytest_browsereval.model.tasks import Task
    from pytest_browsereval.run.row_checks import check_addresses

    try:
        check_addresses(Task(query_id="row", query="?", start_url=url), sites, None)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not url.lower().startswith(("http://", "https://", "{")):
        raise UsageError(f"{url!r} is not an address of a page. Write http:// or https://, or {{site}}/.")


def _ask_heading(arguments: argparse.Namespace) -> Heading:
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.features.record.row import Heading, make_id, read_ids

    taken = read_ids(arguments.out) if arguments.out else {}
    if arguments.query_id in taken:
        raise UsageError(
            f"{format_path(arguments.out)}:{taken[arguments.query_id]} has the id {arguments.query_id!r} "
            "already. Ids must differ; give another one with --id."
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


async def _record(recording: Recording, arguments: argparse.Namespace) -> bool:
    import asyncio

    from pytest_browsereval.browsers.base import WindowRequest
    from pytest_browsereval.features.record.recorder import record
    from pytest_browsereval.features.record.validation import Proof, prove_row
    from pytest_browsereval.features.record.window import fit_window
    from pytest_browsereval.sites import Sites, fill, names_in

    async def prove(_: list[Item]) -> list[str]:
        recording.effects = None
        proof = await try_row()
        if proof.effects is not None:  # they are proved as the row is
            recording.effects = proof.effects
            if again := (await try_row()).problems:
                recording.effects = None
                proof.notes.append(f"The row has no `effects`, since with them its test failed: {again[0]}")
        for said in (*(f"The test of the row failed: {one}" for one in proof.problems), *proof.notes):
            _say(said)
        return proof.problems

    async def try_row() -> Proof:
        row, values = recording.make_row()
        sets, files = arguments.eval_set, recording.items.used_files
        return await asyncio.to_thread(prove_row, arguments.door, row, values, config, sets=sets, files=files)

    config, start_url = recording.config, recording.heading.start_url
    base_dir = config.base_dir if config else Path.cwd()
    sites = Sites(config.sites if config else {}, base_dir)
    chosen = _choose_browser(config, headless=arguments.headless)
    browser = chosen.prepare(base_dir).build()
    try:
        await browser.start()
        async with sites.lease(names_in(start_url)) as urls:
            recording.sites = dict(urls)
            url, clock = fill(start_url, urls), config.clock if config else None
            window = await browser.open_window(WindowRequest("record", url, clock=clock, site_urls=urls))
            try:
                await fit_window(window, chosen.context.get("viewport"))
                return await record(window, recording.items, prove)
            finally:
                await window.close()
    finally:
        await browser.close()
        await sites.close()


def _choose_browser(config: EvalConfig | None, *, headless: bool) -> PlaywrightBrowserConfig:
    """Return the config's browser with its windows shown; a plain one where it has another kind."""
    from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
    from pytest_browsereval.features.record.window import ShownBrowserConfig

    own = config.browser if config else None
    chosen = own if isinstance(own, PlaywrightBrowserConfig) else PlaywrightBrowserConfig()
    if headless:
        return chosen.model_copy(update={"headless": True})
    return ShownBrowserConfig.model_construct(**{**dict(chosen), "headless": False})  # it is checked already


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", metavar="URL", help="where the task begins; {shop}/ begins at a site of --config"
    )
    parser.add_argument("--query", metavar="TEXT", help="what an agent is to do (default: you are asked)")
    parser.add_argument(
        "--id", dest="query_id", metavar="ID", help="the row's id (default: made of the query)"
    )
    parser.add_argument(
        "--out", metavar="FILE", type=Path, help="add the row to this JSON Lines file (default: print it)"
    )
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="an eval config with the sites and browser to use"
    )
    add_overrides(parser)
    parser.add_argument("--headless", action="store_true", help="show no window, which is for tests")


COMMANDS = (
    Command(
        "record",
        "do a task in a window, and get a dataset row with its steps and checks",
        record_row,
        _arguments,
        group="start",
    ),
)
