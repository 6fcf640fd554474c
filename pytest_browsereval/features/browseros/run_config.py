"""Convert a run config of BrowserOS: keys are mapped if possible, and noted if not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from pytest_browsereval.config.block import Block
from pytest_browsereval.config.draft import Draft
from pytest_browsereval.features.browseros.agents import PAIRS, acts_at_points, convert_agents, find_agents
from pytest_browsereval.features.browseros.suites import convert_suite
from pytest_browsereval.registry import Registry
from pytest_browsereval.validation_errors import list_problems


class BrowserOSBlock(Block):
    """The block of BrowserOS's own browser."""

    server_url: str | None = None
    """The address of a running BrowserOS server; its browser is driven over MCP."""
    base_cdp_port: int | None = Field(default=None, ge=1, le=65_535)
    """The debugging port of a browser that runs; used without ``server_url``, and by agents that point."""
    base_server_port: int | None = None
    """Not used here."""
    base_extension_port: int | None = None
    """Not used here."""
    load_extensions: bool = False
    """Not used here."""
    headless: bool = False
    """Not used here: windows are shown by ``--eval-headed``."""


class Leftovers(Block):
    """Top-level keys of BrowserOS without effect here; they are still checked."""

    browseros: BrowserOSBlock | None = None
    """BrowserOS's own browser; ``browser`` selects another one."""
    captcha: dict[str, Any] | None = None
    """Not used here: no captcha solver is started."""
    restart_server_per_task: bool | None = None
    """Not used here: each attempt has a browser context of its own."""
    restart_browser_per_task: bool | None = None
    """Not used here: each attempt has a browser context of its own."""
    gui_evals: bool | None = None
    """Not used here: ``tools`` chooses the tools."""
    molmo_endpoint: str | None = None
    """Not used here: no such model is called."""


_JUDGE = {"grader_model": "model", "grader_api_key_env": "api_key", "grader_base_url": "base_url"}
"""Keys of BrowserOS's judge, and the keys of ours."""

VIEWPORT = ("browser", "context", "viewport")
_ATTACHED = ("mcp", "cdp")
"""Types of browsers that run already."""

ACTIONS = 300
"""The number of actions after which BrowserOS has the orchestrator of a pair answer."""

_FRESH = "every attempt has a browser context of its own anyway"
_UNUSED = {
    "captcha": "no captcha solver is started",
    "restart_server_per_task": _FRESH,
    "restart_browser_per_task": _FRESH,
    "gui_evals": "the set of tools is chosen by `tools`",
    "molmo_endpoint": "no such model is asked",
}
"""The reasons why a key is not used."""


def convert(draft: Draft, environ: Mapping[str, str]) -> None:
    """Convert the keys of a file that do not depend on the command line.

    Args:
        draft: a run config or a suite of BrowserOS, or a config of ours, which stays as it is.
        environ: the environment, which has the variant of a suite.
    """
    # Only these two keys tell a file of BrowserOS from ours; their agents and datasets look alike.
    if "id" in draft.tree or "browseros" in draft.tree:
        draft.checks.append(partial(_allow_actions, draft))
    if "id" in draft.tree:
        convert_suite(draft, environ)
    draft.move(("timeout_ms",), ("limits", "timeout_ms"))
    _take_judge(draft)


def _take_judge(draft: Draft) -> None:
    """Make the judge of the ``grader_`` keys, at OpenAI unless they have another address."""
    given = [name for name in _JUDGE if name in draft.tree]
    for name in given:
        if draft.tree[name] is None:
            draft.tree.pop(name)
        else:
            draft.move((name,), ("judge", _JUDGE[name]))
    judge = draft.tree.get("judge")
    if given and isinstance(judge, dict) and not {"provider", "base_url"} & judge.keys():
        judge["provider"] = "openai"


def _allow_actions(draft: Draft) -> None:
    """Give a pair the number of actions that it has in BrowserOS, unless there is a limit already."""
    if not any(isinstance(agent, dict) and agent.get("type") in PAIRS for agent in _agents(draft)):
        return
    limits = draft.tree.setdefault("limits", {})
    if isinstance(limits, dict) and "max_steps" not in limits:
        # One more, because an attempt that reaches its limit ends before the orchestrator can answer.
        limits["max_steps"] = ACTIONS + 1
        draft.notes.append(f"limits.max_steps is {ACTIONS + 1}: BrowserOS lets a pair do {ACTIONS} actions.")


