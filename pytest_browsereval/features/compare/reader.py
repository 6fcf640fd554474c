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
from typing import IO, Any

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.compare.baseline import read_run
from pytest_browsereval.features.outcomes import Outcome, RunOutcomes, read_outcomes
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.summary import SUMMARY

WORTH_A_PROCESS = 4 << 20
"""Bytes of a run's summary, about 8,000 trials: a process takes 0.3 s to start."""

_FIELDS = tuple(one.name for one in fields(Outcome))
_SHARED = ("query_id", "row_hash")
_ENUMS = {"verdict": Verdict, "error_source": ErrorSource}


Reader = Callable[[RunOutcomes], RunOutcomes]
"""Returns the baseline; of the run that is compared with it, it takes texts that are the same in both."""


@contextmanager
def read_beside(place: Path) -> Iterator[Reader]:
    """Yield a function that returns a run from its folder or from a baseline's file, as ``read_run`` does.

    The process ends with the block. Where it comes to nothing, for whatever reason, the run is read here.
    """
    if not _is_worth_a_process(place):
        yield lambda _: read_run(place)
        return
    with subprocess.Popen(  # noqa: S603 ourselves
        [sys.executable, "-P", "-m", __name__, str(place)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield lambda other: _receive(process, place, other) or read_run(place)
        finally:
            process.kill()


def _is_worth_a_process(place: Path) -> bool:
    try:
        is_large = (place / SUMMARY).stat().st_size >= WORTH_A_PROCESS
    except OSError:
        return False
    return is_large and (os.cpu_count() or 1) > 1 and bool(sys.executable)


def _receive(process: subprocess.Popen[bytes], place: Path, other: RunOutcomes) -> RunOutcomes | None:
    assert process.stdout is not None  # noqa: S101 a pipe
    try:
        found = read_packed(process.stdout, place, other)
    except (EOFError, ValueError, TypeError, LookupError):  # it was cut
        return None
    return None if process.wait() else found


def write_packed(run: RunOutcomes, file: IO[bytes]) -> None:
    """Write a run as plain values, field by field: a fifth of the time that objects take."""
    _write(file, (run.name, run.selected, run.manifest))
    for name in _FIELDS:
        values = [getattr(trial, name) for trial in run.trials]
        _write(file, [one and str(one) for one in values] if name in _ENUMS else values)


def read_packed(file: IO[bytes], folder: Path, other: RunOutcomes) -> RunOutcomes:
    """Return the run in that folder by what ``write_packed`` has written of it.

    Args:
        file: of which one field after another is read: all of 200,000 trials take 60 MiB.
        folder: of the run.
        other: a run that has the same tasks: what is equal in both is kept once.

    Raises:
        EOFError, ValueError, TypeError, LookupError: it is damaged.
    """
    name, selected, manifest = _read(file)
    same = {trial.query_id: trial for trial in other.trials}
    columns: dict[str, list[Any]] = {}
    for field in _FIELDS:
        values = _read(file)
        if enum := _ENUMS.get(field):
            known: dict[str | None, Any] = {None: None, **{str(one): one for one in enum}}
            values = [known[one] for one in values]
        elif field in _SHARED:
            found = (getattr(same.get(one), field, None) for one in columns.get("query_id", values))
            values = [old if old == new else new for old, new in zip(found, values, strict=True)]
        columns[field] = values
    return RunOutcomes(name, folder, tuple(map(Outcome, *columns.values())), selected, manifest)


def _write(file: IO[bytes], value: Any) -> None:
    content = marshal.dumps(value)
    file.write(len(content).to_bytes(8) + content)


def _read(file: IO[bytes]) -> Any:
    return marshal.loads(file.read(int.from_bytes(file.read(8))))  # noqa: S302 plain values, from ourselves


def main(place: Path) -> None:
    """Write a run, packed, to standard output."""
    gc.set_threshold(50_000)  # as the command does in its own process
    write_packed(read_outcomes(place), sys.stdout.buffer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
