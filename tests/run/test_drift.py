"""The tools of this run beside those of the last run of its config, in run folders as runs leave them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from pytest_browsereval.config import EvalConfig, load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.run.manifest import manifest
from pytest_browsereval.run.preflight import drift
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.tools.base import Tool, tool

OLD, OLDER, NOW = "20260102T000000Z-aaaaaa", "20260101T000000Z-zzzzzz", "20260103T000000Z-aaaaaa"
"""Run ids, which sort by time."""


@tool
async def press(window: object, key: Annotated[str, Field(description="Which.")]) -> str:
    """Press a key."""
    return f"{window} {key}"


@tool
async def look(window: object) -> str:
    """Look at the page."""
    return str(window)


@tool
async def leap(window: object) -> str:
    """Leap."""
    return str(window)


def reworded(each: Tool) -> Tool:
    return replace(each, description=f"{each.description} Hard.")


class Runs:
    """A config, and the folder that its runs are in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "rows.jsonl").write_text("")
        self.config = self.configured("shop.eval.yaml")

    def configured(self, name: str) -> EvalConfig:
        path = self.folder / name
        path.write_text("{name: shop, agent: noop, dataset: rows.jsonl}")
        return load_config(path, registry=builtin_registry())

    def store(self, run_id: str) -> RunStore:
        return RunStore.locate(self.config.output_dir, self.config.name, run_id)

    def ran(self, run_id: str, *tools: Tool, config: EvalConfig | None = None) -> Path:
        """Leave what a run with these tools leaves; return its manifest."""
        store = self.store(run_id)
        store.write_manifest(manifest(config or self.config, "a browser", tools, (), (), model_calls="live"))
        return store.root / "manifest.json"

    def told(self, *tools: Tool) -> list[str]:
        """Return what a run that is to begin with these tools is told."""
        return drift(self.store(NOW), self.config, tools)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def note(told: str, run_id: str = OLD) -> list[str]:
    return [f"the tools are not those of the last run ({run_id}): {told}. Compare the two with care."]


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ((press, look), (press, look), None),
        ((press, look), (look, press), None),
        ((press,), (press, look, leap), "new: look, leap"),
        ((press, look), (look,), "gone: press"),
        ((press, look), (reworded(press), look), "changed: press"),
        ((press,), (replace(press, arguments=look.arguments),), "changed: press"),
        ((press, look), (leap, reworded(look)), "new: leap; gone: press; changed: look"),
        ((), (look,), "new: look"),
        ((look,), (), "gone: look"),
    ],
    ids=[
        *("the same", "another order", "new", "gone", "reworded", "other arguments"),
        *("all three", "none before", "none now"),
    ],
)
def test_what_is_not_as_it_was_is_named(
    runs: Runs, before: Sequence[Tool], now: Sequence[Tool], told: str | None
) -> None:
    """In one note, by kind; a tool is another one if its description or its arguments are."""
    runs.ran(OLD, *before)
    assert runs.told(*now) == ([] if told is None else note(told))


def test_only_the_newest_run_counts(runs: Runs) -> None:
    """A change that was told once is not told again; one that was taken back is."""
    runs.ran(OLD, press, look)
    runs.ran(OLDER, press)
    assert runs.told(press, look) == []
    assert runs.told(press) == note("gone: look")


DAMAGED: dict[str, Any] = {
    "cut": lambda given: json.dumps(given)[:-20],
    "empty": "",
    "a list": "[]",
    "null": "null",
    "no text": "\udcff",
    "no hashes": lambda given: json.dumps({key: given[key] for key in given if key != "tool_hashes"}),
    "a list of hashes": lambda given: json.dumps({**given, "tool_hashes": ["press"]}),
    "null for hashes": lambda given: json.dumps({**given, "tool_hashes": None}),
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_manifest_is_passed_over(runs: Runs, damaged: Any) -> None:
    """The run before it is the last that can be compared with; without one there is nothing to tell."""
    file = runs.ran(OLD, press)
    text = damaged(json.loads(file.read_text())) if callable(damaged) else damaged
    file.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert runs.told(look) == []
    runs.ran(OLDER, press)
    assert runs.told(look) == note("new: look; gone: press", OLDER)


def test_a_run_of_another_config_is_passed_over(runs: Runs) -> None:
    """Two files may give their runs one name, and so one folder."""
    runs.ran(OLD, press, config=runs.configured("other.eval.yaml"))
    assert runs.told(look) == []
    runs.ran(OLDER, look)
    assert runs.told(look) == []
    assert runs.told(press) == note("new: press; gone: look", OLDER)
