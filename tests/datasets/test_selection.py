from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.datasets.base import RowRef, Select
from pytest_browsereval.datasets.selection import check_depends_on, select_rows
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.model.tasks import Task

FILE = Path("rows.jsonl")
SAMPLE_OF_SEED_0 = ["r035", "r040", "r052", "r075", "r097"]
STRATIFIED_OF_SEED_0 = ["r025", "r035", "r040", "r046", "r052", "r075", "r097"]
REFS = [RowRef(f"r{n:03}", FILE, n + 1, n) for n in range(100)]


def taken(refs: list[RowRef] = REFS, **select: Any) -> list[str]:
    return [ref.query_id for ref in select_rows(list(refs), Select(**select), row_of, FILE)]


def row_of(ref: RowRef) -> dict[str, Any]:
    level = "easy" if ref.offset < 50 else "medium" if ref.offset < 85 else "hard"
    metadata = {"category": "abc"[ref.offset % 3], "additional": {"topic": ref.offset // 90}}
    tags = ["even" if ref.offset % 2 == 0 else "odd", level]
    return {"query_id": ref.query_id, "level": level, "tags": tags, "metadata": metadata}


def task(query_id: str, *depends_on: str) -> Task:
    return Task(query_id=query_id, query="q", depends_on=depends_on)


def test_ids_are_taken_in_the_order_of_the_file() -> None:
    """The order of ``ids`` and repeated ids do not matter."""
    assert taken(ids=("r007", "r002", "r007")) == ["r002", "r007"]


def test_an_id_that_is_not_there_is_refused() -> None:
    """Every missing id is reported with the nearest one."""
    with pytest.raises(DatasetError) as caught:
        taken(ids=("r007", "r0077", "zebra"))
    first, second = str(caught.value).splitlines()
    assert first.startswith("rows.jsonl: select.ids: no row 'r0077'. Did you mean 'r077'?")
    assert second == "rows.jsonl: select.ids: no row 'zebra'. Ids: r000, r001, r002 and 97 more."


def test_steps_apply_in_order() -> None:
    """Ids come first, then tags, then the sample, then the limit."""
    ids = tuple(ref.query_id for ref in REFS[:40])
    drawn = taken(ids=ids, tags=("even",), sample=10, limit=3, seed=5)
    assert drawn == taken(ids=ids, tags=("even",), sample=10, seed=5)[:3]
    assert all(int(query_id[1:]) < 40 and int(query_id[1:]) % 2 == 0 for query_id in drawn)


def test_a_sample_is_the_same_everywhere() -> None:
    """A seed draws the same rows in every version of Python and on every machine."""
    assert taken(sample=5, seed=0) == SAMPLE_OF_SEED_0
    assert taken(sample=5, seed=1) != SAMPLE_OF_SEED_0
    assert taken(sample=100) == taken(sample=1_000) == taken() == [ref.query_id for ref in REFS]


def test_a_tag_that_no_row_has_is_refused() -> None:
    """An unknown tag is reported with the nearest one and all others."""
    with pytest.raises(DatasetError) as caught:
        taken(tags=("even", "evn"))
    assert str(caught.value) == (
        "rows.jsonl: select.tags: no row has the tag 'evn'. Did you mean 'even'? Tags: easy, even, hard, "
        "medium, odd."
    )


def test_a_sample_by_groups_is_the_same_everywhere() -> None:
    """Of 50 easy, 35 medium and 15 hard rows 7 are 4, 2 and 1: the largest remainders are rounded up."""
    assert taken(sample=7, by="level") == STRATIFIED_OF_SEED_0
    assert taken(sample=7, by="level", seed=1) != STRATIFIED_OF_SEED_0
    assert taken(sample=7, by="level", limit=3) == STRATIFIED_OF_SEED_0[:3]
    assert taken(sample=100, by="level") == taken()


def test_a_sample_has_its_part_of_each_group(subtests: pytest.Subtests) -> None:
    """Each group has its share, by any key that groups rows."""
    cases: list[tuple[str, int, dict[str, int]]] = [
        ("level", 10, {"easy": 5, "medium": 4, "hard": 1}),  # 5, 3.5, 1.5: the first of equal remainders
        ("level", 1, {"easy": 1}),
        ("level", 99, {"easy": 49, "medium": 35, "hard": 15}),  # 49.5, 34.65, 14.85
        ("category", 4, {"a": 2, "b": 1, "c": 1}),  # 34, 33, 33 rows
        ("tag", 6, {"even": 3, "odd": 3}),
        ("additional.topic", 20, {"0": 18, "1": 2}),
    ]
    for by, sample, shares in cases:
        with subtests.test(by=by, sample=sample, shares=shares):
            drawn = taken(sample=sample, by=by, seed=3)
            rows = [row_of(REFS[int(query_id[1:])]) for query_id in drawn]
            groups: dict[str, Callable[[dict[str, Any]], str]] = {
                "level": lambda row: row["level"],
                "category": lambda row: row["metadata"]["category"],
                "tag": lambda row: row["tags"][0],
                "additional.topic": lambda row: str(row["metadata"]["additional"]["topic"]),
            }
            assert Counter(groups[by](row) for row in rows) == shares
            assert drawn == sorted(drawn)


def test_a_sample_by_a_key_that_no_row_has_is_refused() -> None:
    """A sample by groups that do not exist would silently be a plain one."""
    with pytest.raises(DatasetError, match=r"select\.by: no row has a website to stratify by"):
        taken(sample=5, by="website")


def test_a_wrong_selection_is_refused(subtests: pytest.Subtests) -> None:
    """A selection of nothing, or by an unknown key, is an error."""
    cases: list[dict[str, Any]] = [{"limit": 0}, {"sample": 0}, {"limits": 1}, {"ids": "abc"}]
    cases += [{"by": "level"}, {"by": "size", "sample": 1}]
    for wrong in cases:
        with subtests.test(wrong=wrong), pytest.raises(ValueError, match="validation error"):
            Select.model_validate(wrong)


def test_dependencies_have_to_exist() -> None:
    """A row that depends on an unknown row is refused with the nearest id."""
    check_depends_on([task("login"), task("buy", "login")], {"login", "buy"})
    check_depends_on([task("buy", "login")], {"login", "buy"})
    with pytest.raises(DatasetError, match=r"row 'buy': depends_on: no row 'logn'. Did you mean 'login'\?"):
        check_depends_on([task("login"), task("buy", "logn")], {"login", "buy"})


def test_rows_that_wait_for_each_other_are_refused() -> None:
    """The message has the whole cycle; a diamond is not a cycle."""
    diamond = [task("a", "b", "c"), task("b", "d"), task("c", "d"), task("d")]
    check_depends_on(diamond, set("abcd"))
    with pytest.raises(DatasetError, match=r"('b' -> 'c' -> 'b'|'c' -> 'b' -> 'c')\. Remove one depends_on"):
        check_depends_on([task("a", "b"), task("b", "c"), task("c", "b")], set("abc"))
    with pytest.raises(DatasetError, match="'a' -> 'a'"):
        check_depends_on([task("a", "a")], {"a"})
