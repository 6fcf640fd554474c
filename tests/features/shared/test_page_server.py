"""Pages with a token answer nobody else."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.shared.page_server import PageAccess


def test_who_may_ask_for_a_page(subtests: pytest.Subtests) -> None:
    """A request names the server itself, once, and comes from its own page."""
    cases: list[tuple[list[tuple[str, str]], str | None]] = [
        ([("Host", "127.0.0.1:80")], None),
        ([("host", "localhost:80"), ("origin", "http://127.0.0.1:80")], None),
        ([("Host", "127.0.0.1:80"), ("Host", "127.0.0.1:80")], None),
        ([("Host", "127.0.0.1:80"), ("host", "evil.test")], "two host names"),
        ([("Host", "evil.test:80")], "not this server's"),
        ([], "not this server's"),
        ([("Host", "127.0.0.1:80"), ("Origin", "http://evil.test")], "another origin"),
        ([("Host", "127.0.0.1:80"), ("Origin", "null")], "another origin"),
    ]
    for headers, refusal in cases:
        with subtests.test(headers=headers, refusal=refusal):
            access = PageAccess(80)
            found = access.find_refusal(headers, access.token)
            assert found is None if refusal is None else refusal in (found or "")


def test_a_page_needs_its_token() -> None:
    """Nothing that only looks like the token opens a page."""
    access = PageAccess(80)
    for token in ("", access.token[:-1], access.token + "x", "é", "\udcff"):
        assert access.find_refusal([("Host", "localhost:80")], token) is not None
