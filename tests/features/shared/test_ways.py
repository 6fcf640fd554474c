"""Selectors of the elements of snapshots, and texts of answers."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.features.harvest.search import list_shown
from pytest_browsereval.features.shared.ways import Way, read_selectors
from pytest_browsereval.model.tasks import Task

FRAME = "iframe >> visible=true >> nth="
SNAPSHOTS: dict[str, tuple[str, dict[str, str]]] = {
    "a name": ('- button "Add" [ref=e1] [cursor=pointer]', {"e1": 'role=button[name="Add"]'}),
    "a name with quotes": (r'- link "\"A\" \\ B" [ref=e1]:', {"e1": r'role=link[name="\"A\" \\ B"]'}),
    "a name with a colon": ("- 'link \"It''s: new\" [ref=e1]'", {"e1": 'role=link[name="It\'s: new"]'}),
    "two of a name": (
        '- button "Add" [ref=e1]\n- list:\n  - button "Add" [disabled] [ref=e2]',
        {"e1": 'role=button[name="Add"] >> nth=0', "e2": 'role=button[name="Add"] >> nth=1'},
    ),
    "one of them without a ref": (
        '- option "All" [selected]\n- option "All" [ref=e2]',
        {"e2": 'role=option[name="All"] >> nth=1'},
    ),
    "a text": ("- generic [ref=e1]: Order badges", {"e1": 'text="Order badges"'}),
    "no name": (
        "- textbox [ref=e1]\n- textbox [ref=e2]",
        {"e1": "role=textbox >> nth=0", "e2": "role=textbox >> nth=1"},
    ),
    "nothing": ("- generic [ref=e1]:\n  - /url: x", {}),
    "frames": (
        """- iframe [ref=e2]:
  - link [ref=f1e1]
  - iframe [ref=f1e2]:
    - link [ref=f2e1]
- iframe [ref=e3]:
  - link [ref=f3e1]
- link [ref=e4]""",
        {
            "f1e1": f"{FRAME}0 >>> role=link",
            "f2e1": f"{FRAME}0 >>> {FRAME}0 >>> role=link",
            "f3e1": f"{FRAME}1 >>> role=link",
            "e4": "role=link",
        },
    ),
    "no snapshot": ("The page is empty. [ref=e1]", {}),
}


def test_elements_are_named_by_role_and_name(subtests: pytest.Subtests) -> None:
    """Else by their text, else by their place among those of the role."""
    for name, (snapshot, selectors) in SNAPSHOTS.items():
        with subtests.test(name):
            assert read_selectors(snapshot) == selectors
    part = read_selectors('- button "Add" [ref=e1]', "#cart")
    assert part == {"e1": '#cart >> role=button[name="Add"]'}


SHOWN: tuple[tuple[Any, str, list[list[str]]], ...] = (
    (64, "Price: $64.00, was $80", [["$64.00"]]),
    (1349, 'cell "1349"', [["1349"]]),
    (1349, "Extension 1,349", [["1,349"]]),
    (5, "1 of 5 people, 25 in all, 5", [["5 people"]]),
    (50, "450 g and 400 g", []),
    ("Piotr", "by PIOTR, 2 stars", [["Piotr"]]),
    (["A pen", "A mug"], "a mug\na pen", [["A pen"], ["A mug"]]),
    (["A pen", "A mug"], "a mug", []),
    ("2026-02-28", "It expired on 28 February 2026.", [["28 February 2026"]]),
    ("2026-02-28", "It expired on 27 February 2026.", []),
    (None, "It is red", [["red"]]),
    ({"a": 1}, "1", []),
)


def test_what_of_an_answer_a_page_shows(subtests: pytest.Subtests) -> None:
    """All of it or nothing; without a reference answer it is the agent's own."""
    for answer, seen, shown in SHOWN:
        with subtests.test(str(answer)):
            task = Task(query_id="a", query="a", answer=answer)
            assert list_shown(task, Way((), (None,), "red", seen)) == shown
