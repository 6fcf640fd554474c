"""Writes the viewer of a run: the page, and next to it scripts with the details of its attempts.

A page that is a file cannot fetch, but it can load a script; the one with an attempt's details is loaded
when someone looks at the attempt. Message logs go into it as texts that the browser parses: to read 20,000
of them here would take longer than all the rest.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.manifest_lines import block_of
from pytest_browsereval.features.shared.viewer.attempts import ShownAttempt, iter_attempts
from pytest_browsereval.features.shared.viewer.page import as_script, page
from pytest_browsereval.features.shared.viewer.records import details_of
from pytest_browsereval.features.shared.viewer.rows import Table, about_run
from pytest_browsereval.features.shared.viewer.standing import quarantine_of, repeats_of, resumes_of
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.report.links import PAGE, check_page, way_from
from pytest_browsereval.run_files import write_whole
from pytest_browsereval.runs.run import StoredRun

# Characters. A browser loads such a script in a moment; one for each attempt would make 20,000 files.
CHUNK = 400_000

_NAME = re.compile(r"\d{4,}\.js")


@dataclass(frozen=True)
class Written:
    """What was written."""

    file: Path
    attempts: int
    damaged: int
    """Attempts that cannot be read; the page says why."""


class Details:
    """Writes details into numbered scripts, each when it is full.

    Args:
        folder: of the scripts.
        side: which run it is, on a page of two.
    """

    def __init__(self, folder: Path, side: str = "") -> None:
        self._folder = folder
        self._call = f",{as_script(side)}" if side else ""
        self._parts: list[str] = []
        self._size = 0
        self.count = 0

    @property
    def next(self) -> int:
        """The number of the script that the next details go to."""
        return self.count + 1

    def add(self, attempt: ShownAttempt) -> int:
        """Write down an attempt's details, and return the number of the script that they are in."""
        part = f"{as_script(attempt.key)}:{as_script(details_of(attempt))}"
        if self._parts and self._size + len(part) > CHUNK:
            self.flush()
        self._parts.append(part)
        self._size += len(part)
        return self.next

    def flush(self) -> None:
        """Write what is gathered."""
        if not self._parts:
            return
        self._drop_link()
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{self.next:04d}.js"
        script = well_formed(
            f"browsereval({{{','.join(self._parts)}}}{self._call});\n"
        )  # names of files may be anything
        write_whole(self._folder / name, script)
        self.count += 1
        self._parts, self._size = [], 0

    def _drop_link(self) -> None:
        # An agent's program may have put it there: what it leads to is not ours to write or to remove.
        if self._folder.is_symlink():
            self._folder.unlink()

    def remove_older(self) -> None:
        """Remove scripts that an earlier page of more attempts has left."""
        self._drop_link()
        for file in self._folder.glob("*.js"):
            if _NAME.fullmatch(file.name) and int(file.stem) > self.count:
                file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()  # if nothing is in it


def write_viewer(door: Door, run: Path, file: Path | None = None) -> Written:
    """Write the viewer of a run.

    Args:
        door: asks plug-ins for causes and figures.
        run: the run folder.
        file: where the page goes; ``index.html`` in the run folder by default. Details are written into a
            folder next to it that has its name: ``index.files``.

    Raises:
        UsageError: there is no run, or the page cannot be there.
        OSError: it cannot be written.
    """
    check_run(run)
    target = run / PAGE if file is None else file
    check_page(target)
    stored, table, details = StoredRun(run, door), Table(), Details(target.with_suffix(".files"))
    for attempt in iter_attempts(stored):
        table.add(attempt, details.add(attempt))
    details.flush()
    places = {"home": way_from(target, run), "details": target.with_suffix(".files").name}
    data = build_run_data(stored, table, places)
    write_whole(target, page(data, title_of(data)))
    details.remove_older()
    return Written(target, table.attempts, table.count_damaged())


def build_run_data(run: StoredRun, table: Table, places: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the run page draws.

    Args:
        run: the run.
        table: its rows.
        places: where the page finds what is not in it.
    """
    manifest = run.read_manifest()
    summary = run.sum_up_lines()
    about = about_run(manifest, run.name, run.count_selected())
    for name, figures in run.read_figures().items():  # what features say of a run in a line
        if line := block_of(figures).get("line"):
            about["facts"][name.replace("_", " ").capitalize()] = str(line)
    return {
        "gate": None,  # at the front, where a feature puts what it came to: it is decided later
        "run": {**about, "resumes": resumes_of(run.folder, manifest), **places},
        "totals": table.totals(summary),
        **table.as_json(),
        "further": run.door.sum_up_run(run) if len(summary.plain) < len(summary.trials) else {},
        "repeats": repeats_of(summary),
        "quarantine": quarantine_of(run.find_gate(), summary),
    }


def title_of(data: Mapping[str, Any]) -> str:
    """Return the title of a run's page."""
    facts = data["run"]["facts"]
    return str(facts.get("Eval", facts["Run"]))


def check_run(run: Path) -> None:
    """Check that there is a run.

    Raises:
        UsageError: there is none.
    """
    if not (run / "tasks").is_dir():
        raise UsageError(f"{run} is not a run folder: it has no `tasks/`.")
