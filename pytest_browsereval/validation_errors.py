"""Describe pydantic's errors: what was given, what is allowed, what to type."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from pytest_browsereval.errors import RegistryError, nearest
from pytest_browsereval.foreign_names import describe_form, find_meant
from pytest_browsereval.redaction.config import hide_logins, hide_secrets, is_secret_path
from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.registry import MemberOf, Registry


@dataclass(frozen=True)
class Problem:
    """A problem of a value."""

    path: tuple[str | int, ...]
    """The keys and indexes of the value."""
    message: str
    kind: str = ""
    """The type of the error, by pydantic's names or ours."""
    means: str = ""
    """For an unknown key: which key is meant."""
    form: str = ""
    """How a key is written whose value is of another kind altogether, such as a text for a block."""
    allowed: tuple[str, ...] = ()
    """For an unknown key that resembles none: the keys of its block, which the message does not have."""

    @property
    def where(self) -> str:
        """The path with dots."""
        return ".".join(map(str, self.path))


def snake(name: str) -> str:
    """Return the snake_case form of a key."""
    # Not pydantic's `to_snake`: it parts letters from digits, and max_p95_steps would be max_p_95_steps.
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def canonical_key(key: str) -> str:
    """Return the snake_case form of a key in camelCase, and any other key as it is."""
    # Only what `to_camel` makes is camelCase. PATH, Accept-Language and maxSTEPS are names of their own.
    name = snake(key)
    return name if to_camel(name) == key else key


def accepts_camel_case(kind: Any) -> bool:
    """Return True if an annotation is a model whose keys may be in camelCase as well."""
    return is_model(kind) and bool(kind.model_config.get("alias_generator"))


def is_model(kind: Any) -> bool:
    """Return True if an annotation is a model."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def shorten(value: object) -> str:
    """Return a ``repr`` that fits into a sentence, without values that are secret by their keys."""
    limit = reprlib.Repr()
    limit.maxstring = limit.maxother = 80
    return limit.repr(hide_secrets(value))


def list_fields(model: type[BaseModel]) -> list[str]:
    """Return the keys of a model's block, sorted."""
    return sorted(model.model_fields)


def list_problems(
    error: ValidationError,
    model: type[BaseModel],
    raw: object,
    registry: Registry | None = None,
    *,
    hide: bool = False,
    notation: str = ".yaml",
) -> list[Problem]:
    """Return the problems of a value, one for each path.

    Args:
        error: the error from validating ``raw`` with ``model``.
        model: the model.
        raw: the value that was validated.
        registry: the registry for blocks of plug-in members.
        hide: True leaves values out of the messages.
        notation: the suffix of the file, for what to write.
    """
    # A union gives one error for each of its branches, which are one problem for the user.
    found: dict[tuple[str | int, ...], list[Problem]] = {}
    for details in error.errors(include_url=False):
        problem = _problem(details, model, raw, registry, hide=hide, notation=notation)
        same = found.setdefault(problem.path, [])
        if problem not in same:
            same.append(problem)
    # What is there under another tool's name is not missing as well.
    meant = {(*path[:-1], several[0].means) for path, several in found.items() if several[0].means}
    listed: set[tuple[str, ...]] = {()}
    problems = []
    for path, each in found.items():
        # A branch of a union that the value fits, but for a bound or a validator, is the one that is meant.
        several = [p for p in each if p.kind == "value_error" or p.kind in _BOUNDS] or each
        # All keys of a block are listed once.
        lists = ["" if p.allowed in listed else f" Allowed: {', '.join(p.allowed)}." for p in several]
        listed.update(p.allowed for p in several)
        told = " Or: ".join(p.message + keys for p, keys in zip(several, lists, strict=True))
        if several[0].kind != "missing" or path not in meant:
            form = several[0].form if len(several) == 1 else ""
            problems.append(replace(several[0], message=told + form))
    return problems


