"""Finds the baseline that was named: a run, or a file."""

from __future__ import annotations

from pathlib import Path

from pytest_browsereval.commands.runs import find_run
from pytest_browsereval.door import Door


def find_baseline(
    door: Door, given: str, config: Path | None = None, *, of: Path | None = None, with_files: bool = False
) -> Path:
    """Return the folder of a run, or the file of a baseline.

    Args:
        door: asks plug-ins for a run at a URL.
        given: what was typed.
        config: the file that ``--config`` names.
        of: the run that is compared with it: *latest* is then the one before it, and never itself.
        with_files: whether pictures, traces and other files of attempts are needed too.

    Raises:
        UsageError: there is no such run, or there are several.
    """
    from pytest_browsereval.run.lookup import LATEST, LATEST_ON, Runs

    if Path(given).is_file():
        return Path(given)
    # The newest run may be the one that is compared.
    if of is not None:
        run = of.resolve()
        if given == LATEST:
            return Runs(run.parent, (run.parent,)).find(given, Path(), before=run)
        if "://" in given:
            return door.fetch_one(given, run.name, with_files=with_files)
        if given.startswith(LATEST_ON):
            return Path(door.choose_run(given, str(run.parent), run.name))
    return find_run(door, given, config, with_files=with_files)
