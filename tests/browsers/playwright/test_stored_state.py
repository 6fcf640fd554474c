"""The file of ``storage_state``: what in it logs in."""

from __future__ import annotations

import json
from typing import Any

from pytest_browsereval.browsers.playwright.stored_state import list_stored_secrets

SECRET = {
    "sid": "COOKIEsecret77123",
    "plain": "0a1b2c3dPlainCk",
    "session_id": "QWxhZGRpbjpvcGVu",
    "id": "550e8400-e29b-41d4-a716-446655440000",
    "password": "hunter",
}
WORDS = {
    "theme": "dark",
    "locale": "en-US",
    "token": "not-authenticated",
    "csrf": "off",
    "seen": "2026-03-01T09:00:00.123Z",
    "who": "testuser20241234@shop.example",
    "home": "http://127.0.0.1:22091/page1a2b3c4d5e",
    "_ga": "GA1.2.123456789.1700000000",
    "greeting": "Welcome back, Ada",
}


def make_state(values: dict[str, Any], origin: str = "http://shop.example") -> dict[str, Any]:
    """Return a state with each value as a cookie, as an entry of a storage, and inside of JSON."""
    cookies = [{"name": n, "value": v, "domain": "127.0.0.1", "path": "/"} for n, v in values.items()]
    stored = [{"name": n, "value": v} for n, v in values.items()]
    return {"cookies": cookies, "origins": [{"origin": origin, "localStorage": stored}]}


def test_keys_are_secret_and_words_are_not() -> None:
    """By their names or their forms; in cookies, in storage, in JSON there, and in databases."""
    for values, expected in ((SECRET, set(SECRET.values())), (WORDS, set())):
        packed = make_state({"auth": json.dumps({"of": [values]})})
        database = {
            "origins": [
                {"origin": "http://a1b2c3d4e5f6g7h8", "indexedDB": [{"records": [{"value": values}]}]}
            ]
        }
        for state in (make_state(values), packed, database):
            assert set(list_stored_secrets(state)) == expected
