"""What graders saw on the final page of a stored attempt."""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from pytest_browsereval.capture.trajectory import EVIDENCE_FILE
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.run_files import load_written


def read_evidence(folder: Path) -> dict[str, JsonValue]:
    """Return what graders observed; empty if none did.

    Raises:
        DatasetError: the file is damaged.
    """
    file = folder / EVIDENCE_FILE
    if not file.exists():
        return {}
    try:
        evidence = load_written(file)
    except (OSError, ValueError) as error:
        raise DatasetError(f"{file} is damaged: {error}. Restore it.") from None
    if not isinstance(evidence, dict):
        raise DatasetError(f"{file} is damaged: it is not a block of graders. Restore it.")
    return evidence
