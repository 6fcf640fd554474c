from __future__ import annotations

from pytest_browsereval.sites import fill

URLS = {"shop": "http://127.0.0.1:1", "bank": "http://127.0.0.1:2"}


def test_fill_at_any_depth() -> None:
    """Strings are filled in lists, tuples and mappings at any depth; keys and other values stay."""
    row = {"{shop}": ["{shop}/cart", {"deep": ("{bank}", 7, None, True)}]}
    filled = {"{shop}": ["http://127.0.0.1:1/cart", {"deep": ("http://127.0.0.1:2", 7, None, True)}]}
    assert fill(row, URLS) == filled


def test_other_braces_stay() -> None:
    """Braces that hold no site's name are left alone, be it code, JSON or a name that is unknown."""
    code = "() => { return {shopping: 1, '{other}': `${shop.x}`} } {{}} { shop }"
    assert fill(code, URLS) == code
