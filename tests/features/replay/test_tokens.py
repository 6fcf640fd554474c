"""Tokens and passwords, wherever in a recording of pages they stand."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_browsereval.features.replay.tokens import remove_tokens

JWT = "eyJhbGciOi.eyJzdWIi.c2ln"
TOKEN = "t0ken-of-a/user+1"


def entry(url: str = "http://shop.test/", **more: Any) -> dict[str, Any]:
    request = {"method": "POST", "url": url, "headers": more.get("headers", []), "postData": more.get("sent")}
    location = more.get("location", "")
    headers = [{"name": "Location", "value": location}] if location else []
    reply = {"headers": headers, "content": more.get("reply", {}), "redirectURL": location}
    return {"request": request, "response": reply}


def body(kind: str, text: str) -> dict[str, Any]:
    return {"mimeType": kind, "text": text}


def html(text: str) -> dict[str, Any]:
    return entry(reply=body("text/html; charset=utf-8", text))


def test_what_logs_somebody_in_is_nowhere(subtests: pytest.Subtests) -> None:
    """By its name or its form; another entry that only has the value is cleaned too, if it is long enough."""
    cases: list[tuple[dict[str, Any], str]] = [
        (entry(reply=body("application/json", json.dumps({"jwt": TOKEN}))), TOKEN),
        (entry(reply=body("application/json", json.dumps({"tokens": [TOKEN], "accessToken": TOKEN}))), TOKEN),
        (entry(reply=body("application/json", json.dumps({"request": {"Cookie": TOKEN}}))), TOKEN),
        (entry(reply=body("application/x-www-form-urlencoded", f"scope=a&access_token={TOKEN}")), TOKEN),
        (entry(sent=body("application/json", '{"user": "ann", "password": "mug1"}')), "mug1"),
        (entry(sent=body("text/plain;charset=UTF-8", '{"user": "ann", "pin": "4711"}')), "4711"),
        (entry(sent=body("application/x-www-form-urlencoded", "password=mug1&user=ann")), "mug1"),
        (entry(sent=body("multipart/form-data; boundary=x", 'name="pass"\r\n\r\nmug1\r\n--x--')), "mug1"),
        (entry(f"http://shop.test/api?access_token={TOKEN}&page=2"), TOKEN),
        (entry(location=f"/done?a=b#access_token={TOKEN}"), TOKEN),
        (html(f'<meta name="csrf-token" content="{TOKEN}">'), TOKEN),
        (html(f"<input type=hidden value='{TOKEN}' name=authenticity_token>"), TOKEN),
        (html(f"<script>start('{JWT}')</script>"), JWT),
        (entry(headers=[{"name": "X-Anything", "value": f"a {JWT}"}]), JWT),
    ]
    for leak, secret in cases:
        with subtests.test(leak=leak, secret=secret):
            other = html(f"Hello {secret}, {json.dumps(secret)}") if len(secret) > 12 else html("Hello")
            safe = json.dumps(remove_tokens({"log": {"entries": [leak, other]}}))
            assert secret not in safe
            assert "-removed-1-" in safe


def test_a_kind_of_token_and_an_ordinary_word_stay() -> None:
    """A page would not work without them."""
    said = {"token_type": "bearer", "session": "morning", "author": "Ann of Green Gables"}
    entries = [
        entry("http://shop.test/talks?session=morning&passenger=Ann-of-Green-Gables"),
        entry(reply=body("application/json", json.dumps(said))),
    ]
    assert remove_tokens({"log": {"entries": json.loads(json.dumps(entries))}}) == {
        "log": {"entries": entries}
    }


def test_each_token_has_its_own_mark() -> None:
    """Else two pages of a list are one; those of passwords, hidden where their names stand, follow."""
    pages = [
        entry(f"http://shop.test/?access_token={TOKEN}{n}", sent=body("text/plain", f'{{"pin": "47{n}"}}'))
        for n in range(4)
    ]
    safe = remove_tokens({"log": {"entries": pages}})
    assert len({one["request"]["url"] for one in safe["log"]["entries"]}) == 4
    text = json.dumps(safe)
    assert sorted(re.findall(r"-removed-(\d+)-", text)) == [str(n) for n in range(1, 9)]