def _problem(
    details: ErrorDetails,
    model: type[BaseModel],
    raw: object,
    registry: Registry | None,
    *,
    hide: bool,
    notation: str,
) -> Problem:
    is_absent = details["type"] in ("missing", "extra_forbidden")
    loc = details["loc"]
    kind: Any = model
    path: list[str | int] = []
    value: Any = raw
    parents = loc[:-1] if is_absent else loc
    for part in parents:
        kind = _resolve(kind, value, registry)
        key = _find_key(value, part)
        if key is None:
            continue  # not a key: the label of a union's branch, or a step of a validator
        kind, value = _step(kind, part), value[key]
        path.append(key)
    if is_absent and loc:
        path.append(loc[-1])
    owner = _resolve(kind, value, registry)
    allowed = list_fields(owner) if is_model(owner) else []
    if details["type"] == "plugged_unknown" and isinstance(value, Mapping):
        path.append("type")
    is_secret = hide or is_secret_path(path)
    last, shown = str(path[-1]) if path else "", None if is_secret else hide_secrets(details["input"])
    if details["type"] == "extra_forbidden":
        key, others = snake(last), value if isinstance(value, Mapping) else {}
        if means := find_meant(key, allowed) or "":
            hint = hide_logins(describe_form(means, key, shown, notation, others))
        else:
            hint = nearest(key, allowed)
        listed = () if hint else tuple(allowed)
        return Problem(tuple(path), f"unknown key.{hint}", details["type"], means, allowed=listed)
    error = details["type"]
    hint = "" if is_secret or not path else _hint_at_unit(last, details)
    is_list = error == "string_type" and isinstance(details["input"], list)
    is_other = path and (is_list or error in ("model_type", "dict_type"))
    form = hide_logins(describe_form(last, "", shown, notation)) if is_other else ""
    return Problem(tuple(path), _describe(details, hide=is_secret) + hint, error, form=form)


