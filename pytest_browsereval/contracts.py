"""Whose fault it is: a plug-in's member that raises or returns what it must not is named in the message."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pytest_browsereval.errors import PLUGIN_ERRORS, BrowserEvalError, PluginError, is_given_up

T = TypeVar("T")


def describe_member(member: object) -> str:
    """Return what messages call a member: family and type, and its class with the module."""
    kind = type(member)
    place = f"{kind.__module__}.{kind.__qualname__}"
    family, name = getattr(kind, "family", ""), getattr(member, "type", None)
    return f"the {family} {name!r} ({place})" if family and isinstance(name, str) else place


def describe_value(value: object) -> str:
    """Return the type of a value: the value itself may be a secret, or as long as it likes."""
    return repr(value) if value is None or isinstance(value, bool) else f"a `{type(value).__name__}`"


def describe_place(function: object) -> str:
    """Return file and line of a function, or of a coroutine, in brackets; empty if it has no source."""
    plain = getattr(function, "__func__", function)
    code = getattr(plain, "__code__", None) or getattr(plain, "cr_code", None)
    return "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"


@contextmanager
def naming(member: object, call: str, *allowed: type[Exception]) -> Iterator[None]:
    """Have an exception that a member must not raise say which member it was, and where.

    On the loop a ``KeyboardInterrupt`` is the member's own doing: Ctrl-C reaches the main thread only.

    Args:
        member: whose method is called.
        call: what is called, as messages show it.
        allowed: what the method may raise besides the exceptions of this package.

    Raises:
        PluginError: in the place of any other exception.
    """
    passing: tuple[type[Exception], ...] = (BrowserEvalError, *allowed)
    try:
        yield
    except passing:
        raise
    except PLUGIN_ERRORS as error:
        is_main = threading.current_thread() is threading.main_thread()
        if is_given_up(error) or (isinstance(error, KeyboardInterrupt) and is_main):
            raise
        raise PluginError(f"{describe_member(member)}: {describe_raised(member, call, error)}") from error


def describe_raised(member: object, call: str, error: BaseException) -> str:
    """Return a sentence about what a method of a member has raised, with the line of the member's module."""
    own = getattr(sys.modules.get(type(member).__module__), "__file__", None)
    frames = traceback.extract_tb(error.__traceback__)
    inner = next((frame for frame in reversed(frames) if frame.filename == own), None)
    last = inner or (frames[-1] if frames else None)
    where = f" ({last.filename}:{last.lineno})" if last else ""
    return f"`{call}` raised {type(error).__name__}: {error}{where}. Fix the plug-in."


def describe_wrong(call: str, value: object, wanted: str, function: object) -> str:
    """Return a sentence about what a method has returned in the place of what its contract says."""
    return (
        f"`{call}` returned {describe_value(value)}, which is not {wanted}{describe_place(function)}. "
        "Fix the plug-in."
    )


def check_result(
    member: object, call: str, value: T, kind: type[Any], wanted: str, *, function: object = None
) -> T:
    """Return what a method of a member has returned, once it is known to be of the type of its contract.

    Args:
        member: the member.
        call: the method, as messages show it.
        value: what it has returned.
        kind: the type of the contract.
        wanted: the same in words.
        function: the method, where it is not the member's own.

    Raises:
        PluginError: it is of another type.
    """
    if not isinstance(value, kind):
        message = describe_wrong(call, value, wanted, function or getattr(member, call, None))
        raise PluginError(f"{describe_member(member)}: {message}")
    return value


def texts_of(member: object, call: str) -> tuple[str, ...]:
    """Return the texts that a method of a member returns.

    Raises:
        PluginError: it raises, or returns anything else.
    """
    function = getattr(member, call)
    with naming(member, call):
        found = function()
        given = tuple(found) if isinstance(found, list | tuple | set | frozenset) else None
    if given is None:
        message = describe_wrong(call, found, "a tuple of strings", function)
        raise PluginError(f"{describe_member(member)}: {message}")
    return tuple(check_result(member, call, one, str, "a string") for one in given)
