"""BrowserOS run configs and suites, read as ours: mapped where they can be, noted where they cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from pytest_browsereval.config.block import Block
from pytest_browsereval.config.draft import Draft
from pytest_browsereval.features.browseros.agents import PAIRS, ScreenSize, convert_agents, points
from pytest_browsereval.features.browseros.suites import convert_suite
from pytest_browsereval.registry import Registry
from pytest_browsereval.validation_errors import problems_in


class BrowserOSBlock(Block):
    """BrowserOS's own browser."""

    server_url: str | None = None
    base_cdp_port: int | None = Field(default=None, ge=1, le=65_535)
    base_server_port: int | None = None
    base_extension_port: int | None = None
    load_extensions: bool = False
    headless: bool = False


class CaptchaBlock(Block):
    """BrowserOS's captcha solver."""

    api_key_env: str | None = None
    wait_timeout_ms: int | None = Field(default=None, ge=1_000, le=120_000)
    poll_interval_ms: int | None = Field(default=None, ge=200, le=5_000)


class Leftovers(Block):
    """Top-level keys of BrowserOS that have no effect here."""

    browseros: BrowserOSBlock | None = None
    captcha: CaptchaBlock | None = None
    restart_server_per_task: bool | None = None
    restart_browser_per_task: bool | None = None
    gui_evals: bool | None = None
    molmo_endpoint: str | None = None


_JUDGE = {"grader_model": "model", "grader_api_key_env": "api_key", "grader_base_url": "base_url"}
"""What BrowserOS calls its one judge, and what the keys of ours are."""

HEADERS = {"X-BrowserOS-Source": "sdk-internal"}
"""What BrowserOS's own harness tells its server about where a call comes from."""

_ATTACHED = ("mcp", "cdp")
"""Browsers that run before we come."""

ACTIONS = 300
"""How many actions BrowserOS lets the executors of a pair do; then the orchestrator has to answer."""

_WHY = {
    "captcha": "no captcha solver is started",
    "restart": "every attempt has a browser context of its own anyway",
    "gui": "the set of tools is chosen by `tools`",
    "molmo": "no such model is asked",
}
"""By the first word of the key."""


def convert(draft: Draft, environ: Mapping[str, str]) -> None:
    """Turn the words of a BrowserOS file into ours, as far as the command line need not know them.

    Args:
        draft: a run config of BrowserOS, a suite of it, or a config of ours, which stays as it is.
        environ: where the variant of a suite stands.
    """
    if "id" in draft.tree or "browseros" in draft.tree:
        draft.checks.append(partial(_allow_actions, draft))
    if "id" in draft.tree:
        convert_suite(draft, environ)
    draft.move(("timeout_ms",), ("limits", "timeout_ms"))
    _take_judge(draft)


def _take_judge(draft: Draft) -> None:
    """Make the judge that the ``grader_`` keys mean: at OpenAI, unless they say where else."""
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
    """Let a pair do all that BrowserOS lets it do, unless somebody says how much an attempt may do."""
    if not any(isinstance(agent, dict) and agent.get("type") in PAIRS for agent in _agents(draft.tree)):
        return
    limits = draft.tree.setdefault("limits", {})
    if isinstance(limits, dict) and "max_steps" not in limits:
        # One more: at the limit of an attempt the orchestrator could not answer any more.
        limits["max_steps"] = ACTIONS + 1
        draft.notes.append(f"limits.max_steps is {ACTIONS + 1}: BrowserOS lets a pair do {ACTIONS} actions.")


def convert_blocks(draft: Draft, registry: Registry) -> None:
    """Turn BrowserOS's blocks of agents and browser into ours; what has no effect becomes a note.

    Args:
        draft: a config with the command line's overrides in it.
        registry: its members keep their names, if BrowserOS uses them too.
    """
    for check in draft.checks:
        check()
    sizes = convert_agents(draft, registry)
    reasons = {**_WHY, "browseros": _select_browser(draft)}
    if _kind(draft.tree.get("browser")) in _ATTACHED:
        reasons["restart"] = "a browser that runs already is not restarted"
    _set_viewport(draft, sizes)
    _take_leftovers(draft, reasons)


# -- the browser


