"""Writes the page of all runs: their lines, the tasks over the last of them, and a table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.runs.breaks import Breaks
from pytest_browsereval.features.runs.digest import Figures, RunDigest
from pytest_browsereval.features.runs.history import History
from pytest_browsereval.features.runs.tasks import Change, read_grid
from pytest_browsereval.features.shared.reporting import refuse_unwritable
from pytest_browsereval.features.shared.viewer.page import feature_form, page
from pytest_browsereval.model.display import one_line
from pytest_browsereval.report.links import PAGE, check_page, way_from
from pytest_browsereval.run_files import write_whole

RUNS_PAGE = "runs.html"
"""In a results folder."""

_OWN = ("runs", "plots", "tasks", "run")
_SCRIPTS = ("base", "runs", "choice", "table", "plots", "tasks", "run", "main")
_CHANGES = tuple(Change)


def write_page(history: History, runs: Sequence[RunDigest], breaks: Breaks, asked: Path | None) -> str:
    """Write the page, next to the runs if no file is asked for; return where it is.

    Args:
        history: of the results folder, or of a URL.
        runs: those that are shown, the newest first.
        breaks: where the line of a variant breaks.
        asked: the file that someone asks for.

    Raises:
        UsageError: it cannot be written.
    """
    if history.remote is not None and asked is None:
        history.remote.write(RUNS_PAGE, _make_page(history, runs, breaks, "").encode())
        return f"{history.name}/{RUNS_PAGE}"
    file = asked or (history.folder or Path()) / RUNS_PAGE
    with refuse_unwritable(file):
        check_page(file)
        home = None if history.folder is None else way_from(file, history.folder)
        write_whole(file, _make_page(history, runs, breaks, home))
    return format_path(file)


def _make_page(history: History, runs: Sequence[RunDigest], breaks: Breaks, home: str | None) -> str:
    """Return the page; ``home`` is the way from it to the history, None if no link leads there."""
    folder = history.folder
    places = {run.run: place for place, run in enumerate(runs)}
    evals: dict[str, list[RunDigest]] = {}
    for run in runs:
        evals.setdefault(run.eval, []).append(run)
    data = {
        "home": home or "",
        "folder": "" if folder is None else history.name,
        "url": history.name if folder is None else "",
        "runs": [_run(run, folder, breaks, places) for run in runs],
        "changes": list(map(str, _CHANGES)),
        "grids": {name: _grid(history, own, places) for name, own in evals.items()},
    }
    name = history.name if folder is None else folder.resolve().name
    return page(data, f"All runs: {one_line(name, 60)}", form=feature_form("runs", "runs", _SCRIPTS, _OWN))


def _run(run: RunDigest, folder: Path | None, breaks: Breaks, places: Mapping[str, int]) -> list[Any]:
    variants = []
    for one in run.variants:
        found = breaks.get((run.run, one.name))
        broken = None if found is None else [places.get(found.before), found.words]
        variants.append([one.name, one.agent, *_figures(one.figures), broken])
    # A path object costs more.
    has_page = folder is not None and os.path.isfile(f"{folder}{os.sep}{run.run}{os.sep}{PAGE}")  # noqa: PTH113
    return [
        run.run,
        run.eval,
        run.started_at,
        str(run.state),
        run.note,
        run.commit or "",
        run.gate,
        list(run.missed),
        has_page,
        _figures(run.whole),
        variants,
    ]


def _figures(one: Figures) -> list[Any]:
    low, high = one.interval or (None, None)
    counts = [one.passed, one.failed, one.errored, one.tasks]
    shares = [None if share is None else round(share, 4) for share in (one.rate, low, high)]
    cost = None if one.cost_usd is None else round(one.cost_usd, 6)
    ms = None if one.p95_ms is None else round(one.p95_ms)
    return [*counts, *shares, cost, one.p95_steps, ms]


def _grid(history: History, runs: Sequence[RunDigest], places: Mapping[str, int]) -> dict[str, Any]:
    shown, tasks, left = read_grid(history, runs)
    return {
        "runs": [places[run.run] for run in shown],
        "tasks": [[one_line(name), own, _CHANGES.index(change), *more] for name, own, change, *more in tasks],
        "left": left,
    }
