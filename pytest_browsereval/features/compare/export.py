"""The export ``baseline``: the results of a run as a small file that can be committed."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pytest_browsereval.config.export import ExportConfig, Exported
from pytest_browsereval.errors import UsageError
from pytest_browsereval.runs.run import StoredRun


class BaselineExport(ExportConfig):
    """The results of a complete run in a small file to commit, for ``gate.baseline`` and ``compare``."""

    type: Literal["baseline"] = "baseline"
    output: Path = Path("baseline.json")
    """The file to commit."""
    needs_names: ClassVar[bool] = False

    def write(self, run: StoredRun, base_dir: Path) -> Exported:
        """Write the file, with a line for each trial."""
        from pytest_browsereval.analysis.parts import lacking
        from pytest_browsereval.config_text import format_path
        from pytest_browsereval.features.compare.baseline import read_run, write_baseline

        run = read_run(run.folder)
        if incomplete := lacking(run):
            raise UsageError(f"{format_path(run.folder)} is not complete: {incomplete.message}.")
        write_baseline(run, base_dir / self.output)
        derived = len(run.summary.trials) - len(run.summary.plain)
        left_out = (f"{derived} trials of derived rows: no gate compares them",) if derived else ()
        return Exported(str(self.output), len(run.summary.plain), left_out)
