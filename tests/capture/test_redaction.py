"""Secrets are found however they are written."""

from __future__ import annotations

import json
from html import escape
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.capture.redaction import redacted, safe_line, spellings
from tests.support import Run

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
        f"<p>{escape(SECRET, quote=False)}",
        f'<input value="{escape(SECRET)}">',
    ]
    for text in texts:
        assert "one" not in without(text), text
        assert "***" in without(text)


@pytest.mark.parametrize("secret", [SECRET, "p*ss~(w)!é'$;,=+[x]^`{|}@:% z", "it's*~&", "p~ss w"])
def test_a_secret_is_found_in_what_browsers_write(run: Run, browser: PlaywrightBrowser, secret: str) -> None:
    """In addresses of all kinds, as a real one spells them."""
    ways = """secret => [
        encodeURIComponent(secret), encodeURI(secret), new URLSearchParams({q: secret}).toString(),
        new URL("http://shop.test/?" + secret).href, new URL("http://shop.test/#" + secret).href,
        new URL("http://shop.test/?q#" + encodeURIComponent(secret)).href,
        JSON.stringify({secret}), new URL("http://shop.test/" + secret.replaceAll("#", "")).href,
    ]"""

    async def written() -> list[str]:
        window = await browser.open_window(WindowRequest("row"))
        found: list[str] = await window.page.evaluate(ways, secret)
        await window.close()
        return found

    for text in run(written()):
        safe = text
        for spelling in spellings([secret]):
            safe = safe.replace(spelling, "***")
        assert "***" in safe, text


def test_the_longer_of_two_secrets_goes_first() -> None:
    """One that contains another leaves no rest behind, and an empty one replaces nothing."""
    assert without(f"<{SECRET}>") == "<***>"
    assert without("nothing to hide") == "nothing to hide"


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, True, None, "ü\u2028\x7f\t"]},
        {"text": SECRET, SECRET: ["in a name"]},
        {"quoted": json.dumps(SECRET), "twice": json.dumps(json.dumps(SECRET)), "python": repr(SECRET)},
        {"lines": f"one\ntwo {SECRET}\nthree"},
        {"half": "\ud83d", "whole": "\ud83d\ude00", SECRET: "\udc00"},
        {"first": SECRET[:9], "second": SECRET[9:]},
    ],
    ids=lambda value: next(iter(value))[:6],
)
def test_a_line_is_what_it_is_text_by_text(value: Any) -> None:
    """Looking at all texts at once finds what looking at each one finds, and takes out no more."""
    line, changed = safe_line(value, without)
    expected = redacted(value, without)
    assert line.endswith(b"\n")
    assert json.loads(line) == expected == (value if changed is None else changed)
    assert b"one" not in line or "one" in str(expected)
    plain = redacted(value, str)
    written = json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"
    assert safe_line(value, str)[0].decode() == written
