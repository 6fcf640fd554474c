"""Rows of importers that nobody would write in good faith: told with their line, and nothing hangs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.originals import address, host_of
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import DatasetError

Import = Callable[..., DatasetConfig]

GOLD = "Quetzaltenango"
QUESTION = {"task_id": "g1", "Question": "Which town?", "Level": 1, "Final answer": GOLD}


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Import:
    """Writes a file and returns the dataset of a type that reads it."""
    monkeypatch.chdir(tmp_path)

    def make(kind: str, content: str, name: str, **options: Any) -> DatasetConfig:
        Path(name).write_text(content)
        member = builtin_registry().get("dataset", kind)
        dataset = member.model_validate({"type": kind, "path": name, **options})
        assert isinstance(dataset, DatasetConfig)
        return dataset

    return make


def refusal(dataset: DatasetConfig) -> str:
    with pytest.raises(DatasetError) as refused:
        dataset.index(Path.cwd())
    return str(refused.value)


def test_what_is_no_address_is_told_with_its_line(imported: Import, subtests: pytest.Subtests) -> None:
    for url in ("http://[x", "//[", "http://[::1", "http://exa\u2100mple.org/"):
        with subtests.test(url=url):
            table = f"ID,Starting URL,Category,Task\n1,{url},READ,Look.\n"
            told = refusal(imported("webbench", table, "rows.csv"))
            assert told.startswith("rows.csv:2: ")
            assert "is not the address of a page" in told
            assert host_of(url) == url
    assert address("example.org/x") == "https://example.org/x"


def test_a_refused_row_of_a_protected_set_is_not_quoted(imported: Import, subtests: pytest.Subtests) -> None:
    answers: list[Any] = [{**QUESTION, "Final answer": [GOLD]}, {**QUESTION, "Final answer": {"town": GOLD}}]
    for wrong in (*answers, f"Final answer: {GOLD}", [GOLD]):
        with subtests.test(wrong=wrong):
            told = refusal(imported("gaia", json.dumps([wrong]), "rows.json"))
            assert told.startswith("rows.json:1: ")
            assert GOLD not in told


def test_numbers_are_answers_too(imported: Import) -> None:
    dataset = imported("gaia", json.dumps([{**QUESTION, "Final answer": 17.5}]), "rows.json")
    assert [dataset.read(ref).answer for ref in dataset.index(Path.cwd())] == ["17.5"]


@pytest.mark.parametrize("key", ["eval", "instantiation_dict", "x"])
def test_rows_nested_without_end_are_told(imported: Import, key: str) -> None:
    """Also where JSON can still be read and what looks into the row cannot follow."""
    plain = {"task_id": 1, "intent": "Look.", "sites": [], "start_url": "http://x/"}
    rules: Any = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "a"}}
    for depth in (450, 900, 980):
        deep = "[" * depth + "]" * depth
        given = {**plain, "eval": rules, key: {**rules, "note": "DEEP"}}
        dataset = imported("webarena", json.dumps([given]).replace('"DEEP"', deep), "rows.json")
        with pytest.raises(DatasetError, match=r"rows\.json.*: "):
            [dataset.read(ref) for ref in dataset.index(Path.cwd())]
