"""BrowserOS run configs and suites, read as ours: mapped where they can be, noted where they cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, ValidationError

from pytest_browsereval.config.draft import Draft
from pytest_browsereval.config.model import Block
from pytest_browsereval.problems import Problem, problems_in, written_key


class BrowserOSBlock(Block):
    """BrowserOS's own browser."""

    server_url: str | None = None
    base_cdp_port: int | None = None
    base_server_port: int | None = None
    base_extension_port: int | None = None
    load_extensions: bool = False


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
    grader_model: str | None = None
    grader_api_key_env: str | None = None
    grader_base_url: str | None = None
    gui_evals: bool | None = None
    molmo_endpoint: str | None = None


_WHY = {
    "browseros": "the browser is local; `browser: {type: mcp}` is not supported yet",
    "captcha": "no captcha solver is started",
    "restart": "every attempt has a browser context of its own anyway",
    "grader": "no grader asks a model yet",
    "gui": "the set of tools is chosen by `tools`",
    "molmo": "no such model is asked",
}
"""By the first word of the key."""


def convert(draft: Draft, environ: Mapping[str, str]) -> None:
    """Turn the words of BrowserOS in a draft into ours; what has no effect becomes a note.

    Args:
        draft: a run config of BrowserOS, a suite of it, or a config of ours, which stays as it is.
        environ: where the variant of a suite stands.
    """
    if "id" in draft.tree:
        _convert_suite(draft, environ)
    draft.move(("timeout_ms",), ("limits", "timeout_ms"))
    draft.move(("browseros", "headless"), ("browser", "headless"))
    _take_leftovers(draft)


def _take_leftovers(draft: Draft) -> None:
    given = {}
    for name in Leftovers.model_fields:
        key = written_key(draft.tree, name)
        if key is not None:
            given[str(key)] = draft.tree.pop(str(key))
    try:
        leftovers = Leftovers.model_validate(given)
    except ValidationError as error:
        draft.problems += problems_in(error, Leftovers, given)
        return
    by_reason: dict[str, list[str]] = {}
    for name, value in leftovers:
        if names := list(_written(name, value)):
            by_reason.setdefault(_WHY[name.partition("_")[0]], []).extend(names)
    for reason, names in by_reason.items():
        draft.notes.append(f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not used: {reason}.")


def _written(name: str, value: object) -> Iterator[str]:
    if isinstance(value, Block):
        for inner, given in value:
            yield from _written(f"{name}.{inner}", given)
    elif value not in (None, False):
        yield name


# -- suites

_TRUE = ("1", "true", "yes")

_FROM_ENVIRONMENT = {
    "provider": "EVAL_AGENT_PROVIDER",
    "model": "EVAL_AGENT_MODEL",
    "base_url": "EVAL_AGENT_BASE_URL",
}


def _convert_suite(draft: Draft, environ: Mapping[str, str]) -> None:
    tree = draft.tree
    draft.move(("id",), ("name",))
    draft.move(("workers",), ("num_workers",))
    agent = tree.get("agent")
    if not isinstance(agent, dict) or agent.get("type") not in ("single", "tool-loop"):
        return  # not a model of the environment's, or wrong, which validation tells
    backend = written_key(agent, "executor_backend")
    if backend is not None:
        agent.pop(str(backend))
        draft.notes.append(f"agent.{backend} is not used: the agent has no executor.")
    label = environ.get("EVAL_VARIANT") or "default"
    tree.pop("agent")
    tree["variants"] = {label: {**agent, **_variant(environ)}}
    draft.moved(("agent",), ("variants", label))
    if environ.get("EVAL_VARIANT"):
        draft.came_from(("variants", label), "environment variable EVAL_VARIANT")
    for name, variable in _FROM_ENVIRONMENT.items():
        draft.came_from(("variants", label, name), f"environment variable {variable}")
    if not environ.get("EVAL_AGENT_MODEL"):
        draft.problems.append(
            Problem(
                ("variants", label, "model"),
                "not set; a suite takes its model from it. Set EVAL_AGENT_MODEL=NAME.",
            )
        )


def _variant(environ: Mapping[str, str]) -> dict[str, Any]:
    variant: dict[str, Any] = {"provider": "openai-compatible"}
    for name, variable in _FROM_ENVIRONMENT.items():
        if environ.get(variable):
            variant[name] = environ[variable]
    if environ.get("EVAL_AGENT_API_KEY"):
        variant["api_key"] = "EVAL_AGENT_API_KEY"  # the variable's name; the key is read when it is used
    if images := environ.get("EVAL_AGENT_SUPPORTS_IMAGES"):
        variant["supports_images"] = images.lower() in _TRUE
    return variant
