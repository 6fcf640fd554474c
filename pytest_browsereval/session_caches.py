"""Caches that end with the pytest session: one process may run several sessions, one inside another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_forgetters: list[Callable[[], object]] = []
_open_sessions = 0


def cache_for_session(maxsize: int | None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator like ``functools.lru_cache`` whose values are dropped when the session ends.

    Args:
        maxsize: how many values are kept; None keeps all.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cached = functools.lru_cache(maxsize)(function)
        _forgetters.append(cached.cache_clear)
        return cast("Callable[P, T]", cached)

    return decorate


def forget_at_session_end(forget: Callable[[], None]) -> Callable[[], None]:
    """Register a function that drops what its module remembers; a decorator."""
    _forgetters.append(forget)
    return forget


def begin_session() -> None:
    """Count a session that has begun."""
    global _open_sessions  # noqa: PLW0603 caches belong to the process, and so does this
    _open_sessions += 1


def end_session() -> None:
    """Count a session that has ended; after the last one every cache is dropped."""
    global _open_sessions  # noqa: PLW0603 the same
    _open_sessions -= 1
    if _open_sessions == 0:
        for forget in _forgetters:
            forget()
