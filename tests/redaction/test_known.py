"""Texts are cut beside secrets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.model.display import one_line
from pytest_browsereval.redaction.known import beginning, ending, forget_secrets, know_secrets, redact_known

KEY = "sk-4711-0815-qwertz"
PARTS = [KEY[place : place + 4] for place in range(len(KEY) - 3)]


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    know_secrets([KEY])
    yield
    forget_secrets()


def test_a_cut_leaves_no_part_of_a_secret(subtests: pytest.Subtests) -> None:
    """Wherever the secret stands: it is in the text whole, to be redacted, or not at all."""
    for pad in range(105):
        with subtests.test(pad=pad):
            text = f"{'.' * pad}{KEY}{'.' * (120 - pad)}"
            for cut in (beginning(text, 100), ending(text, 100), shorten(text, 100), one_line(text, 100)):
                assert len(cut) <= 100
                assert not [part for part in PARTS if part in cut.replace(KEY, "")]


def test_other_texts_are_cut_where_they_were() -> None:
    """Nothing else of a text is left out."""
    assert (beginning("abcdef", 4), ending("abcdef", 4)) == ("abcd", "cdef")
    assert (beginning("abc", 4), ending("abc", 4), beginning("abc", 0), ending("abc", 0)) == (
        "abc",
        "abc",
        "",
        "",
    )


def test_secrets_in_each_other_are_no_way_out() -> None:
    """Where a cut before one is within another, it is moved on."""
    know_secrets(["4711-xyz", "abc-4711"])
    text = "..abc-4711-xyz.."
    assert beginning(text, 11) == ".."
    assert ending(text, len(text) - 4) == ".."


def test_what_is_known_is_redacted() -> None:
    """Whoever knows one more secret takes nothing from those that are known already."""
    know_secrets(["another-one"])
    assert redact_known(f"{KEY} and another-one") == "[redacted] and [redacted]"
