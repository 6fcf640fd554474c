"""Writes the page of two runs: what their comparison says, and each task's attempts side by side."""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files
from itertools import starmap
from pathlib import Path
from typing import Any

from pytest_browsereval.door import Door
from pytest_browsereval.features.compare.compare import (
    MEASURES,
    Change,
    Pair,
    RunComparison,
    Side,
    count_plain,
)
from pytest_browsereval.features.compare.report import (
    VARIANTS,
    basis,
    counts,
    describe_variant,
    figures,
    verdict,
    why,
)
from pytest_browsereval.features.shared.viewer.attempts import iter_attempts
from pytest_browsereval.features.shared.viewer.page import SHARED, Form, markup_of, page, part, script_named
from pytest_browsereval.features.shared.viewer.rows import LONGEST, Table, about_run
from pytest_browsereval.features.shared.viewer.writing import Details
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.links import PAGE, check_page, way_from
from pytest_browsereval.run_files import write_whole
from pytest_browsereval.runs.run import StoredRun

_CHANGES = tuple(Change)

# Ids with variants.
Tasks = Collection[tuple[str, str]]


def write_comparison(door: Door, found: RunComparison, file: Path) -> None:
    """Write the page. Details of both runs are written into a folder next to it that has its name.

    Args:
        door: asks plug-ins for causes.
        found: what the analysis says of the two.
        file: where the page goes.

    Raises:
        UsageError: the page cannot be there.
        OSError: it cannot be written.
    """
    check_page(file)
    sides = {
        name: _side(door, run, name, file, {(one.last.query_id, one.last.variant) for one in trials})
        for name, run, trials in zip("ab", (found.a, found.b), found.trials, strict=True)
    }
    whole = found.whole
    data = {
        "verdict": verdict(whole),
        "basis": basis(whole),
        "counts": counts(whole),
        "notes": [one_line(note, LONGEST) for note in found.notes],
        "figures": list(figures(found)),
        "variants": [VARIANTS, *starmap(describe_variant, found.variants.items())] if found.variants else [],
        "differences": [one_line(line, 2 * LONGEST) for line in found.differences],
        "changes": list(map(str, _CHANGES)),
        "sides": sides,
        "pairs": [_pair(pair) for pair in whole.pairs],
    }
    write_whole(file, page(data, _title(found), form=_form()))


def _form() -> Form:
    """Return the form of the page: the viewer's parts, and our own ones among them."""

    def read(name: str) -> str:
        return files("pytest_browsereval.features.compare").joinpath(name).read_text(encoding="utf-8")

    own = ("pairs", "compared", "pair")
    names = ("base", "rows", "pairs", *SHARED, "compared", "pair", "main")
    scripts = tuple(read(f"script/{name}.js") if name in own else script_named(name) for name in names)
    markup = markup_of(read("comparison_keys.html"), read("comparison.html"))
    return Form(markup, scripts, f"{part('page.css')}\n{read('comparison.css')}")


def _title(found: RunComparison) -> str:
    names = [run.read_manifest().get("name") for run in (found.a, found.b)]
    a, b = (one_line(name if isinstance(name, str) else "a run", 60) for name in names)
    return f"{a}: two runs compared" if a == b else f"{a} and {b} compared"


def _side(door: Door, run: StoredRun, name: str, file: Path, tasks: Tasks) -> dict[str, Any]:
    """Return what the page has of a run; a baseline's file has no attempts."""
    about = {**about_run(run.read_manifest(), run.name, count_plain(run)), "name": run.name}
    folder = file.with_suffix(".files")
    table, details = Table(), Details(folder / name, name)
    if not run.folder.is_dir():
        details.remove_older()  # of a page that had a run here
        return {"run": about, "table": None}
    home = way_from(file, run.folder)
    own = "/".join(filter(None, (home, PAGE))) if (run.folder / PAGE).is_file() else ""
    for attempt in iter_attempts(StoredRun(run.folder, door)):
        data = attempt.metadata
        if data is not None and (data.query_id, data.variant) in tasks:
            table.add(attempt, details.add(attempt))
    details.flush()
    details.remove_older()
    places = {"home": home, "details": f"{folder.name}/{name}", "page": own}
    whole = table.as_json()
    return {"run": {**about, **places}, "table": {key: whole[key] for key in ("columns", "words", "rows")}}


def _pair(pair: Pair) -> list[Any]:
    side = why(pair)
    return [
        pair.query_id,
        pair.variant,
        _CHANGES.index(pair.change),
        one_line(side.reason, LONGEST) if side is not None else "",
        _half(pair.a),
        _half(pair.b),
        _measure(pair, "steps", 3),
        _measure(pair, "time", 3, scale=1000),
        _measure(pair, "cost", 6),
    ]


def _half(side: Side | None) -> list[str] | None:
    return None if side is None else [side.first.last.variant, _state(side), side.outcome]


def _state(side: Side) -> str:
    """Return what all trials came to; *mixed* where they differ."""
    kinds = {trial.verdict for trial in side.trials}
    judged = kinds - {Verdict.ERRORED} or kinds
    return str(min(judged)) if len(judged) == 1 else "mixed"


def _measure(pair: Pair, name: str, digits: int, *, scale: int = 1) -> list[float | None]:
    """Return a figure of both sides and its change, as the comparison has them."""
    of_trial = MEASURES[name][1]

    def of_side(side: Side) -> float | None:
        return side.mean(of_trial)

    values = [None if side is None else of_side(side) for side in (pair.a, pair.b)]
    return [_round(value, digits, scale) for value in (*values, pair.difference(of_side))]


def _round(value: float | None, digits: int, scale: int) -> float | None:
    return None if value is None else round(value * scale, digits)
