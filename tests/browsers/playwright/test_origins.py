from __future__ import annotations

import pytest

from pytest_browsereval.browsers.playwright.origins import AllowedOrigins, origin_of, shorten

ALLOWED = [
    ("https://shop.example", "https://shop.example/cart?x=1"),
    ("https://shop.example", "https://shop.example:443/"),
    ("https://shop.example", "wss://shop.example/live"),
    ("https://shop.example/", "https://shop.example"),
    ("shop.example", "http://shop.example:8080/"),
    ("*.shop.example", "https://a.b.shop.example/"),
    ("http://127.0.0.1:*", "http://127.0.0.1:45001/"),
    ("*://shop.example:8000", "http://shop.example:8000/"),
    ("http://[::1]:8000", "http://[::1]:8000/x"),
    ("HTTPS://Shop.Example", "https://shop.example/"),
]
REFUSED = [
    ("https://shop.example", "http://shop.example/"),
    ("https://shop.example", "https://shop.example:8443/"),
    ("https://shop.example", "https://shop.example.evil.test/"),
    ("https://shop.example", "https://shop.example@evil.test/"),
    ("*.shop.example", "https://shop.example/"),
    ("*.shop.example", "https://evilshop.example/"),
    ("shop.example", "https://evil.test/shop.example"),
    ("http://127.0.0.1:8000", "http://127.0.0.1:80000/"),
]


def test_a_pattern_allows_its_origins(subtests: pytest.Subtests) -> None:
    """A URL whose origin matches the pattern may be requested."""
    for pattern, url in ALLOWED:
        with subtests.test(pattern=pattern, url=url):
            assert AllowedOrigins.parse([pattern]).allow(url)


def test_a_pattern_refuses_other_origins(subtests: pytest.Subtests) -> None:
    """Look-alikes, other schemes and other ports do not match."""
    for pattern, url in REFUSED:
        with subtests.test(pattern=pattern, url=url):
            assert not AllowedOrigins.parse([pattern]).allow(url)


@pytest.mark.parametrize("pattern", ["", "https://shop.example/cart", "ftp://shop.example", "a b", "http://"])
def test_what_is_no_origin_is_refused_with_examples(pattern: str) -> None:
    """A pattern with a path, another scheme or no host is an error that shows how to write one."""
    with pytest.raises(ValueError, match=r"is not a pattern of origins\. Write scheme, host and port"):
        AllowedOrigins.parse([pattern])


def test_what_else_is_allowed_and_shown() -> None:
    """The start page, what is not on the network, and all without a list; no user, no control character."""
    assert AllowedOrigins().allow("https://anywhere.test")
    assert not AllowedOrigins().also("https://shop.example")
    origins = AllowedOrigins.parse(["https://shop.example"]).also("http://me@127.0.0.1:8000/start")
    assert origins.allow("http://127.0.0.1:8000/other")
    assert not origins.allow("http://127.0.0.1:8001/")
    assert all(origins.allow(url) for url in ("about:blank", "data:text/html,x", "blob:https://evil.test/1"))
    assert origin_of("https://me:secret@shop.example:8443/a") == "https://shop.example:8443"
    assert shorten("a\x1b[31mred \u202e b\u200b 🫖é") == "a?[31mred ? b? 🫖é"
