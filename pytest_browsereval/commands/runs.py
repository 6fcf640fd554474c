"""RUN, as all commands take it: a run's folder, its id, or ``latest``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

# Where runs are looked up by id when no config names another folder.
RESULTS = Path("results")

_LOOKUP = "Ids are looked up below results/ folders, or see --config"

HELP = f"a run: its folder, its id, or 'latest'. {_LOOKUP}"

HELP_OF_BASELINE = f"a run (its folder, its id, or 'latest') or a baseline file. {_LOOKUP}"


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where runs are looked up."""
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="look up an id or 'latest' among the runs of this config"
    )


def find_run(given: str, config: Path | None = None, *, is_empty_allowed: bool = False) -> Path:
    """Return the folder of a run by what was typed.

    Ids are looked up below the results folder of the config, else below ``results`` in the current folder;
    if that has no run, below each ``results`` further down.

    Args:
        given: what was typed.
        config: the file that ``--config`` names.
        is_empty_allowed: whether a run counts that was ended before its first attempt.

    Raises:
        UsageError: there is no such run, or there are several; the message has the newest ones.
    """
    from pytest_browsereval.run.lookup import LATEST, Runs, is_run

    if given not in ("", LATEST) and is_run(Path(given), is_empty_allowed=is_empty_allowed):
        return Path(given)  # a path needs no look-up
    place = None
    if config is not None:
        from pytest_browsereval.config import load_place

        place = load_place(config)
    runs = Runs.near(RESULTS) if place is None else Runs.of(*place)
    return runs.find(given, Path(), is_empty_allowed=is_empty_allowed)


def find_runs(given: Iterable[str], config: Path | None = None) -> list[Path]:
    """Return the folders of runs by what was typed.

    Args:
        given: what was typed.
        config: the file that ``--config`` names.

    Raises:
        UsageError: there is no such run, or there are several.
    """
    return [find_run(one, config) for one in given]


def find_baseline(given: str, config: Path | None = None, *, of: Path | None = None) -> Path:
    """Return the folder of a run, or the file of a baseline.

    Args:
        given: what was typed.
        config: the file that ``--config`` names.
        of: the run that is compared with it: *latest* is then the one before it, and never itself.

    Raises:
        UsageError: there is no such run, or there are several.
    """
    from pytest_browsereval.run.lookup import LATEST, Runs

    if Path(given).is_file():
        return Path(given)
    # The newest run may be the one that is compared.
    if given == LATEST and of is not None:
        home = of.resolve().parent
        return Runs(home, (home,)).find(given, Path(), before=of.resolve())
    return find_run(given, config)
