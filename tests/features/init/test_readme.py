"""What the README shows of a first eval is what `browsereval init` writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.init.starter import list_files

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
WORDS = 1_200


def find_block(language: str) -> list[str]:
    """Return the lines of the README's block in a language."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return str(block).splitlines()


def test_its_excerpts_are_of_the_files(tmp_path: Path) -> None:
    """Config and agent line by line, and of rows the keys that are shown."""
    files = {file.path.name: file.read() for file in list_files(builtin_registry(), tmp_path, "function")}
    assert set(find_block("yaml")) <= set(files["shop.eval.yaml"].splitlines())
    assert set(find_block("python")) <= set(files["my_agent.py"].splitlines())
    rows = {row["query_id"]: row for row in map(json.loads, files["shop.jsonl"].splitlines())}
    for shown in map(json.loads, find_block("json")):
        row = rows[shown["query_id"]]
        assert shown.pop("checks", []) == row.get("checks", [])[:1]
        assert shown.items() <= row.items()


def test_it_is_short() -> None:
    """A visitor reads it in five minutes."""
    assert len(README.split()) <= WORDS
