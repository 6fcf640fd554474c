"""Reading ``summary.json``: as it is written, and as something else may have left it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.model.display import format_json, list_json_parts
from pytest_browsereval.runs.summary_file import Result, read_figures, read_results

pytestmark = pytest.mark.quick

RESULTS: list[dict[str, Any]] = [
    {"query_id": name, "variant": "v", "trial": 1, "verdict": "passed", "steps": 3, "cost_usd": None}
    for name in ("a", "\u00fc\n ]")
]
CONTENT = {"selected": 2, "disagreements": [{"results": [1]}], "results": RESULTS, "gate": {"rows": "fail"}}


def read(folder: Path, text: str) -> tuple[dict[str, Any], list[Result]]:
    (folder / "summary.json").write_text(text, encoding="utf-8")
    return read_figures(folder), list(read_results(folder))


def edit(old: str, new: str) -> str:
    text = format_json(CONTENT)
    assert old in text
    return text.replace(old, new)


def test_an_iterator_is_written_as_a_list() -> None:
    """Entry by entry, also where there is none."""
    for results in (RESULTS, []):
        parts = list_json_parts({**CONTENT, "results": iter(results)})
        assert "".join(parts) == format_json({**CONTENT, "results": results})


def test_results_are_read_with_the_figures(tmp_path: Path) -> None:
    """A figure that a result does not say is not taken for unknown."""
    figures, results = read(tmp_path, format_json(CONTENT))
    assert figures == {key: value for key, value in CONTENT.items() if key != "results"}
    assert results == [Result(one["query_id"], "v", 1, "passed", 3, ..., None) for one in RESULTS]
    assert read(tmp_path, format_json({**CONTENT, "results": []}))[1] == []


DAMAGED = {
    "cut": format_json(CONTENT)[:-40],
    "cut in a result": format_json(CONTENT)[:200],
    "without a comma": edit("},\n  {", "}\n  {"),
    "with two commas": edit("},\n  {", "},,\n  {"),
    "with a comma at the end": edit("}\n ],\n", "},\n ],\n"),
    "a list": "[]",
    "nested": "[" * 100_000,
}


def test_damage_is_noticed(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """It is a ValueError, of the results alone where the figures can be read."""
    for name, text in DAMAGED.items():
        with subtests.test(name), pytest.raises(ValueError):  # noqa: PT011 the words are those of parsers
            read(tmp_path, text)
    odd = edit('"query_id": "a", ', ""), edit('"trial": 1', '"trial": []')
    for text in (*odd, *(format_json({**CONTENT, "results": one}) for one in (3, ["x"])), "{}"):
        with subtests.test(text):
            (tmp_path / "summary.json").write_text(text, encoding="utf-8")
            assert "results" not in read_figures(tmp_path)
            with pytest.raises(ValueError, match="a different form"):
                list(read_results(tmp_path))


def test_a_link_is_not_read(tmp_path: Path) -> None:
    """It may lead to a file of somebody else."""
    (tmp_path / "other").write_text(format_json(CONTENT))
    (tmp_path / "summary.json").symlink_to(tmp_path / "other")
    with pytest.raises(OSError):  # noqa: PT011 the system's words
        read_figures(tmp_path)
