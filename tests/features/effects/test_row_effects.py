"""Which effects are about which differences: a right attempt does not fail by the order of either."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from pytest_browsereval.features.effects.diff import Difference, compare_states, list_tables
from pytest_browsereval.features.effects.row_effects import match_effects, read_effects

ADA = {"added": "orders", "where": {"user": "ada"}}
MUG = {"added": "orders", "equals": {"sku": "mug"}}
OPEN = {"changed": "orders.status", "equals": "open"}
TOTAL = {"changed": "orders.total", "by": 2}


def added(*rows: tuple[str, str]) -> list[Difference]:
    return [
        Difference("added", "orders", ("id",), {}, {"id": n, "user": user, "sku": sku})
        for n, (user, sku) in enumerate(rows)
    ]


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[Difference]:
    old, new = (list_tables({"orders": [{"id": 1, **one}]}) for one in (before, after))
    return compare_states(old, new)


BOTH = changed({"status": "new", "total": 1}, {"status": "open", "total": 3})
CASES: dict[str, tuple[list[dict[str, Any]], list[Difference], int]] = {
    "three in a chain": (
        [{"added": "orders"}, ADA, MUG],
        added(("ada", "mug"), ("ada", "pen"), ("bob", "cap")),
        0,
    ),
    "one more than asked for": ([ADA, MUG], added(("ada", "mug"), ("ada", "pen"), ("bob", "cap")), 1),
    "columns of one row": ([OPEN, TOTAL], BOTH, 0),
    "a column too many": ([OPEN], BOTH, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_right_attempts_pass_in_any_order(name: str) -> None:
    """All effects came about, and what is left over is a side effect."""
    blocks, differences, others = CASES[name]
    for effects in permutations(blocks):
        for found in permutations(differences):
            criteria, side_effects = match_effects(read_effects([*effects]), found)
            assert {one.reason for one in criteria} == {""}, effects
            assert len(side_effects) == others


@pytest.mark.parametrize("effect", [{"added": "orders", "count": 0}, {"changed": "orders.total", "by": 0}])
def test_no_effect_is_nothing(effect: dict[str, Any]) -> None:
    """It would be met by a run that did nothing."""
    with pytest.raises(ValueError, match="is 0, and has to be"):
        read_effects([effect])


def test_entries_of_a_list_of_texts_are_named_as_they_are() -> None:
    """So are numbers; which entry it is counts, and a column ``value`` says the same."""
    old: dict[str, Any] = {"saved": ["pen", "cup"], "codes": [1]}
    new: dict[str, Any] = {"saved": ["cup", "mug"], "codes": [1, 7]}
    found = compare_states(list_tables(old), list_tables(new))
    for added in ("mug", {"value": "mug"}):
        effects: list[dict[str, Any]] = [
            {"added": "saved", "equals": added},
            {"removed": "saved", "where": "pen"},
            {"added": "codes", "where": 7},
        ]
        criteria, side_effects = match_effects(read_effects(effects), found)
        assert [one.reason for one in criteria] == [""] * 3
        assert not side_effects
    wrong, others = match_effects(
        read_effects([{"added": "saved", "equals": "hat"}]), found, with_values=True
    )
    assert [one.reason for one in wrong] == ['value is "mug", not "hat"']
    assert len(others) == 2


def test_a_row_that_was_not_changed_is_named_by_its_effect() -> None:
    """Another row of the table was: nobody may read that the table is as it was."""
    cancel = {"changed": "orders[id=8].status", "equals": "cancelled"}
    eve = {"added": "orders", "where": {"user": "eve"}, "count": 2}
    criteria, _ = match_effects(read_effects([cancel, eve]), [*BOTH, *added(("ada", "mug"))])
    assert [one.reason for one in criteria] == [
        "nothing of orders[id=8].status was changed",
        *['nothing of orders (user "eve") was added'] * 2,
    ]


def test_what_no_other_fits_fails() -> None:
    """Each effect takes one difference: two are not one, and the nearest is named."""
    effects = read_effects([ADA, MUG])
    criteria, side_effects = match_effects(effects, added(("ada", "mug")), with_values=True)
    assert sorted(one.reason for one in criteria) == ["", "nothing of orders was added"]
    found = added(("ada", "pen"), ("bob", "cap"))
    criteria, side_effects = match_effects(effects, found, with_values=True)
    assert [one.reason for one in criteria] == ["", 'sku is "cap", not "mug"']
    assert not side_effects


def test_a_misspelt_name_is_told_from_what_has_changed() -> None:
    """JSON has no schema: the table and the column that changed in its place are named."""
    effects = read_effects([{"added": "oders"}, {"changed": "orders.statsu", "equals": "open"}])
    criteria, _ = match_effects(effects, [*added(("ada", "mug")), *BOTH])
    assert [one.reason for one in criteria] == [
        "nothing of oders was added. Did you mean 'orders'?",
        "nothing of orders.statsu was changed. Did you mean 'orders.status'?",
    ]
