from __future__ import annotations

from pytest_browsereval.sites import fill

URLS = {"shop": "http://127.0.0.1:1", "bank": "http://127.0.0.1:2"}


def test_other_braces_stay() -> None:
    """Braces that hold no site's name are left alone, be it code, JSON or a name that is unknown."""
    code = "() => { return {shopping: 1, '{other}': `${shop.x}`} } {{}} { shop }"
    assert fill(code, URLS) == code
