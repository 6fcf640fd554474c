"""Writes a finished run as ATIF: a document for each attempt, and its pictures."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pytest_browsereval.config.export import ExportConfig, Exported
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.atif.trajectory import make_trajectory
from pytest_browsereval.features.shared.export_record import describe_withheld, withhold
from pytest_browsereval.run_files import write_json
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import read_log
from pytest_browsereval.runs.run import StoredRun


class AtifExport(ExportConfig):
    """ATIF v1.7: a JSON document for each attempt, for training and for tools that read trajectories."""

    type: Literal["atif"] = "atif"
    output: Path = Path("atif")
    """The folder to write; each eval has a folder in it, and there each run."""
    pictures: bool = True
    """Whether pictures are written too."""

    def write(self, run: StoredRun, base_dir: Path) -> Exported:
        """Write the documents; those of the same run that are there are replaced."""
        place = self.output / safe_folder(run.eval) / run.id
        target = base_dir / place
        if target.resolve() == run.folder.resolve():
            raise UsageError(f"{self.output} has the run itself. Name another one with `--output`.")
        withheld, lost, count = 0, [], 0
        for attempt in run.attempts:
            is_protected = attempt.is_protected
            if not is_protected and (why := read_log(attempt.folder)[1]):
                lost.append(f"{attempt.query_id}: {why}")
            self._write(attempt, target, is_withheld=is_protected)
            withheld += is_protected
            count += attempt.counts
        return Exported(str(place), count, describe_withheld(withheld), tuple(lost))

    def _write(self, attempt: StoredAttempt, target: Path, *, is_withheld: bool) -> None:
        name = f"{safe_folder(attempt.variant)}-{attempt.trial}-{attempt.number}"
        folder = target / safe_folder(attempt.query_id)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / name, ignore_errors=True)
        pictures = {}
        if self.pictures and not is_withheld:
            pictures = _copy(attempt.pictures, folder / name)
        record = attempt.metadata
        document = make_trajectory(attempt, withhold(record) if is_withheld else record, pictures)
        write_json(folder / f"{name}.json", document)


def _copy(pictures: Mapping[int, Path], folder: Path) -> dict[int, str]:
    """Return where the copies of pictures are, relative to the document, by their numbers."""
    copies = {}
    for number, path in pictures.items():
        folder.mkdir(exist_ok=True)
        copy = folder / f"{number:03d}{path.suffix}"
        shutil.copyfile(path, copy, follow_symlinks=False)
        copies[number] = f"{folder.name}/{copy.name}"
    return copies
