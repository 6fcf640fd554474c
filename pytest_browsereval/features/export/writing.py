"""Does one export, and says what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pytest_browsereval.config.export import ExportConfig, Exported
from pytest_browsereval.config_text import format_path
from pytest_browsereval.contracts import check_result, naming
from pytest_browsereval.errors import UsageError, describe_error
from pytest_browsereval.model.display import format_count, join_first, one_line
from pytest_browsereval.run_files import write_whole
from pytest_browsereval.runs.run import StoredRun

MOST_LINES = 20

EXPORTED = ".browsereval-exported"
"""In a folder of exports: whose they are, as JSON. Without a suffix, as Inspect takes .json for a log."""


def write_export(export: ExportConfig, run: StoredRun, base_dir: Path) -> Exported:
    """Write a run by an export.

    Raises:
        UsageError: it cannot be written.
        PluginError: code of the export raises what it must not, or returns something else.
    """
    try:
        with _note_owner(export, run, base_dir), naming(export, "write", OSError):
            found = export.write(run, base_dir)
    except OSError as error:
        raise UsageError(f"the export {export.type!r} cannot be written: {_describe(error)}.") from None
    return check_result(export, "write", found, Exported, "an Exported")


@contextmanager
def _note_owner(export: ExportConfig, run: StoredRun, base_dir: Path) -> Iterator[None]:
    """Refuse to take the place of another run's export: evals of one name in one session have one id.

    Raises:
        UsageError: it would.
        OSError: the folder cannot be read or written.
    """
    field, output = type(export).model_fields.get("output"), getattr(export, "output", None)
    # What has no default is a folder in another form.
    place = base_dir / output if isinstance(output, Path) and field and not field.is_required() else None
    if place is None or (place.exists() and not place.is_dir()):
        yield
        return
    file, known, manifest = place / EXPORTED, dict[str, Any](), run.manifest
    with suppress(FileNotFoundError, ValueError):
        loaded = json.loads(file.read_bytes())
        known = loaded if isinstance(loaded, dict) else {}
    name = f"{export.type} {run.eval} {run.id}"
    own = json.dumps([manifest.get(key) for key in ("started_at", "config_hash", "merged_from")])
    if known.setdefault(name, own) != own:
        raise UsageError(
            f"{format_path(place)} has the export of another run that is {run.eval!r}, {run.id}: evals of "
            "one name in one session have one id. Name another folder (--output), or write another `name` "
            "into one of the configs."
        )
    yield
    if place.is_dir():
        write_whole(file, json.dumps(known, indent=1) + "\n")  # a config may name half of a character


def _describe(error: OSError) -> str:
    """Return what the system refuses, and where; the code that it has met says nothing to users."""
    if not error.strerror:
        return describe_error(error)
    where = error.filename2 or error.filename
    shown = f"{format_path(Path(where))}: " if isinstance(where, str) else ""
    return f"{shown}{error.strerror.rstrip('.')}"


def describe_exported(export: ExportConfig, exported: Exported, run: StoredRun) -> str:
    """Return how much of a run is where."""
    total = format_count(len(run.summary.trials), "trial")
    return one_line(f"{export.type}: {exported.trials:,} of {total} in {exported.place}", 500)


def list_gaps(exported: Exported, run: StoredRun) -> Iterator[str]:
    """Yield what is not in an export, and why."""
    for word, reasons in (("left out", exported.left_out), ("lost", exported.lost)):
        for reason in reasons[:MOST_LINES]:
            yield one_line(f"{word}: {reason}", 500)
        if len(reasons) > MOST_LINES:
            yield f"{word}: {len(reasons) - MOST_LINES} more"
    unsaid = len(run.summary.trials) - exported.trials - len(exported.left_out) - len(exported.lost)
    if unsaid > 0:
        yield f"left out: {format_count(unsaid, 'trial')} that the export does not mention"


def describe_loss(exported: Exported) -> str:
    """Return what should be there and is not, in one line."""
    return one_line(join_first(exported.lost, 3, "; "), 500)
