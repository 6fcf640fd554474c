"""Lines of a log as dicts: a quarter of the time that messages take to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Required, Union, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    NonNegativeInt,
    PositiveInt,
    TypeAdapter,
    ValidationError,
    with_config,
)
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.usage import Usage

Line = dict[str, Any]
"""A message by the names that its fields have in a log; what is not there is None."""

_DAY = "((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
_TIME = f"^[12][0-9]{{3}}-{_DAY}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9][.][0-9]{{3}}Z$"
"""Times as runs write them, but for the 29th of February."""


def _make_lean(model: type[BaseModel], stricter: dict[str, Any]) -> Any:
    """Return a type of dicts that takes nothing which the model would not take too, with the same values.

    It is made of the model's own fields, so that no check is forgotten when these change.

    Args:
        model: whose fields.
        stricter: types of fields for which the model runs code of ours, the slow part.
    """
    fields: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        kind: Any = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        if info.is_required() or name == "type":
            kind = Required[kind]
        fields[info.alias or name] = stricter.get(name, kind)
    make: Any = TypedDict
    config = ConfigDict(extra="forbid", allow_inf_nan=model.model_config.get("allow_inf_nan", True))
    return with_config(config)(make(f"{model.__name__}Line", fields, total=False))


_usage = _make_lean(
    Usage,
    # Without a number of requests the model finds one.
    {
        "requests": Required[PositiveInt],
        "input_tokens": Required[NonNegativeInt],
        "output_tokens": Required[NonNegativeInt],
    },
)
_stricter = {"timestamp": Required[Annotated[str, Field(pattern=_TIME)]], "usage": _usage | None}
_made: Any = Union[tuple(_make_lean(model, _stricter) for model in get_args(get_args(Message)[0]))]  # noqa: UP007 made at run time
_lines: TypeAdapter[list[Line]] = TypeAdapter(
    Annotated[list[Annotated[_made, Field(discriminator="type")]], FailFast()]
)


def parse_log(content: bytes) -> list[Line] | None:
    """Return the lines of a log; None if one of them is damaged or odd, which ``read_log`` can tell.

    Args:
        content: of the file.
    """
    if not content.endswith(b"\n"):
        return None
    try:
        # No text in JSON has a line break in it, so that each one ends a line.
        found = _lines.validate_json(b"[%b]" % content[:-1].replace(b"\n", b","))
    except ValidationError:
        return None
    return found if len(found) == content.count(b"\n") else None


def as_lines(messages: Iterable[Message]) -> list[Line]:
    """Return messages as lines."""
    return [one.model_dump(by_alias=True) for one in messages]