def walk(
    value: Any, kind: Any, registry: Registry | None = None, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    """Yield the path, the value and the annotation of everything in a tree, outer blocks first.

    The annotation of a block or list is its model or container, or None if its key or its type is unknown.
    The caller may change the block that was yielded last.

    Args:
        value: the tree.
        kind: its model or annotation.
        registry: the registry for blocks of plug-in members.
        path: the path of the tree.
    """
    if not isinstance(value, Mapping | list | tuple):
        yield path, value, kind
        return
    kind = _resolve(kind, value, registry)
    if isinstance(value, Mapping) and get_origin(kind) is tuple:
        kind = _resolve(get_args(kind)[0], value, registry)  # a block is short for a list of one
    yield path, value, kind
    if kind is None:
        return
    for key, child in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from walk(child, _step(kind, key), registry, (*path, key))


def wrong_booleans(
    raw: object, model: Any, registry: Registry | None = None, path: tuple[str | int, ...] = ()
) -> Iterator[Problem]:
    """Yield a problem for each boolean in the place of a number.

    Args:
        raw: a value as the user wrote it.
        model: its model or annotation.
        registry: the registry for blocks of plug-in members.
        path: the path of the value.
    """
    # To pydantic, true is 1: `retries: true` would be one retry. Strict mode would refuse "1" and 1.0 too.
    for where, value, kind in walk(raw, model, registry, path):
        if isinstance(value, bool) and _takes_numbers_only(kind):
            words = "yes and on" if value else "no and off"
            message = f"expected a number, not {str(value).lower()} (YAML's {words} too)."
            yield Problem(where, f"{message} Write the number, or leave the key out.", "number")


def _takes_numbers_only(kind: Any) -> bool:
    """Return True if an annotation accepts numbers and no booleans."""
    leaves = set(_leaves(kind))
    return not leaves.isdisjoint((int, float)) and leaves.isdisjoint((bool, Any, object, JsonValue))


def _leaves(kind: Any) -> Iterator[Any]:
    if get_origin(kind) is Annotated:
        yield from _leaves(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for branch in get_args(kind):
            yield from _leaves(branch)
    elif get_origin(kind) is Literal:
        yield from {type(value) for value in get_args(kind)}
    else:
        yield kind


def _find_key(value: Any, part: str | int) -> str | int | None:
    """Return the key of ``value`` for a part of a location; None if there is none."""
    if isinstance(value, Mapping):
        # Keys of a config are canonical, those of blocks in rows are as their authors wrote them.
        return next((key for key in (part, to_camel(str(part))) if key in value), None)
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return part if is_list and isinstance(part, int) and part < len(value) else None


def _resolve(kind: Any, value: object, registry: Registry | None) -> Any:
    """Return the model or container of an annotation for this value."""
    while get_origin(kind) is Annotated:
        base, *extras = get_args(kind)
        for extra in extras:
            if isinstance(extra, MemberOf):
                return _member(extra, value, registry)
        kind = base
    if get_origin(kind) in (Union, UnionType):
        return next(_fitting(get_args(kind), value, registry), Any)
    return kind


def _fitting(branches: Iterable[Any], value: object, registry: Registry | None) -> Iterator[Any]:
    for branch in branches:
        resolved = _resolve(branch, value, registry)
        container = get_origin(resolved) or resolved
        if not isinstance(container, type):
            continue
        wanted: Any = BaseModel | Mapping if isinstance(value, Mapping) else list | tuple | Sequence
        if isinstance(value, Mapping | list) and issubclass(container, wanted):
            yield resolved


def _member(field: MemberOf, value: object, registry: Registry | None) -> Any:
    name = value.get("type", field.default) if isinstance(value, Mapping) else value
    if registry is None or not isinstance(name, str):
        return None
    try:
        return registry.get(field.family, name)
    except RegistryError:
        return None


def _step(kind: Any, part: str | int) -> Any:
    """Return the annotation under a key of a model or container; None if the key is unknown."""
    if is_model(kind):
        field = kind.model_fields.get(canonical_key(str(part)))
        if field is None:
            # Any: a plug-in's own validator may know the key, and its value is nobody else's business.
            return None if accepts_camel_case(kind) else Any
        marker = next((extra for extra in field.metadata if isinstance(extra, MemberOf)), None)
        return Annotated[field.annotation, marker] if marker else field.annotation
    args = [arg for arg in get_args(kind) if arg is not Ellipsis]
    return args[-1] if args else Any


# -- one sentence for each type of error

_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "a string",
    "path": "a path",
    "date": "a day such as 2027-01-31",
    "dict": "a block of keys",
    "mapping": "a block of keys",
    "model": "a block of keys",
    "tuple": "a list",
    "list": "a list",
    "set": "a list",
    "frozen": "a list",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def _describe(details: ErrorDetails, *, hide: bool = False) -> str:
    """Return what is wrong, what is allowed and what to type.

    Args:
        details: one of pydantic's errors.
        hide: True leaves the value out, for secrets.
    """
    kind, context = details["type"], details.get("ctx", {})
    given = repr(HIDDEN) if hide else shorten(details["input"])
    if kind == "missing":
        return "missing. Write it."
    if kind in ("literal_error", "enum"):
        return _not_a_choice(details["input"], given, str(context.get("expected", "")))
    return _wrong_value(kind, given, context, details["msg"])


def _not_a_choice(value: object, given: str, expected: str) -> str:
    choices = re.findall(r"'([^']*)'", expected)
    hint = nearest(value, choices) if isinstance(value, str) else ""
    return f"{given} is not allowed.{hint} Allowed: {', '.join(choices) or expected}."


def _wrong_value(kind: str, given: str, context: Mapping[str, Any], message: str) -> str:
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"must be {words} {_number(context[name])}; it is {given}."
    if kind == "string_too_short":
        return f"must have at least {context['min_length']} characters; it is {given}."
    if kind == "plugged_block":
        return f"expected the name of {context['family']} or a block with its type, not {given}."
    expected = _EXPECTED.get(kind.partition("_")[0])
    if expected and kind.endswith(("_type", "_parsing", "_from_float")):
        return f"expected {expected}, not {given}."
    if kind.startswith("plugged") or "error" in context:
        return str(context.get("error") or message)
    return f"{message[:1].lower()}{message[1:].removesuffix('.')}; it is {given}."


def _hint_at_unit(key: str, details: ErrorDetails) -> str:
    """Return what to write for a number that was meant in another unit: seconds, or percent."""
    value, context = details["input"], details.get("ctx", {})
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if key.endswith("_ms") and 0 < value < context.get("ge", 0):
        return f" It is in milliseconds: write {value * 1000:.0f} for {value} s."
    if context.get("le", context.get("lt")) == 1 and 1 < value <= 100:
        return f" It is a share: write {value / 100:g} for {value} %."
    return ""


def _number(bound: object) -> str:
    return f"{bound:_}" if isinstance(bound, int) else str(bound)
