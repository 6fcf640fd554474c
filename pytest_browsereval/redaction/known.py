"""The secrets that this process knows, and texts cut next to them: half a secret would not be found later.

Where a text is cut, what takes secrets out of it is often not at hand, or comes later.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_browsereval.redaction.redactor import Redactor
from pytest_browsereval.session_caches import forget_at_session_end

_known = [Redactor()]
"""That of all secrets that a config of this process has; one, and replaced by what knows more."""


@forget_at_session_end
def forget_secrets() -> None:
    """Know no secrets any more."""
    _known[0] = Redactor()


def know_secrets(spellings: Iterable[str]) -> None:
    """Have texts cut next to these, and ``redact_known`` take them out."""
    if not set(fresh := tuple(spellings)) <= set(_known[0].spellings):
        _known[0] = Redactor((*_known[0].spellings, *fresh))


def redact_known(text: str) -> str:
    """Return a text without any secret that this process knows."""
    return _known[0].redact(text)


def beginning(text: str, size: int) -> str:
    """Return at most so many characters of a text, without a part of a secret at their end."""
    place = size
    while 0 < place < len(text) and (across := _secrets_across(text, place)):
        place = min(start for start, _ in across)
    return text[:place]


def ending(text: str, size: int) -> str:
    """Return at most the last so many characters of a text, without a part of a secret where they begin."""
    place = max(len(text) - size, 0)
    while 0 < place < len(text) and (across := _secrets_across(text, place)):
        place = max(end for _, end in across)
    return text[place:]


def _secrets_across(text: str, place: int) -> list[tuple[int, int]]:
    """Return where secrets begin and end that a cut at this place would leave a part of."""
    found = []
    for one in _known[0].spellings:
        start = text.find(one, max(0, place - len(one) + 1), place + len(one) - 1)
        if start >= 0:
            found.append((start, start + len(one)))
    return found
