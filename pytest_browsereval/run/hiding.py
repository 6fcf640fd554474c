"""Secrets taken out of what is kept beside the config, so that they can be put in again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from pytest_browsereval.capture.redaction import redacted


class Hiding:
    """Takes secrets out of plain JSON, and puts those in again that a config names.

    ``[secret:1]`` stands for the value of the first variable that the config names by ``${NAME}``; written
    within JSON text it is ``[secret:1:json]``. What is a secret otherwise, a key say, does not come back.

    Args:
        named: the values of the variables, in the config's order.
        redact: takes all secrets out of a text.
    """

    def __init__(self, named: Sequence[str], redact: Callable[[str], str]) -> None:
        self._redact = redact
        pairs = []
        for number, secret in enumerate(named, 1):
            if secret:
                pairs.append((secret, f"[secret:{number}]"))
                quoted = json.dumps(secret)[1:-1]
                pairs += [(quoted, f"[secret:{number}:json]")] if quoted != secret else []
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
        for secret, mark in self._pairs:
            text = text.replace(mark, secret)
        return text
