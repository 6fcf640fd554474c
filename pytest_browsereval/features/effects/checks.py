"""What is refused of the states of sites before anything is spent."""

from __future__ import annotations

import sys
from shutil import which

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.errors import nearest
from pytest_browsereval.features.effects.diff import leaves_nothing
from pytest_browsereval.features.effects.reading import Unreadable, read_files, read_known
from pytest_browsereval.sites import SiteConfig, names_in


def check_states(config: EvalConfig) -> None:
    """Refuse states that cannot be read, and those in which the changes of several attempts would be.

    Raises:
        ConfigError: with file, line and what to write.
    """
    watched = {name: site for name, site in config.sites.items() if site.state is not None}
    for place, rule in enumerate(config.gate.rules):
        if rule.type == "max_side_effects" and not watched:
            why = "the rule counts changes to a site's state, but no site has a `state`."
            raise config.wrong(("gate", "rules", place), f"{why} Write one, or take the rule out.")
    for name, site in watched.items():
        if why := _find_problem(name, site, config) or _find_unreadable(site, config):
            raise config.wrong(("sites", name, "state"), why)
        if site.state and leaves_nothing(site.volatile, site.state.tables or ("\0",)):
            raise config.wrong(("sites", name, "volatile"), "it leaves nothing of the state to compare.")


def _find_problem(name: str, site: SiteConfig, config: EvalConfig) -> str:
    state = site.state
    if state is None or state.storage is not None:
        kind = "" if config.browser.has_page else config.browser.type
        return kind and f"a browser of type {kind} has no storage to read. Use another source."
    known = {*config.sites, "python"} | ({"data"} if site.data else set())
    if unknown := sorted(names_in(state.place) - known):
        hint = "Give the site `data: FOLDER`." if unknown[0] == "data" else nearest(unknown[0], known).strip()
        return f"it names {{{unknown[0]}}}, which is not a placeholder. {hint}"
    if site.reset is None:
        return (
            f"the site {name!r} has no `reset`, so attempts share its state, and changes of one would count "
            "as another's. Write `reset: POST /reset` or `reset: restart`."
        )
    if state.is_shared:
        return (
            "all instances of the site would change it at once. Give each a place of its own: "
            "{data} for its files, {" + name + "} for its address."
        )
    return ""


def _find_unreadable(site: SiteConfig, config: EvalConfig) -> str:
    """Return why the first state cannot be read, as far as it is there before the site is started."""
    state = site.state
    if state and state.command and which(state.command[0].replace("{python}", sys.executable)) is None:
        return f"{state.command[0]!r} is not a program that can be run."
    try:
        read_known(site, config.base_dir)
        if state and state.files is not None and site.data:
            read_files(state.fill_place(config.base_dir, config.base_dir / site.data), state)
    except (OSError, Unreadable) as error:
        return f"it cannot be read: {error}."
    return ""
