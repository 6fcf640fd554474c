"""What a feature knows of a window, for as long as the window is there."""

from __future__ import annotations

from typing import Generic, TypeVar

from pytest_browsereval.browsers.base import Window

T = TypeVar("T")


class PerWindow(Generic[T]):
    """One value per window, which the window holds: both go together, also where the value holds the window.

    A ``WeakKeyDictionary`` would keep such a window, and all of its attempt, until the process ends.
    """

    def __init__(self) -> None:
        self._name = f"_of_{id(self)}"

    def get(self, window: Window) -> T | None:
        """Return the value of a window; None if it has none."""
        return vars(window).get(self._name)

    def __setitem__(self, window: Window, value: T) -> None:
        vars(window)[self._name] = value
