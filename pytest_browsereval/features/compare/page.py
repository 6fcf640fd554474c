"""Writes the page of two runs: what their comparison says, and each task's attempts side by side."""

from __future__ import annotations

from itertools import starmap
from pathlib import Path
from typing import Any

from pytest_browsereval.door import Door
from pytest_browsereval.features.compare.compare import Change, Pair, RunComparison, Side, count_plain
from pytest_browsereval.features.compare.report import (
    VARIANTS,
    basis,
    counts,
    describe_variant,
    figures,
    verdict,
)
from pytest_browsereval.features.shared.viewer.attempts import iter_attempts
from pytest_browsereval.features.shared.viewer.page import SHARED, feature_form, page
from pytest_browsereval.features.shared.viewer.rows import LONGEST, Table, about_run
from pytest_browsereval.features.shared.viewer.writing import Details
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.links import PAGE, check_page, way_from
from pytest_browsereval.run_files import write_whole
from pytest_browsereval.runs.run import StoredRun

_CHANGES = tuple(Change)

_OWN = ("pairs", "compared", "pair")
_SCRIPTS = ("base", "rows", "pairs", *SHARED, "compared", "pair", "main")

_MEASURES = {"steps": (3, 1), "time": (3, 1000), "cost": (6, 1)}
"""Decimals, and by what a figure is multiplied: the page shows milliseconds."""


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
    whole = found.whole
    data = {
        "verdict": verdict(whole),
        "basis": basis(whole),
        "counts": counts(whole),
        "notes": [one_line(note, LONGEST) for note in found.notes],
        "figures": list(figures(whole)),
        "variants": [VARIANTS, *starmap(describe_variant, found.variants.items())] if found.variants else [],
        "differences": [one_line(line, 2 * LONGEST) for line in found.differences],
        "changes": list(map(str, _CHANGES)),
        "sides": {"a": _make_side(door, found, "a", file), "b": _make_side(door, found, "b", file)},
        "pairs": [_make_pair(pair) for pair in whole.pairs],
    }
    names = [one_line(run.eval, 60) for run in (found.a, found.b)]
    title = f"{' and '.join(dict.fromkeys(names))}: two runs compared"
    write_whole(file, page(data, title, form=feature_form("compare", "comparison", _SCRIPTS, _OWN)))


def _make_side(door: Door, found: RunComparison, name: str, file: Path) -> dict[str, Any]:
    """Return what the page has of a run; a baseline's file has no attempts."""
    run: StoredRun = getattr(found, name)
    about = {**about_run(run.read_manifest(), run.name, count_plain(run)), "name": run.name}
    folder = file.with_suffix(".files")
    table, details = Table(), Details(folder / name, name)
    if not run.folder.is_dir():
        details.remove_older()  # of a page that had a run here
        return {"run": about, "table": None}
    home = way_from(file, run.folder)
    own = "/".join(filter(None, (home, PAGE))) if (run.folder / PAGE).is_file() else ""
    sides: list[Side] = [side for pair in found.whole.pairs if (side := getattr(pair, name))]
    tasks = {(side.trials[0].last.query_id, side.trials[0].last.variant) for side in sides}
    for attempt in iter_attempts(StoredRun(run.folder, door)):
        data = attempt.metadata
        if data is not None and (data.query_id, data.variant) in tasks:
            table.add(attempt, details.add(attempt))
    details.flush()
    details.remove_older()
    places = {"home": home, "details": f"{folder.name}/{name}", "page": own}
    whole = table.as_json()
    return {"run": {**about, **places}, "table": {key: whole[key] for key in ("columns", "words", "rows")}}


def _make_pair(pair: Pair) -> list[Any]:
    return [
        pair.query_id,
        pair.variant,
        _CHANGES.index(pair.change),
        one_line(pair.telling.reason, LONGEST) if pair.telling else "",
        *(_make_half(side) for side in (pair.a, pair.b)),
        *(_measure(pair, name) for name in _MEASURES),
    ]


def _make_half(side: Side | None) -> list[str] | None:
    """Return the variant, what all trials came to (*mixed* where they differ), and how many to what."""
    if side is None:
        return None
    kinds = {trial.verdict for trial in side.trials}
    judged = kinds - {Verdict.ERRORED} or kinds
    state = str(min(judged)) if len(judged) == 1 else "mixed"
    return [side.trials[0].last.variant, state, side.outcome]


def _measure(pair: Pair, name: str) -> list[float | None]:
    """Return a figure of both sides and its change, as the comparison has them."""
    a, b = (None if side is None else side.mean(name) for side in (pair.a, pair.b))
    change = None if a is None or b is None else b - a
    digits, scale = _MEASURES[name]
    return [None if value is None else round(value * scale, digits) for value in (a, b, change)]