def _select_browser(draft: Draft) -> str:
    """Make the browser that a ``browseros`` block means; return why the rest of it is not used.

    It is the server's, over MCP. Agents that point use its debugging port, if one is given.
    """
    own = draft.tree.get("browser")
    # Single options of the command line do not choose a browser; a block of the file does.
    is_options = isinstance(own, dict) and not _kind(own) and draft.is_overridden(("browser",))
    if own is not None and not is_options:
        if _kind(own) in ("", "playwright"):
            _move_headless(draft)
        return "`browser` says which browser to use"
    given = draft.tree.get("browseros")
    block = given if isinstance(given, dict) else {}
    url, port = block.get("server_url"), block.get("base_cdp_port")
    has_port = isinstance(port, int) and 0 < port <= 65_535  # else validation tells
    if isinstance(url, str):
        if not has_port or not any(map(points, _agents(draft.tree))):
            return _attach(
                draft, "server_url", {"type": "mcp", "url": _endpoint(url), "headers": {**HEADERS}}
            )
        block.pop("server_url")
        draft.notes.append("browseros.server_url is not used: agents act at points, which its tools cannot.")
    if has_port:
        return _attach(draft, "base_cdp_port", {"type": "cdp", "url": f"http://127.0.0.1:{port}"})
    _move_headless(draft)
    return "no address of a running browser is given"


def _move_headless(draft: Draft) -> None:
    """Show windows where a file of BrowserOS says so, if this machine can: BrowserOS shows them by itself."""
    block = draft.tree.get("browseros")
    path = ("browseros", "headless")
    if isinstance(block, dict) and block.get("headless") is False and not draft.is_overridden(path):
        block["headless"] = "auto"
    draft.move(path, ("browser", "headless"))


def _agents(tree: dict[str, Any]) -> list[Any]:
    variants = tree.get("variants")
    return [tree.get("agent"), *(variants.values() if isinstance(variants, dict) else ())]


def _endpoint(server: str) -> str:
    """Return where a server of BrowserOS has its tools."""
    try:
        parts = urlsplit(server)
    except ValueError:
        return server  # which validation tells
    return parts._replace(path=f"{parts.path.rstrip('/').removesuffix('/mcp')}/mcp").geturl()


def _attach(draft: Draft, name: str, chosen: dict[str, Any]) -> str:
    key = draft.format_keys(("browseros", name))
    draft.tree["browseros"].pop(name)
    draft.tree["browser"] = {**chosen, **(draft.tree.get("browser") or {})}
    draft.note_move(("browseros", name), ("browser", "url"))
    where = chosen["url"].partition("?")[0]  # a query may hold a token
    draft.notes.append(
        f"{key}: windows are opened in the browser at {where}, which has to run. "
        "For a local Chromium write  browser: playwright ."
    )
    return "the browser runs already"


def _kind(browser: Any) -> str:
    """Return the type that a browser block names, ``""`` if none."""
    kind = browser.get("type", "") if isinstance(browser, dict) else browser
    return kind if isinstance(kind, str) else ""


def _set_viewport(draft: Draft, sizes: list[ScreenSize]) -> None:
    """Give the browser the size that agents ask for; one run has one."""
    browser = draft.tree.get("browser") or {}
    if not sizes:
        return
    if _kind(browser) in _ATTACHED or (isinstance(browser, dict) and "viewport" in browser):
        names = ", ".join(draft.format_keys(size.path) for size in sizes)
        reason = "the browser runs already" if _kind(browser) in _ATTACHED else "browser.viewport says it"
        draft.notes.append(f"{names} {_is(sizes)} not used: {reason}.")
        return
    first, *others = sizes
    for other in others:
        if other.value != first.value:
            draft.wrong(
                other.path, f"differs from {draft.format_keys(first.path)}. Write one  browser.viewport ."
            )
    if not isinstance(browser, dict):
        browser = {"type": browser}
    draft.tree["browser"] = {**browser, "viewport": first.value}
    draft.note_move(first.path, ("browser", "viewport"))


# -- what has no effect


def _take_leftovers(draft: Draft, reasons: Mapping[str, str]) -> None:
    given = {name: draft.tree.pop(name) for name in Leftovers.model_fields if name in draft.tree}
    try:
        leftovers = Leftovers.model_validate(given)
    except ValidationError as error:
        draft.problems += problems_in(error, Leftovers, given)
        return
    by_reason: dict[str, list[str]] = {}
    for name, value in leftovers:
        if names := list(_list_written(name, value)):
            by_reason.setdefault(reasons[name.partition("_")[0]], []).extend(names)
    for reason, names in by_reason.items():
        draft.notes.append(f"{', '.join(names)} {_is(names)} not used: {reason}.")


def _is(names: list[Any]) -> str:
    return "is" if len(names) == 1 else "are"


def _list_written(name: str, value: object) -> Iterator[str]:
    if isinstance(value, Block):
        for inner, given in value:
            yield from _list_written(f"{name}.{inner}", given)
    elif value not in (None, False):
        yield name
