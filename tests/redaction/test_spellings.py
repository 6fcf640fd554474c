"""Secrets are found however they are written."""

from __future__ import annotations

import base64
import json
from html import escape
from urllib.parse import quote, urlencode

import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.redaction.spellings import list_base64_forms, list_spellings
from tests.support import Run

SECRET = 'pässword "one" & two'

SECRETS = ("secret-of-the-shop", "sk-0123456789", "pässwörd€", "k>?>?>?~~~", "sixchr")


def without(text: str) -> str:
    for spelling in list_spellings([SECRET, "", "pässword"]):
        text = text.replace(spelling, "***")
    return text


def test_a_secret_is_found_whatever_stands_beside_it(subtests: pytest.Subtests) -> None:
    """Of the secret no more than two characters of base64 stay, each of which is half its neighbour's."""
    others3: list[object] = [base64.b64encode, base64.urlsafe_b64encode]
    for secret in SECRETS:
        for before in ["", "u", "us", "user:", "ab:", "admin:", "\n\n\n\n"]:
            for after in ["", ":", "::", "\n", "and more"]:
                for encode in others3:
                    with subtests.test(secret=secret, before=before, after=after):
                        assert callable(encode)
                        text = encode((before + secret + after).encode()).decode()
                        safe = text
                        for form in list_base64_forms([secret]):
                            safe = safe.replace(form, "#")
                        assert safe.count("#") == 1
                        size = len(secret.encode())
                        start, end = len(before.encode()), len((before + after).encode()) + size
                        head, tail = safe.split("#")
                        assert len(head) <= -(-8 * start // 6)
                        assert len(tail.rstrip("=")) <= -(-8 * (end - start - size) // 6) + 1


def test_nothing_of_a_secret_stays_at_the_end(subtests: pytest.Subtests) -> None:
    """The last characters are redacted too, and what fills them up: nobody else's bits are in them."""
    for secret in SECRETS:
        for before in ["", "u", "us", "user:"]:
            for left_out in ["", "="]:
                with subtests.test(secret=secret, before=before, left_out=left_out):
                    text = base64.b64encode((before + secret).encode()).decode()
                    safe = text.rstrip(left_out)
                    for form in list_base64_forms([secret]):
                        safe = safe.replace(form, "#")
                    assert safe.endswith("#")


def test_what_is_too_short_is_left() -> None:
    """A few characters stand in any picture by chance."""
    assert list_base64_forms(["", "abc", "abcd"]) == ()
    assert list_base64_forms(["abcdef", "abcdef"])


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
    odd = "a'b\"c\\d\u20acf"
    for quoted in (json.dumps(odd), json.dumps(odd, ensure_ascii=False), repr(odd)):
        assert quoted[1:-1] in list_spellings([odd])


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
        for spelling in list_spellings([secret]):
            safe = safe.replace(spelling, "***")
        assert "***" in safe, text


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("hunter2-pass\n", "hunter2-pass"),
        (" hunter2-pass ", "hunter2-pass"),
        ("hunter2\n-pass", "hunter2-pass"),
        ("hunter2\r\n -pass\n", "hunter2 -pass"),
    ],
)
def test_a_secret_is_found_without_its_line_breaks(secret: str, text: str) -> None:
    """A field of one line takes them out, and many a program takes off blanks around what it reads."""
    assert without_all(f"<{text}>", secret) == "<***>"
    assert without_all(base64.b64encode(text.encode()).decode(), secret) == "***"


def test_a_secret_is_found_in_what_pages_encode() -> None:
    """``btoa`` writes Latin-1."""
    text = base64.b64encode("user: pässwörd-one".encode("latin-1")).decode()
    assert without_all(text, "pässwörd-one") == f"{text[:8]}***"


def without_all(text: str, secret: str) -> str:
    for spelling in (*list_spellings([secret]), *list_base64_forms([secret])):
        text = text.replace(spelling, "***")
    return text


def test_the_longer_of_two_secrets_goes_first() -> None:
    """One that contains another leaves no rest behind, and an empty one replaces nothing."""
    assert without(f"<{SECRET}>") == "<***>"
    assert without("nothing to hide") == "nothing to hide"


EMBEDDED = "Tiger&Canary<Rose>7/\u00e4'\U0001f600\"-="
"""A secret of all signs that servers write in other ways."""


def test_a_secret_is_found_in_the_state_that_pages_embed() -> None:
    """By what servers escape, in both cases of letters, in JSON within JSON and in attributes."""
    plain = json.dumps({"pw": EMBEDDED})

    def spell(text: str, signs: str, *, is_upper: bool = False) -> str:
        def write(one: str) -> str:
            return f"\\u{ord(one):04X}" if is_upper else f"\\u{ord(one):04x}"

        return "".join(write(one) if one in signs else one for one in text)

    upper = (
        json.dumps({"pw": EMBEDDED}).replace("\\u00e4", "\\u00E4").replace("\\ud83d\\ude00", "\\uD83D\\uDE00")
    )
    texts = {
        "Rails": spell(plain, "&<>"),
        "Rails, all letters": spell(json.dumps({"pw": EMBEDDED}, ensure_ascii=False), "&<>"),
        "Flask": spell(plain, "&<>'"),
        "PHP": upper.replace("/", "\\/"),
        "PHP for markup": spell(upper.replace('\\"', "\\u0022"), "&<>'", is_upper=True).replace("/", "\\/"),
        "Gson": spell(plain, "&<>'="),
        ".NET": spell(upper.replace('\\"', "\\u0022"), "&<>'+", is_upper=True),
        "in JSON": json.dumps(spell(plain, "&<>")),
        "in an attribute": escape(json.dumps({"pw": EMBEDDED}, ensure_ascii=False)),
        "in an attribute of Jinja": escape(plain).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
        "numbers of letters": escape(EMBEDDED).encode("ascii", "xmlcharrefreplace").decode(),
    }
    spellings = list_spellings([EMBEDDED])
    assert [name for name, text in texts.items() if not any(one in text for one in spellings)] == []
