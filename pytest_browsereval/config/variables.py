"""What may be typed by name: values of the environment, and codes that are made when they are typed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from pytest_browsereval.config.block import Block

if TYPE_CHECKING:
    from pyotp import TOTP


class TotpVariable(Block):
    """A code of two-factor authentication (2FA), made when it is typed."""

    totp: SecretStr
    """The secret of the account in base 32, or its ``otpauth://`` address, as ``${NAME}``."""


def name_variables(value: Any) -> Any:
    """Return variables by name, of a list of names and of ``{name: {totp: ...}}`` in it."""
    if not isinstance(value, list | tuple):
        return value
    named: dict[Any, Any] = {}
    for one in value:
        named |= one if isinstance(one, dict) else {one: None}
    return named


class Variables(Mapping[str, str]):
    """Values by the names of variables; that of a code is another one each time.

    Args:
        values: of the environment.
        codes: make codes, by name.
        tell: called with each code that is made, before anything else knows it.
    """

    def __init__(
        self,
        values: Mapping[str, str],
        codes: Mapping[str, TOTP],
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._values, self._codes, self._tell = values, codes, tell

    def __getitem__(self, name: str) -> str:
        if name not in self._codes:
            return self._values[name]
        code = self._codes[name].now()
        self._tell(code)
        return code

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._codes  # and makes no code

    def __iter__(self) -> Iterator[str]:
        yield from (*self._values, *self._codes)

    def __len__(self) -> int:
        return len(self._values) + len(self._codes)

    def list_typed(self, span_s: int = 3_600) -> dict[str, str]:
        """Return the name of each value that a person may type within a time from now."""
        found = {value: name for name, value in self._values.items()}
        for name, one in self._codes.items():
            times = range(int(time.time()) - one.interval, int(time.time()) + span_s, one.interval)
            found |= {one.at(moment): name for moment in times}
        return found

    def telling(self, tell: Callable[[str], object]) -> Variables:
        """Return the same, with a listener that gets each code."""
        return Variables(self._values, self._codes, tell)
