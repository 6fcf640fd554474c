"""Reads the baseline of a comparison: a large one by a process of its own, while the other run is read."""

from __future__ import annotations

import gc
import marshal
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.compare.baseline import read_run
from pytest_browsereval.features.outcomes import Outcome, RunOutcomes, read_outcomes
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.summary import SUMMARY

WORTH_A_PROCESS = 4 << 20
"""Bytes of a run's summary, about 8,000 trials: a process takes 0.3 s to start."""

AT_ONCE = 10_000
"""Trials that go over in one piece."""

_FIELDS = tuple(one.name for one in fields(Outcome))
_OF_TASK = ("query_id", "row_hash")
"""Fields that are the same in both runs, as a rule."""
_OF_MANY = ("variant", "website", "tags", "judges")
"""Fields of which a run has few different values."""
_NO_RULE = {"reason": "", "steps": 0, "duration_ms": None, "cost_usd": None}
"""Fields that no rule looks at, and what stands for them."""
_FOR_RULES = "--for-rules"
_ENUMS = {"verdict": Verdict, "error_source": ErrorSource}


Reader = Callable[[RunOutcomes], RunOutcomes]
"""Returns the baseline; of the run that is compared with it, it takes texts that are the same in both."""


@contextmanager
def read_beside(place: Path, *, is_for_rules: bool = False) -> Iterator[Reader]:
    """Yield a function that returns a run from its folder or from a baseline's file, as ``read_run`` does.

    The process ends with the block. Where it comes to nothing, for whatever reason, the run is read here.

    Args:
        place: of the run.
        is_for_rules: whether what no rule looks at may be left out: of 200,000 trials it takes 30 MiB.
    """
    if not _is_worth_a_process(place):
        yield lambda _: read_run(place)
        return
    with subprocess.Popen(  # noqa: S603 ourselves
        [sys.executable, "-P", "-m", __name__, str(place), *[_FOR_RULES] * is_for_rules],
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


def write_packed(
    run: RunOutcomes, file: IO[bytes], without: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Write a run as plain values, field by field: a fifth of the time that objects take.

    Args:
        run: what is written.
        file: where to.
        without: fields that are left out, with what stands for them.
    """
    _write(file, (run.name, run.selected, run.manifest, run.attacked, len(run.trials)))
    for first in range(0, len(run.trials), AT_ONCE):
        trials = run.trials[first : first + AT_ONCE]
        columns = {name: [getattr(trial, name) for trial in trials] for name in _FIELDS}
        for name in _ENUMS:
            columns[name] = [one and str(one) for one in columns[name]]
        columns |= {name: [value] * len(trials) for name, value in without.items()}
        _write(file, list(columns.values()))


def read_packed(file: IO[bytes], folder: Path, other: RunOutcomes) -> RunOutcomes:
    """Return the run in that folder by what ``write_packed`` has written of it.

    Args:
        file: of which some trials after others are read: all of 200,000 take 60 MiB.
        folder: of the run.
        other: a run that has the same tasks: what is equal in both is kept once.

    Raises:
        EOFError, ValueError, TypeError, LookupError: it is damaged.
    """
    name, selected, manifest, attacked, count = _read(file)
    same = {trial.query_id: trial for trial in other.trials}
    members: dict[str | None, Any] = {
        None: None,
        **{str(one): one for enum in _ENUMS.values() for one in enum},
    }
    seen: dict[Any, Any] = {}
    trials: list[Outcome] = []
    while len(trials) < count:
        columns = dict(zip(_FIELDS, _read(file), strict=True))
        twins = [same.get(one) for one in columns["query_id"]]
        for field in _OF_TASK:
            pairs = zip(columns[field], twins, strict=True)
            columns[field] = [_keep_same(one, getattr(twin, field, None)) for one, twin in pairs]
        for field in _ENUMS:
            columns[field] = [members[one] for one in columns[field]]
        for field in _OF_MANY:
            columns[field] = [seen.setdefault(one, one) for one in columns[field]]
        trials += map(Outcome, *columns.values())
    return RunOutcomes(name, folder, tuple(trials), selected, manifest, attacked)


def _keep_same(new: str, old: str | None) -> str:
    return old if old is not None and old == new else new


def _write(file: IO[bytes], value: Any) -> None:
    content = marshal.dumps(value)
    file.write(len(content).to_bytes(8) + content)


def _read(file: IO[bytes]) -> Any:
    return marshal.loads(file.read(int.from_bytes(file.read(8))))  # noqa: S302 plain values, from ourselves


def main(place: Path, *options: str) -> None:
    """Write a run, packed, to standard output."""
    gc.set_threshold(50_000)  # as the command does in its own process
    write_packed(read_outcomes(place), sys.stdout.buffer, _NO_RULE if _FOR_RULES in options else {})


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
