"""Reads the baseline of a comparison: a large one by a process of its own, while the other run is read."""

from __future__ import annotations

import gc
import marshal
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.compare.baseline import read_run
from pytest_browsereval.features.outcomes import Outcome, RunOutcomes, read_outcomes
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.summary import SUMMARY

WORTH_A_PROCESS = 4 << 20
"""Bytes of a run's summary, about 8,000 trials: a process takes 0.3 s to start."""

_FIELDS = tuple(one.name for one in fields(Outcome))
_ENUMS = {"verdict": Verdict, "error_source": ErrorSource}


@contextmanager
def read_beside(place: Path) -> Iterator[Callable[[], RunOutcomes]]:
    """Yield a function that returns a run from its folder or from a baseline's file, as ``read_run`` does.

    The process ends with the block. Where it comes to nothing, for whatever reason, the run is read here.
    """
    if not _is_worth_a_process(place):
        yield lambda: read_run(place)
        return
    with subprocess.Popen(  # noqa: S603 ourselves
        [sys.executable, "-P", "-m", __name__, str(place)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield lambda: _receive(process, place) or read_run(place)
        finally:
            process.kill()


def _is_worth_a_process(place: Path) -> bool:
    try:
        is_large = (place / SUMMARY).stat().st_size >= WORTH_A_PROCESS
    except OSError:
        return False
    return is_large and (os.cpu_count() or 1) > 1 and bool(sys.executable)


def _receive(process: subprocess.Popen[bytes], place: Path) -> RunOutcomes | None:
    content = process.communicate()[0]
    return None if process.returncode else unpack(content, place)


def pack(run: RunOutcomes) -> bytes:
    """Return a run as plain values, field by field: a fifth of the time that objects take."""
    columns = [[getattr(trial, name) for trial in run.trials] for name in _FIELDS]
    for place, name in enumerate(_FIELDS):
        if name in _ENUMS:
            columns[place] = [one and str(one) for one in columns[place]]
    return marshal.dumps((run.name, run.selected, run.manifest, columns))


def unpack(content: bytes, folder: Path) -> RunOutcomes:
    """Return the run in that folder by what ``pack`` has returned of it."""
    name, selected, manifest, columns = marshal.loads(content)  # noqa: S302 plain values, from ourselves
    for place, field in enumerate(_FIELDS):
        if enum := _ENUMS.get(field):
            known: dict[str | None, Any] = {None: None, **{str(one): one for one in enum}}
            columns[place] = [known[one] for one in columns[place]]
    return RunOutcomes(name, folder, tuple(map(Outcome, *columns)), selected, manifest)


def main(place: Path) -> None:
    """Write a run, packed, to standard output."""
    gc.set_threshold(50_000)  # as the command does in its own process
    sys.stdout.buffer.write(pack(read_outcomes(place)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
