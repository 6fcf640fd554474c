"""Fields of config classes in Markdown: name, type, default and the text under the field."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue, SecretStr
from pydantic.fields import FieldInfo
from sphinx.errors import ExtensionError
from sphinx.pycode import ModuleAnalyzer

from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.registry import Component, MemberOf

PAGES = {
    "agent": "agents.md",
    "attack": "attacks.md",
    "browser": "browsers.md",
    "dataset": "datasets.md",
    "export": "exports.md",
    "grader": "graders.md",
    "guard": "guards.md",
    "rule": "gates.md",
    "toolkit": "tools.md",
}
ELSEWHERE: dict[type[BaseModel], str] = {
    JudgeConfig: "providers.md#keys-of-the-judge",
    LLMConfig: "providers.md#keys-of-a-model",
}
"""Blocks that many members hold, whose keys stand in one place."""
PLAIN: Mapping[Any, str] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    Path: "path",
    SecretStr: "text, a secret",
    date: "date",
    JsonValue: "any JSON value",
    Any: "any value",
    type(None): "none",
}
BOUNDS = {"ge": "from {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}
LONGEST_DEFAULT = 60


@dataclass(frozen=True)
class Key:
    """A key of a block as a reader writes it."""

    path: str
    kind: str
    default: str
    text: str

    def markdown(self, scope: str = "") -> str:
        """Return the entry of the key.

        Args:
            scope: what its name begins with in links and search, where the page shows the bare key.
        """
        name = f"{scope}.{self.path} {self.path}" if scope else self.path
        facts = " · ".join(fact for fact in (self.kind, self.default) if fact)
        return f"````{{key}} {name}\n{{.facts}}\n{facts}\n\n{self.text}\n````\n\n"


def list_keys(
    model: type[BaseModel], prefix: str = "", without: frozenset[str] = frozenset()
) -> Iterator[Key]:
    """Yield the keys of a block, each before those of the block that it holds.

    Args:
        model: the class of the block.
        prefix: what stands before each key, with its dot.
        without: keys that are described elsewhere.
    """
    texts = read_texts(model)
    for name, field in model.model_fields.items():
        if name in without or name == "type":
            continue
        kind = describe_field(field)
        yield Key(f"{prefix}{name}", kind, describe_default(field), texts.get(name, ""))
        for inner in find_blocks(field.annotation):
            known = next((block for block in ELSEWHERE if issubclass(inner, block)), None)
            more = frozenset(known.model_fields) if known else frozenset()
            yield from list_keys(inner, f"{prefix}{name}.", without | more)


def read_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the text under each field of a class and of its bases."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        try:
            texts = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
        except ExtensionError:  # it has no source
            continue
        for (owner, name), lines in texts.items():
            if owner == base.__qualname__:
                found[name] = " ".join(" ".join(lines).split())
    return found


def find_blocks(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the classes of blocks in an annotation, without members of families."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        if not issubclass(annotation, Component):
            yield annotation
        return
    for argument in get_args(annotation):
        yield from find_blocks(argument)


def describe_field(field: FieldInfo) -> str:
    """Return the type of a field in words, with its bounds."""
    bounds = [
        words.format(f"{getattr(rule, name):,}")
        for rule in field.metadata
        for name, words in BOUNDS.items()
        if getattr(rule, name, None) is not None and isinstance(getattr(rule, name), (int, float))
    ]
    return ", ".join([describe_type(field.annotation), *bounds])


def describe_type(annotation: Any) -> str:  # noqa: PLR0911 one for each form
    """Return a type in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in PLAIN:
        return PLAIN[annotation]
    if origin is Annotated:
        families = [one.family for one in arguments[1:] if isinstance(one, MemberOf)]
        return _link_family(families[0]) if families else describe_type(arguments[0])
    if origin is Literal:
        return _join(
            [f"`{json.dumps(value) if not isinstance(value, str) else value}`" for value in arguments]
        )
    if origin in (Union, types.UnionType):
        return _join([describe_type(one) for one in arguments if one is not type(None)])
    if origin is tuple or origin is list or origin is frozenset:
        return f"list: {describe_type(arguments[0])}" if arguments else "list"
    if origin in (dict, Mapping) and arguments[1] is JsonValue:
        return "block"
    if origin in (dict, Mapping):
        return f"map: name to {describe_type(arguments[1])}"
    if inspect.isclass(annotation) and issubclass(annotation, Component):
        return _link_family(annotation.family)
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        place = next((place for block, place in ELSEWHERE.items() if issubclass(annotation, block)), "")
        return f"[{place.partition('#')[2].rpartition('-')[2]}]({place}) block" if place else "block"
    return describe_type(annotation.__value__) if hasattr(annotation, "__value__") else "text"


def _link_family(family: str) -> str:
    return f"[{family}]({PAGES[family]}) block"


def _join(words: list[str]) -> str:
    unique = list(dict.fromkeys(words))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} or {unique[-1]}"


def describe_default(field: FieldInfo) -> str:
    """Return the default in words; "" if there is none worth a word."""
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}, "") or isinstance(value, BaseModel):
        return ""
    if isinstance(value, Path):
        return f"default `{value.as_posix()}`"
    shown = value if isinstance(value, str) else json.dumps(value, default=str)
    return f"default `{shown}`" if len(shown) <= LONGEST_DEFAULT and "\n" not in shown else ""


def write_keys(model: type[BaseModel], scope: str = "", **how: Any) -> str:
    """Return the entries of a block's keys."""
    return "".join(key.markdown(scope) for key in list_keys(model, **how))
