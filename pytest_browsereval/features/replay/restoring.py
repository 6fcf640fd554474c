"""Reversible redaction of files next to the config: secrets can be put back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_browsereval.redaction.spellings import spell_for_browsers
from pytest_browsereval.redaction.text import redact_json

_ESCAPED = "ascii"
"""The way of JSON that has only ASCII; texts that are JSON have the other one."""

_MARK = re.compile(r"\[secret:(?P<name>[^\]|]+)(?:\|(?P<way>[a-z]+))?\]")


class RestoringRedactor:
    """Takes secrets out of plain JSON, and puts those in again that a config names.

    ``[secret:NAME]`` stands for the value of a variable that the config names by ``${NAME}``. A text that is
    JSON itself, the arguments of a tool call say, gets it back as JSON writes it. As a browser writes it into
    a form, say, it is ``[secret:NAME|form]``, and comes back so: a page that sends it is answered. What is a
    secret otherwise, a key for example, does not come back.

    Args:
        named: the values of the variables by their names.
        redact: takes all secrets out of a text.
    """

    def __init__(self, named: Mapping[str, str], redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._spelt = {name: _spelt(secret) for name, secret in named.items()}
        marks: dict[str, str] = {}
        for name, ways in self._spelt.items():
            marks.setdefault(ways[""], f"[secret:{name}]")
            marks.setdefault(_in_json(ways[""]), f"[secret:{name}]")
        for name, ways in self._spelt.items():
            for way, text in ways.items():
                marks.setdefault(text, f"[secret:{name}|{way}]")
        self._pairs = sorted(marks.items(), key=lambda pair: -len(pair[0]))

    def redact(self, value: Any) -> Any:
        """Return the value without secrets."""
        return redact_json(value, self._out)

    def restore(self, value: Any) -> Any:
        """Return the value with the secrets that the config names."""
        return redact_json(value, self._in)

    def normalize(self, value: Any) -> Any:
        """Return the value with one mark for each secret, however it was written: to be compared."""
        return redact_json(value, lambda text: _MARK.sub(r"[secret:\g<name>]", text))

    def _out(self, text: str) -> str:
        for secret, mark in self._pairs:
            text = text.replace(secret, mark)
        return self._redact(text)

    def _in(self, text: str) -> str:
        if "[secret:" not in text:
            return text
        is_json = _is_json(text)
        return _MARK.sub(lambda mark: self._value(mark, is_json=is_json), text)

    def _value(self, mark: re.Match[str], *, is_json: bool) -> str:
        way = mark["way"] or ""
        text = self._spelt.get(mark["name"], {}).get(way)
        if text is None:
            return mark[0]
        return _in_json(text) if is_json and way != _ESCAPED else text


def _spelt(secret: str) -> dict[str, str]:
    """Return the ways in which a secret is written; as it is by the name of nothing."""
    return {"": secret, _ESCAPED: json.dumps(secret)[1:-1], **spell_for_browsers(secret)}


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
