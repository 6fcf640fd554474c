"""Does one export, and says what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_browsereval.config.export import ExportConfig, Exported
from pytest_browsereval.config_text import format_path
from pytest_browsereval.contracts import check_result, naming
from pytest_browsereval.errors import UsageError, describe_error
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.runs.run import StoredRun

MOST_LINES = 20


def write_export(export: ExportConfig, run: StoredRun, base_dir: Path) -> Exported:
    """Write a run by an export.

    Raises:
        UsageError: it cannot be written.
        PluginError: code of the export raises what it must not, or returns something else.
    """
    try:
        with naming(export, "write", OSError):
            found = export.write(run, base_dir)
    except OSError as error:
        raise UsageError(f"the export {export.type!r} cannot be written: {_describe(error)}.") from None
    return check_result(export, "write", found, Exported, "an Exported")


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
