"""Secrets in base64, wherever they begin."""

from __future__ import annotations

import base64

import pytest

from pytest_browsereval.redaction.encodings import base64_forms

SECRETS = ("secret-of-the-shop", "sk-0123456789", "pässwörd€", "k>?>?>?~~~", "sixchr")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("before", ["", "u", "us", "user:", "ab:", "admin:", "\n\n\n\n"])
@pytest.mark.parametrize("after", ["", ":", "::", "\n", "and more"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_is_found_whatever_stands_beside_it(
    secret: str, before: str, after: str, encode: object
) -> None:
    """Of the secret no more than two characters of base64 stay, each of which is half its neighbour's."""
    assert callable(encode)
    text = encode((before + secret + after).encode()).decode()
    safe = text
    for form in base64_forms([secret]):
        safe = safe.replace(form, "#")
    assert safe.count("#") == 1
    size = len(secret.encode())
    start, end = len(before.encode()), len((before + after).encode()) + size
    head, tail = safe.split("#")
    assert len(head) <= -(-8 * start // 6)
    assert len(tail.rstrip("=")) <= -(-8 * (end - start - size) // 6) + 1


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("left_out", ["", "="])
def test_nothing_of_a_secret_stays_at_the_end(secret: str, before: str, left_out: str) -> None:
    """The last characters are redacted too, and what fills them up: nobody else's bits are in them."""
    text = base64.b64encode((before + secret).encode()).decode()
    safe = text.rstrip(left_out)
    for form in base64_forms([secret]):
        safe = safe.replace(form, "#")
    assert safe.endswith("#")


def test_what_is_too_short_is_left() -> None:
    """A few characters stand in any picture by chance."""
    assert base64_forms(["", "abc", "abcd"]) == ()
    assert base64_forms(["abcdef", "abcdef"])
