"""Pydantic's errors as sentences: what was given, what is allowed, what to type next."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from pytest_browsereval.errors import RegistryError, nearest
from pytest_browsereval.redaction.config import hide_secrets, is_secret_path
from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.registry import Plugged, Registry


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    path: tuple[str | int, ...]
    """Where: keys and indexes as the user wrote them."""
    message: str
    kind: str = ""
    """Pydantic's name of the error; ours for our own."""

    @property
    def where(self) -> str:
        """The path with dots."""
        return ".".join(map(str, self.path))


def snake(name: str) -> str:
    """Return the snake_case form of a key, so that spellings can be compared."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def short(value: object) -> str:
    """Return a ``repr`` that fits in a sentence, without what is secret by its name."""
    limit = reprlib.Repr()
    limit.maxstring = limit.maxother = 80
    return limit.repr(hide_secrets(value))


def field_names(model: type[BaseModel]) -> list[str]:
    """Return the keys that a block of this model may have, sorted."""
    return sorted(model.model_fields)


def problems_in(
    error: ValidationError,
    model: type[BaseModel],
    raw: object,
    registry: Registry | None = None,
    *,
    hide: bool = False,
) -> list[Problem]:
    """Return what is wrong, one problem for each place.

    Args:
        error: what validating ``raw`` by ``model`` raised.
        model: the model.
        raw: the value that was validated, for keys as the user wrote them.
        registry: where blocks of plug-in members are looked up.
        hide: True tells no values.
    """
    found: dict[tuple[str | int, ...], list[Problem]] = {}
    for details in error.errors(include_url=False):
        problem = _problem(details, model, raw, registry, hide=hide)
        same = found.setdefault(problem.path, [])
        if problem.message not in [other.message for other in same]:
            same.append(problem)
    return [
        Problem(path, " Or: ".join(p.message for p in several), several[0].kind)
        for path, several in found.items()
    ]


def _problem(
    details: ErrorDetails, model: type[BaseModel], raw: object, registry: Registry | None, *, hide: bool
) -> Problem:
    is_absent = details["type"] in ("missing", "extra_forbidden")
    loc = details["loc"]
    kind: Any = model
    path: list[str | int] = []
    value = raw
    parents = loc[:-1] if is_absent else loc
    for part in parents:
        kind = _resolve(kind, value, registry)
        key = find_key(value, part)
        if key is None:
            continue  # a label of a union's branch, or a step that validators put in
        kind, value = _step(kind, part), _inner(value, key)
        path.append(key)
    if is_absent and loc:
        path.append(loc[-1])
    owner = _resolve(kind, value, registry)
    allowed = field_names(owner) if isinstance(owner, type) and issubclass(owner, BaseModel) else []
    if details["type"] == "plugged_unknown" and isinstance(value, Mapping):
        path.append("type")
    is_secret = hide or is_secret_path(path)
    return Problem(tuple(path), sentence(details, allowed, hide=is_secret), details["type"])


def wrong_booleans(
    raw: object, model: Any, registry: Registry | None = None, path: tuple[str | int, ...] = ()
) -> Iterator[Problem]:
    """Yield a problem for each boolean where a number belongs: to pydantic, true is 1 and false is 0.

    Args:
        raw: a value as the user wrote it.
        model: the model or annotation that it is validated by.
        registry: where blocks of plug-in members are looked up.
        path: where the value is.
    """
    if isinstance(raw, bool):
        if _takes_numbers_only(model):
            written = str(raw).lower()
            message = (
                f"expected a number, not {written} (YAML's {'yes and on' if raw else 'no and off'} too)."
            )
            yield Problem(path, f"{message} Write the number, or leave the key out.", "number")
        return
    kind = _resolve(model, raw, registry)
    inner = (
        raw.items() if isinstance(raw, Mapping) else enumerate(raw) if isinstance(raw, list | tuple) else ()
    )
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    for key, child in inner:
        step = _step(kind, snake(key) if is_model and isinstance(key, str) else key)
        if step is not None:
            yield from wrong_booleans(child, step, registry, (*path, key))


def _takes_numbers_only(kind: Any) -> bool:
    """Whether an annotation takes numbers and no booleans."""
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


def find_key(value: object, part: str | int) -> str | int | None:
    """Return the key of ``value`` that spells ``part``, in whatever case; None if there is none."""
    if isinstance(value, Mapping):
        if part in value:
            return part
        return next((key for key in value if isinstance(key, str) and snake(key) == part), None)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and isinstance(part, int):
        return part if part < len(value) else None
    return None


def _inner(value: Any, key: str | int) -> Any:
    return value[key]


def _resolve(kind: Any, value: object, registry: Registry | None) -> Any:
    """Return the model or container that a value of this annotation is validated by."""
    while get_origin(kind) is Annotated:
        base, *extras = get_args(kind)
        for extra in extras:
            if isinstance(extra, Plugged):
                return _member(extra, value, registry)
        kind = base
    if get_origin(kind) in (Union, UnionType):
        return next(_fitting(get_args(kind), value, registry), None)
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


def _member(plugged: Plugged, value: object, registry: Registry | None) -> Any:
    name = value.get("type", plugged.default) if isinstance(value, Mapping) else value
    if registry is None or not isinstance(name, str):
        return None
    try:
        return registry.get(plugged.family, name)
    except RegistryError:
        return None


def _step(kind: Any, part: str | int) -> Any:
    """Return the annotation of the value under that key of a model or container."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        if field is None:
            return None
        plugged = next((extra for extra in field.metadata if isinstance(extra, Plugged)), None)
        return Annotated[field.annotation, plugged] if plugged else field.annotation
    args = [arg for arg in get_args(kind) if arg is not Ellipsis]
    return args[-1] if args else None


# -- one sentence for each kind of error

_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "a text",
    "path": "a path",
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


def sentence(details: ErrorDetails, allowed: Sequence[str] = (), *, hide: bool = False) -> str:
    """Return what is wrong, what is allowed and what to type.

    Args:
        details: one error of pydantic.
        allowed: the keys of the block that it is about.
        hide: True for secrets: the value is not told.
    """
    kind, context = details["type"], details.get("ctx", {})
    given = repr(HIDDEN) if hide else short(details["input"])
    if kind == "extra_forbidden":
        key = str(details["loc"][-1])
        return f"unknown key.{nearest(snake(key), allowed)} Allowed: {', '.join(allowed)}."
    if kind == "missing":
        return "missing; it has to be given."
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
    if kind.startswith("plugged") or "error" in context:
        return str(context.get("error") or message)
    expected = _EXPECTED.get(kind.partition("_")[0])
    if expected and kind.endswith(("_type", "_parsing", "_from_float")):
        return f"expected {expected}, not {given}."
    return f"{message[:1].lower()}{message[1:].removesuffix('.')}; it is {given}."


def _number(bound: object) -> str:
    return f"{bound:_}" if isinstance(bound, int) else str(bound)
