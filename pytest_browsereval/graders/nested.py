"""Graders inside of graders, found among their options at any depth, and what all of them observe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import EllipsisType
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue

from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.traffic import Traffic
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.sites.placeholders import fill

B = TypeVar("B", bound=BaseModel)


def parts_of(grader: GraderConfig) -> tuple[GraderConfig, ...]:
    """Return the graders that a grader has among its options; those inside of them are theirs."""
    return tuple(value for _, value in walk_options(grader) if isinstance(value, GraderConfig))


def unfold(grader: GraderConfig) -> Iterator[GraderConfig]:
    """Yield a grader and those inside of it, at any depth."""
    yield grader
    for part in parts_of(grader):
        yield from unfold(part)


def walk_options(block: BaseModel) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the options of a block at any depth; of models and graders no further ones."""
    for name in type(block).model_fields:
        yield from _walk_value(name, getattr(block, name))


def _walk_value(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield name, value
    if isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _walk_value(name, inner)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk_value(str(key), inner)
    elif isinstance(value, BaseModel) and not isinstance(value, LLMConfig | GraderConfig):
        # A model's own options are not parts of a grader, and a grader walks its own.
        yield from walk_options(value)


def fill_sites(block: B, urls: Mapping[str, str]) -> B:
    """Return a grader, or another block, with the placeholders of sites filled in, in its parts too.

    Args:
        block: whose options may hold ``{shop}``.
        urls: base URLs by the name of the site.
    """
    # Of what was given only: a rule may depend on whether an option was left to its default.
    fields = {name: _fill_value(getattr(block, name), urls) for name in block.model_fields_set}
    return block.model_copy(update=fields)


def _fill_value(value: Any, urls: Mapping[str, str]) -> Any:
    if isinstance(value, BaseModel):
        return fill_sites(value, urls)
    if isinstance(value, Mapping):
        return {key: _fill_value(inner, urls) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_fill_value(inner, urls) for inner in value)
    return fill(value, urls)


def observation_keys(
    graders: Iterable[GraderConfig], task: Task, redact: Callable[[str], str] = str
) -> dict[str, str]:
    """Return 16 hex digits over what each grader observes of an attempt, by its label.

    A part of a grader has both labels, ``combined/state_diff``. Graders for which options and row make no
    difference are left out.

    Args:
        graders: with their placeholders filled in.
        task: the row, filled in as well.
        redact: takes secrets out, so that one that was renewed makes no difference.
    """
    return {
        label: hashlib.sha256(json.dumps(redact_json(what, redact), sort_keys=True).encode()).hexdigest()[:16]
        for label, what in _observations(graders, task)
    }


def _observations(graders: Iterable[GraderConfig], task: Task) -> Iterator[tuple[str, JsonValue]]:
    for grader in graders:
        if parts := parts_of(grader):
            yield from ((f"{grader.label}/{label}", what) for label, what in _observations(parts, task))
            continue
        needs = grader.needs(task)
        page, traffic = needs.observes, needs.traffic or Traffic()
        if isinstance(page, EllipsisType):
            # Who does not override `observe` sees nothing, so no change of the row matters.
            sees_nothing = type(grader).observe is GraderConfig.observe
            page = None if sees_nothing else {"checks": list(task.checks), "evals": list(task.evals)}
        # Keys of graders that observe the same for every row would only make evidence look outdated.
        if page is not None or traffic != Traffic():
            yield grader.label, [grader.type, page, traffic.replies, *sorted(traffic.cookies)]
