"""Convert a suite of BrowserOS: the agent's type is in the file, its models are in the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_browsereval.config.draft import Draft
from pytest_browsereval.config_text import KeyPath
from pytest_browsereval.errors import nearest
from pytest_browsereval.features.browseros.agents import ACTION_PROVIDER, PAIRS, give_up
from pytest_browsereval.validation_errors import shorten

_TRUE = ("1", "true", "yes")
BACKENDS = ("tool-loop", "clado")
_ANY_SERVER = "openai-compatible"

_AGENT = {
    "provider": "EVAL_AGENT_PROVIDER",
    "model": "EVAL_AGENT_MODEL",
    "base_url": "EVAL_AGENT_BASE_URL",
    "api_key": "EVAL_AGENT_API_KEY",
}
_IMAGES = "EVAL_AGENT_SUPPORTS_IMAGES"
_EXECUTOR = {
    "model": "EVAL_EXECUTOR_MODEL",
    "base_url": "EVAL_EXECUTOR_BASE_URL",
    "api_key": "EVAL_EXECUTOR_API_KEY",
}
_ACTION = {
    "base_url": ("EVAL_EXECUTOR_BASE_URL", "CLADO_ACTION_BASE_URL", "CLADO_ACTION_URL"),
    "api_key": ("EVAL_EXECUTOR_API_KEY", "CLADO_ACTION_API_KEY"),
}


@dataclass
class _Variant:
    """The agent of a suite, while its block is made from the environment."""

    draft: Draft
    environ: Mapping[str, str]
    path: KeyPath
    block: dict[str, Any]

    def take(self, block: dict[str, Any], key: str, *variables: str, path: KeyPath = ()) -> bool:
        """Fill a key from the first variable that is set; return True if one is."""
        for variable in variables:
            if value := self.environ.get(variable):
                # The name and not the key itself: a config is dumped and hashed, and keys must not be.
                block[key] = variable if key == "api_key" else value
                self.draft.note_source((*self.path, *path, key), f"environment variable {variable}")
                return True
        return False

    def need(self, block: dict[str, Any], key: str, *variables: str, path: KeyPath = ()) -> None:
        """Fill a key as ``take`` does; later, check that the command line has given it otherwise."""
        if self.take(block, key, *variables, path=path):
            return
        self.draft.checks.append(partial(_check, self.draft, (*self.path, *path, key), variables))

    def model(self, block: dict[str, Any], *path: str) -> dict[str, Any]:
        """Return a block with the model of the agent."""
        block.setdefault("provider", _ANY_SERVER)
        self.take(block, "provider", _AGENT["provider"], path=path)
        self.need(block, "model", _AGENT["model"], path=path)
        self.need(block, "base_url", _AGENT["base_url"], path=path)
        self.take(block, "api_key", _AGENT["api_key"], path=path)
        return block


def _check(draft: Draft, where: KeyPath, variables: tuple[str, ...]) -> None:
    """Report a missing key of a model, unless the command line has given it or replaced the model."""
    block, key = draft.get(where[:-1]), where[-1]
    if not isinstance(block, dict) or "provider" not in block or key in block:
        return
    if key == "base_url" and ("url" in block or block["provider"] not in (_ANY_SERVER, ACTION_PROVIDER)):
        return  # the provider has an address of its own
    choice = " or ".join(f"{variable}={'URL' if key == 'base_url' else 'NAME'}" for variable in variables)
    draft.note_source(where, f"environment variable {variables[0]}")
    draft.report(where, f"not set; a suite takes its {key} from it. Set {choice}.")
    if block["provider"] == ACTION_PROVIDER:
        give_up(draft, where[:-1])


def convert_suite(draft: Draft, environ: Mapping[str, str]) -> None:
    """Convert the keys of a suite, and its agent to a variant.

    Args:
        draft: a suite of BrowserOS.
        environ: the environment, with models, addresses and keys of the variant.
    """
    draft.move(("id",), ("name",))
    draft.move(("workers",), ("num_workers",))
    agent = draft.tree.get("agent")
    kind = agent.get("type") if isinstance(agent, dict) else None
    make = KINDS.get(kind) if isinstance(kind, str) else None
    if make is None or "variants" in draft.tree:
        return  # not an agent of a suite; validation reports it
    label = environ.get("EVAL_VARIANT") or "default"
    variant = _Variant(draft, environ, ("variants", label), draft.tree.pop("agent"))
    draft.tree["variants"] = {label: variant.block}
    draft.note_move(("agent",), variant.path)
    draft.aliases["agent",] = variant.path
    if environ.get("EVAL_VARIANT"):
        draft.note_source(variant.path, "environment variable EVAL_VARIANT")
    make(variant)


def _single(variant: _Variant) -> None:
    if "executor_backend" in variant.block:
        variant.block.pop("executor_backend")
        key = variant.draft.format_keys((*variant.path, "executor_backend"))
        variant.draft.notes.append(f"{key} is not used: the agent has no executor.")
    variant.model(variant.block)
    if images := variant.environ.get(_IMAGES):
        variant.block["supports_images"] = images.lower() in _TRUE


def _program(variant: _Variant) -> None:
    variant.take(variant.block, "model", _AGENT["model"])  # it has its own address and key


def _pair(variant: _Variant) -> None:
    block = variant.block
    if {"orchestrator", "executor"} & block.keys():
        return  # a block of ours, with models of its own
    block["orchestrator"] = variant.model({}, "orchestrator")
    key = "executor_backend" if "executor_backend" in block else "executorBackend"  # as BrowserOS writes it
    backend = block.pop(key, None)
    if backend == "clado":
        block["executor"] = _action_executor(variant)
    elif backend == "tool-loop":
        block["executor"] = _model_executor(variant, block["orchestrator"])
    else:
        hint = nearest(backend, BACKENDS) if isinstance(backend, str) else ""
        message = f"{shorten(backend)} is not allowed.{hint}" if backend is not None else "missing."
        variant.draft.report((*variant.path, key), f"{message} Write one of: {', '.join(BACKENDS)}.")
        block["executor"] = {}
        give_up(variant.draft, (*variant.path, "executor"))


def _action_executor(variant: _Variant) -> dict[str, Any]:
    executor: dict[str, Any] = {"provider": ACTION_PROVIDER}
    variant.need(executor, "base_url", *_ACTION["base_url"], path=("executor",))
    variant.take(executor, "api_key", *_ACTION["api_key"], path=("executor",))
    return executor


def _model_executor(variant: _Variant, orchestrator: dict[str, Any]) -> dict[str, Any]:
    executor: dict[str, Any] = {"type": "single", "provider": orchestrator["provider"]}
    variant.need(executor, "model", _EXECUTOR["model"], path=("executor",))
    has_own_server = variant.take(executor, "base_url", _EXECUTOR["base_url"], path=("executor",))
    variant.take(executor, "api_key", _EXECUTOR["api_key"], path=("executor",))
    if not has_own_server:
        # The key goes to the server that it is for, so no other server learns it.
        for key in ("base_url", "api_key"):
            if key in orchestrator:
                executor.setdefault(key, orchestrator[key])
        variant.draft.notes.append(
            f"{_EXECUTOR['base_url']} is not set: the executor's model is asked where the orchestrator's is."
        )
    return executor


KINDS: dict[str, Callable[[_Variant], None]] = {
    "single": _single,
    "tool-loop": _single,
    "claude-code": _program,
    **dict.fromkeys(PAIRS, _pair),
}
"""Functions that fill a block, by the agent's type in a suite."""
