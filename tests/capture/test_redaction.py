"""Secrets are found however they are written."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

from pytest_browsereval.capture.redaction import spellings

SECRET = 'pässword "one" & two'


def without(text: str) -> str:
    for spelling in spellings([SECRET, "", "pässword"]):
        text = text.replace(spelling, "***")
    return text


def test_a_secret_is_found_in_quotes_and_addresses() -> None:
    """As it is, in JSON of both kinds, in Python's own quoting, in a path and in a form's address."""
    texts = [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        repr(SECRET + "'"),
        f"http://shop.test/{quote(SECRET)}",
        f"http://shop.test/?{urlencode({'q': SECRET})}",
    ]
    for text in texts:
        assert "one" not in without(text), text
        assert "***" in without(text)


def test_the_longer_of_two_secrets_goes_first() -> None:
    """One that contains another leaves no rest behind, and an empty one replaces nothing."""
    assert without(f"<{SECRET}>") == "<***>"
    assert without("nothing to hide") == "nothing to hide"
