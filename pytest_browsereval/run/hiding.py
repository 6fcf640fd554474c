"""Secrets taken out of what is kept beside the config, so that they can be put in again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pytest_browsereval.capture.redaction import redacted


class Hiding:
    """Takes secrets out of plain JSON, and puts those in again that a config names.

    ``[secret:NAME]`` stands for the value of a variable that the config names by ``${NAME}``. A text that is
    JSON itself, the arguments of a tool call say, gets it back as JSON writes it. What is a secret otherwise,
    a key for example, does not come back.

    Args:
        named: the values of the variables by their names.
        redact: takes all secrets out of a text.
    """

    def __init__(self, named: Mapping[str, str], redact: Callable[[str], str]) -> None:
        self._redact = redact
        pairs: list[tuple[str, str]] = []
        self._marks: dict[str, str] = {}
        for name, secret in named.items():
            mark = f"[secret:{name}]"
            pairs += [(secret, mark), (json.dumps(secret)[1:-1], mark)]
            self._marks[mark] = secret
        self._pairs = sorted(pairs, key=lambda pair: -len(pair[0]))

    def hidden(self, value: Any) -> Any:
        """Return the value without secrets."""
        return redacted(value, self._out)

    def restored(self, value: Any) -> Any:
        """Return the value with the secrets that the config names."""
        return redacted(value, self._in)

    def _out(self, text: str) -> str:
        for secret, mark in self._pairs:
            text = text.replace(secret, mark)
        return self._redact(text)

    def _in(self, text: str) -> str:
        found = [mark for mark in self._marks if mark in text]
        is_json = bool(found) and _is_json(text)
        for mark in found:
            secret = self._marks[mark]
            text = text.replace(mark, json.dumps(secret)[1:-1] if is_json else secret)
        return text


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
