"""What is refused of the states of sites before anything is spent."""

from __future__ import annotations

import sqlite3
import sys
from shutil import which

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.errors import nearest
from pytest_browsereval.features.effects.diff import leaves_nothing
from pytest_browsereval.features.effects.reading import Unreadable, copy_database, read_files
from pytest_browsereval.sites import SiteConfig, names_in
from pytest_browsereval.sites.state import StateConfig


def check_states(config: EvalConfig) -> None:
    """Refuse states that cannot be read, and those in which the changes of several attempts would be.

    Raises:
        ConfigError: with file, line and what to write.
    """
    for name, site in config.sites.items():
        if site.state is None:
            continue
        if why := _find_problem(name, site, site.state, config):
            raise config.wrong(("sites", name, "state"), why)
        if leaves_nothing(site.volatile, site.state.tables or ("\0",)):
            raise config.wrong(("sites", name, "volatile"), "it leaves nothing of the state to compare.")


def _find_problem(name: str, site: SiteConfig, state: StateConfig, config: EvalConfig) -> str:
    if state.storage is not None:
        kind = config.browser.type
        return (
            ""
            if config.browser.has_page
            else f"a browser of type {kind} has no storage to read. Use another source."
        )
    known = {*config.sites, "python"} | ({"data"} if site.data else set())
    if unknown := sorted(names_in(state.place) - known):
        hint = "Give the site `data: FOLDER`." if unknown[0] == "data" else nearest(unknown[0], known).strip()
        return f"it names {{{unknown[0]}}}, which stands for nothing here. {hint}"
    if site.reset is None:
        return (
            f"the site {name!r} has no `reset`, so attempts share its state, and changes of one would count "
            "as another's. Write `reset: POST /reset` or `reset: restart`."
        )
    if state.is_shared:
        return (
            "all instances of the site would change it at once. Write a place of its own for each: "
            "{data} for its files, {" + name + "} for its address."
        )
    return _find_unreadable(site, state, config)


def _find_unreadable(site: SiteConfig, state: StateConfig, config: EvalConfig) -> str:
    """Return why the first state cannot be read, as far as it is there before the site is started."""
    if state.command and which(state.command[0].replace("{python}", sys.executable)) is None:
        return f"{state.command[0]!r} is not a program that can be run."
    first = state.fill_place(config.base_dir, config.base_dir / site.data if site.data else None)
    try:
        if state.sqlite is not None and first.is_file():
            copy_database(first, state.tables, state.max_bytes, is_at_rest=True)
        elif state.files is not None and site.data:
            read_files(first, state.max_bytes)
    except (OSError, sqlite3.Error, Unreadable) as error:
        return f"it cannot be read: {error}."
    return ""
