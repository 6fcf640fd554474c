"""What of a model call means nothing, and what does."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.features.replay.volatile import (
    PICTURE,
    compute_digest,
    describe_difference,
    mark_volatile,
    replace_pictures,
    replace_volatile,
)

DATA = "data:image/png;base64," + "iVBORw0KGgo" * 30


def test_what_differs_each_time_is_marked(subtests: pytest.Subtests) -> None:
    """Ports of this machine, dates and times, random ids; no numbers, addresses of others, references."""
    cases: list[tuple[str, str]] = [
        ("http://127.0.0.1:23456/cart", "http://<origin>/cart"),
        ("next=http%3A%2F%2F127.0.0.1%3A23456%2F", "next=http%3A%2F%2F<origin>%2F"),
        ("2026-11-22T10:05:09Z", "<time>"),
        ("Date of the attempt: 2026-11-22", "Date of the attempt: <time>"),
        ("Sun, 22 Nov 2026 10:05:09 GMT", "<time>"),
        ("at 10:05:09.5 sharp", "at <time> sharp"),
        ("t=1795341909123", "t=<time>"),
        ("6f1c2d3e-0a1b-4c5d-8e9f-0123456789ab", "<id>"),
        ("[task 0123456789abcdef]", "[task <id>]"),
    ]
    for text, mark in cases:
        with subtests.test(text=text, mark=mark):
            given, found = mark_volatile({"messages": [{"content": text}]})
            assert given == {"messages": [{"content": mark}]}
            assert len(found) == 1
    for text in (
        *("In stock: 3", "https://shop.example:8443/", "call 0800 123 456", "e12", "order 10:05"),
        *("v2026-1", "facade"),
    ):
        with subtests.test(text=text):
            assert mark_volatile(text) == (text, [])


def test_pictures_are_left_out_wherever_they_stand() -> None:
    """As parts of messages, within text, bare as a service wants them; what is written about them stays."""
    value = {
        "messages": [{"content": [{"type": "image_url", "image_url": {"url": DATA, "detail": "low"}}]}],
        "html": f"<img src='{DATA}'>",
        "image_base64": "QUJD" * 60,
    }
    assert replace_pictures(value) == {
        "messages": [{"content": [{"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}}]}],
        "html": f"<img src='{PICTURE}'>",
        "image_base64": PICTURE,
    }


def test_a_reply_names_what_its_request_names_now() -> None:
    """A port that the page had then is the port that it has now; other numbers stay as they are."""
    _, then = mark_volatile("at http://127.0.0.1:20001/, the mark is 0123456789abcdef, since 2026-01-01")
    _, now = mark_volatile("at http://127.0.0.1:20002/, the mark is fedcba9876543210, since 2026-01-01")
    reply = {"arguments": '{"url": "http://127.0.0.1:20001/x", "n": 20001}', "id": "0123456789abcdef"}
    assert replace_volatile(reply, then, now) == {
        "arguments": '{"url": "http://127.0.0.1:20002/x", "n": 20001}',
        "id": "fedcba9876543210",
    }


def test_what_has_become_two_things_is_left_as_it_was() -> None:
    """The day of the recording may be a date on the page as well: nobody knows which one a reply means."""
    then, now = ["2026-01-01", "2026-01-01"], ["2026-01-02", "2026-01-01"]
    assert replace_volatile("on 2026-01-01", then, now) == "on 2026-01-01"


def test_the_first_difference_is_told(subtests: pytest.Subtests) -> None:
    """Where it is, what was expected, what came; of a long text what is around it."""
    expected, got = ("x" * 500 + digit + "y" * 500 for digit in "32")
    shown, other = ("…" + "x" * 30 + digit + "y" * 29 + "…" for digit in "32")
    cases: list[tuple[Any, Any, str]] = [
        ({"a": 1}, {"a": 1}, ""),
        ({"model": "x"}, {"model": "y"}, 'model: expected "x", got "y"'),
        (
            {"messages": [{"content": "In stock: 3 mugs"}]},
            {"messages": [{"content": "In stock: 2 mugs"}]},
            'messages[0].content: expected "In stock: 3 mugs", got "In stock: 2 mugs"',
        ),
        ({"m": [1]}, {"m": [1, 2]}, "m[1]: expected nothing, got 2"),
        ({}, {"tools": ["a"]}, 'tools[0]: expected nothing, got "a"'),
        ({"t": 0.5}, {"t": "0.5"}, 't: expected 0.5, got "0.5"'),
        ({"p": expected}, {"p": got}, f"p: expected {shown}, got {other}"),
    ]
    for then, now, told in cases:
        with subtests.test(told=told):
            assert describe_difference(then, now) == told
            assert (compute_digest(then) == compute_digest(now)) == (not told)