def convert_blocks(draft: Draft, registry: Registry) -> None:
    """Convert the blocks of agents and browser; keys without effect become notes.

    Args:
        draft: a config after the overrides of the command line.
        registry: agents of plug-ins keep their names, even if BrowserOS uses the names too.
    """
    for check in draft.checks:
        check()
    convert_agents(draft, registry)
    why = _select_browser(draft)
    _set_viewport(draft)
    _take_leftovers(draft, why)


# -- the browser


def _select_browser(draft: Draft) -> str:
    """Make the browser of a ``browseros`` block; return why the rest of the block is not used.

    It is driven by the server, over MCP. Agents that act at points use the debugging port, if there is one.
    """
    own = draft.tree.get("browser")
    # A block in the file chooses a browser; `--eval-set browser.headless=false` only changes one.
    is_options = isinstance(own, dict) and not _kind(own) and draft.is_overridden(("browser",))
    if own is not None and not is_options:
        return "`browser` selects another browser"
    given = draft.tree.get("browseros")
    block = given if isinstance(given, dict) else {}
    url, port = block.get("server_url"), block.get("base_cdp_port")
    has_port = isinstance(port, int) and 0 < port <= 65_535  # otherwise validation reports it
    if isinstance(url, str):
        if not has_port or not any(map(acts_at_points, _agents(draft))):
            return _attach(draft, "server_url", {"type": "mcp", "url": _endpoint(url)})
        block.pop("server_url")
        draft.notes.append("browseros.server_url is not used: agents act at points, which its tools cannot.")
    if has_port:
        return _attach(draft, "base_cdp_port", {"type": "cdp", "url": f"http://127.0.0.1:{port}"})
    # BrowserOS shows windows by default, so its files have `headless: false` without a need for windows.
    if isinstance(block.get("headless"), bool) and not block.pop("headless"):
        key = draft.format_keys(("browseros", "headless"))
        draft.notes.append(f"{key} is not used: --eval-headed shows windows.")
    return "no address of a running browser is given"


def _agents(draft: Draft) -> list[Any]:
    return [draft.get(path) for path in find_agents(draft.tree)]


def _endpoint(server: str) -> str:
    """Return the address of the tools of a BrowserOS server."""
    try:
        parts = urlsplit(server)
    except ValueError:
        return server  # validation reports it
    return parts._replace(path=f"{parts.path.rstrip('/').removesuffix('/mcp')}/mcp").geturl()


def _attach(draft: Draft, name: str, chosen: dict[str, Any]) -> str:
    key = draft.format_keys(("browseros", name))
    draft.tree["browseros"].pop(name)
    draft.tree["browser"] = {**chosen, **(draft.tree.get("browser") or {})}
    draft.note_move(("browseros", name), ("browser", "url"))
    where = chosen["url"].partition("?")[0]  # a query may hold a token
    draft.notes.append(
        f"{key}: windows are opened in the browser at {where}, which has to run. "
        "For a local Chromium write `browser: playwright`."
    )
    return "the browser is already running"


def _kind(browser: Any) -> str:
    """Return the type of a browser block, ``""`` if it has none."""
    kind = browser.get("type", "") if isinstance(browser, dict) else browser
    return kind if isinstance(kind, str) else ""


def _set_viewport(draft: Draft) -> None:
    """Give the browser the size that an agent asks for, unless it has one."""
    for path in find_agents(draft.tree):
        block, key = draft.get(path), (*path, "screen_size")
        if not isinstance(block, dict) or block.get("type") != "computer-use" or key[-1] not in block:
            continue
        browser = draft.tree.get("browser") or {}
        is_attached = _kind(browser) in _ATTACHED
        if is_attached or draft.get(VIEWPORT) is not None:
            why = "the browser is already running" if is_attached else "browser.context.viewport is set"
            draft.notes.append(f"{draft.format_keys(key)} is not used: {why}.")
            block.pop(key[-1])
            continue
        draft.tree["browser"] = {**browser} if isinstance(browser, dict) else {"type": browser}
        draft.move(key, VIEWPORT)


# -- keys without effect


def _take_leftovers(draft: Draft, why_browser: str) -> None:
    given = {name: draft.tree.pop(name) for name in Leftovers.model_fields if name in draft.tree}
    try:
        leftovers = Leftovers.model_validate(given)
    except ValidationError as error:
        draft.problems += list_problems(error, Leftovers, given)
        return
    rest = leftovers.browseros or BrowserOSBlock()
    reasons = {f"browseros.{name}": why_browser for name, value in rest if value not in (None, False)}
    reasons |= {name: why for name, why in _UNUSED.items() if getattr(leftovers, name)}
    by_reason: dict[str, list[str]] = {}
    for name, why in reasons.items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        draft.notes.append(f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not used: {why}.")
