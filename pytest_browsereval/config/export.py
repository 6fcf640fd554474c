"""Exports: a finished run in the form of another tool."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pytest_browsereval.registry import Component


@dataclass(frozen=True)
class Exported:
    """What an export has written or sent, and what it has not."""

    place: str
    """Where it is: a folder, a file, a URL without its user and parameters."""
    trials: int
    """How many trials of the run are in it."""
    left_out: tuple[str, ...] = ()
    """What was left out on purpose, each with the reason: this is not a failure."""
    lost: tuple[str, ...] = ()
    """What should be in it and is not, each with the reason. ``browsereval export`` then ends with 1."""


class ExportConfig(Component):
    """Base of all exports: ``browsereval export RUN --to TYPE``, and ``export: [TYPE]`` in a config.

    The fields are the keys of the block. For the command ``pictures`` is ``--eval-set export.pictures=...``,
    and ``output`` may be ``-o``. Their docstrings are the help.

    An export reads the run as it is stored, never a dataset, and is never part of an attempt. A repeated
    export replaces the earlier one: ids follow from ``StoredAttempt.id``. ``write`` imports what it needs;
    ``preflight`` says what to install if that is missing.
    """

    family: ClassVar[str] = "export"
    needs_names: ClassVar[bool] = True
    """Whether the evals of a session must have different names, because runs of one name share an id."""

    def preflight(self, base_dir: Path) -> None:
        """Check what the export needs here, before anything is spent or written; nothing by default.

        Raises:
            ConfigError: something is not installed; the message says what to type.
        """

    def write(self, run: Any, base_dir: Path) -> Exported:
        """Write a run, or send it.

        Args:
            run: a ``StoredRun``.
            base_dir: what a path among the options is relative to: the folder of the config, or the current
                one of the command.

        Raises:
            UsageError: an option is wrong, something is not installed, or nothing can be written.
            OSError: it cannot be written.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no `write`")
