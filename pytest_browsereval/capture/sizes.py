"""Size limit of a message: cuts longer values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, TypeVar

from pytest_browsereval.model.messages import Message
from pytest_browsereval.redaction.text import well_formed

T = TypeVar("T")

MAX_MESSAGE_BYTES = 2 * 1024 * 1024
"""Of a message, if the config does not say."""

_FIELDS = ("content", "reasoning", "instruction", "summary", "result", "params")
"""What messages hold that others have written."""

_MARK_BYTES = 200
"""What the mark of a cut takes at most."""

_ENVELOPE_BYTES = 256
"""What stands around a text that was cut: names of arguments, ``ok``."""


class Shortener:
    """Cuts texts of an attempt to a size.

    Args:
        max_bytes: of a text.
        redact: replaces secrets in a text, before it is cut.
        on_cut: called with a sentence about each text that was cut.
    """

    def __init__(
        self,
        max_bytes: int,
        *,
        redact: Callable[[str], str] = str,
        on_cut: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.max_bytes = max_bytes
        self._redact = redact
        self._on_cut = on_cut
        self._cut: dict[bytes, str] = {}
        """What texts have become that were cut, by their hashes: a model's answer is said and recorded."""

    def fit_message(self, message: Message) -> Message:
        """Return a message whose texts fit; the same one, if they do."""
        changed = {}
        for name in _FIELDS:
            value = getattr(message, name, None)
            fitted = self.fit(value)
            if fitted is not value:
                changed[name] = fitted
        return message.model_copy(update=changed) if changed else message

    def fit(self, value: T) -> T:
        """Return a text or a JSON value that fits; the same one, if it does."""
        if self.is_small(value):
            return value
        if isinstance(value, str):
            return self._fit_text(value)  # type: ignore[return-value] # a text for a text
        if isinstance(value, Mapping):
            fitted = {key: self.fit(inner) for key, inner in value.items()}
            # Each text fits, and many of them together may not.
            if self.is_small(fitted, _ENVELOPE_BYTES):
                return fitted  # type: ignore[return-value] # a mapping for one
        text = self._fit_text(json.dumps(value, ensure_ascii=False, default=str))
        return {"cut": text} if isinstance(value, Mapping) else text  # type: ignore[return-value] # as above

    def is_small(self, value: object, beyond: int = 0) -> bool:
        """Whether a text or a JSON value fits.

        Args:
            value: what is measured.
            beyond: how many bytes it may have beyond the limit.
        """
        size, inner = 0, [value]
        for each in inner:  # which grows meanwhile
            if isinstance(each, str):
                size += len(each) if each.isascii() else len(each.encode(errors="replace"))
            elif isinstance(each, Mapping):
                inner += each
                inner += each.values()
            elif isinstance(each, list | tuple):
                inner += each
            size += 1
            if size > self.max_bytes + beyond:
                return False
        return True

    def refusal(self, arguments: Mapping[str, Any]) -> str:
        """Return why a tool cannot be called with arguments of this size; "" if it can."""
        if self.is_small(arguments):
            return ""
        return (
            f"The arguments are too large: limits.max_message_bytes is {self.max_bytes}. Give shorter ones."
        )

    def _fit_text(self, text: str) -> str:
        key = sha256(text.encode(errors="surrogatepass")).digest()
        if (known := self._cut.get(key)) is not None:
            return known
        safe = self._redact(well_formed(text)).encode()  # before it is cut: half a secret is not found
        shown = safe[: max(0, self.max_bytes - _MARK_BYTES)].decode(errors="ignore")
        message = f"cut at {len(shown.encode())} of {len(safe)} bytes"
        self._on_cut(f"a text was {message} (limits.max_message_bytes is {self.max_bytes})")
        self._cut[key] = made = f"{shown}\n[{message}]"
        return made
