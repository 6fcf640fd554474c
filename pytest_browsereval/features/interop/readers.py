"""Formats of foreign runs: finds a format by its name, and reads runs with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_browsereval.contracts import describe_value
from pytest_browsereval.door import Door
from pytest_browsereval.errors import PluginError, UsageError, describe_error, nearest
from pytest_browsereval.features.interop.files import check_tree
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.imports import Imported, ImportFormat

HOOK = "pytest_browsereval_run_formats"


def _report(sentence: str) -> None:
    """Say which format is left out, and why: the one that is asked for may have a namesake."""
    sys.stderr.write(redact_known(f"browsereval: {sentence}\n"))


def find_format(door: Door, name: str) -> ImportFormat:
    """Return the format of a name, and print which others are left out.

    Raises:
        UsageError: there is none; the message has those that there are.
    """
    found: dict[str, ImportFormat] = {}
    owners: dict[str, str] = {}
    for owner, one in door.ask_each(HOOK, _report):
        if not isinstance(one, ImportFormat):
            _report(f"{owner}: {HOOK} returned {one!r}, which is not a format.")
        elif one.name in found:
            _report(
                f"{owner} and {owners[one.name]} both have an ImportFormat {one.name!r}. That of "
                f"{owners[one.name]} is used; rename the other one."
            )
        else:
            found[one.name], owners[one.name] = one, owner
    if name not in found:
        raise UsageError(f"unknown format {name!r}.{nearest(name, found)} Formats: {', '.join(found)}.")
    return found[name]


def read_run(door: Door, name: str, place: Path) -> Iterator[Imported]:
    """Yield the attempts of another system's run.

    Args:
        door: asks plug-ins for formats.
        name: of its format.
        place: the folder of the run, or of one task of it, or a file.

    Raises:
        UsageError: the format is not known, a file is missing or wrong, which the message names, or there is
            no attempt.
        PluginError: the format returns something else than attempts.
    """
    chosen = find_format(door, name)
    check_tree(place)
    is_empty = True
    try:
        for one in chosen.read(place):
            _check(name, one)
            is_empty = False
            yield one
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {describe_error(error)}.") from None
    if is_empty:
        raise UsageError(f"{place}: the format {name!r} finds no attempt there.")


def _check(name: str, one: Any) -> None:
    if not isinstance(one, Imported):
        message = f"the format {name!r} returned {describe_value(one)} among its attempts. Fix the plug-in."
        raise PluginError(message)
    if one.trial < 1:
        message = f"an attempt of {one.task.query_id!r} with the trial number {one.trial!r}"
        raise PluginError(f"the format {name!r} returned {message}. They begin with 1; fix the plug-in.")
