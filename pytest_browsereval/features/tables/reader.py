"""Reads the attempts of a large run for its tables: most batches by a process of its own."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import IO

from pytest_browsereval.analysis.reader import StoredRun
from pytest_browsereval.features.tables.rows import Place, Rows, list_places, read_rows
from pytest_browsereval.features.tables.schema import TableName

WORTH_A_PROCESS = 2_000
"""Attempts: these take a second to read, and a process 0.4 s to start."""

BATCH = 64
"""Attempts that the processes take by turns. Their rows are to fit into the pipe between them."""

SIZE_BYTES = 8
"""What stands before a batch in the pipe: of how many bytes it is."""

OWN = 5
"""Every so many-th batch is read here, where the tables are written too."""

PIPE_BYTES = 1 << 20
"""What users may ask Linux for."""


def read_all_rows(run: StoredRun, tables: Collection[TableName], lost: list[str]) -> Iterator[Rows]:
    """Yield the rows of each attempt, by table, as ``read_rows`` does.

    What the other process cannot read, for whatever reason, is read here.

    Args:
        run: whose rows.
        tables: which ones.
        lost: gets a line for each attempt whose log cannot be read to its end.

    Raises:
        UsageError: a record is damaged.
    """
    places = list_places(run)
    if len(places) < WORTH_A_PROCESS or (os.cpu_count() or 1) == 1 or not sys.executable:
        yield from read_rows(run, tables, lost, places)
        return
    batches = split_places(places, BATCH)
    with (
        tempfile.TemporaryFile() as given,
        subprocess.Popen(  # noqa: S603 ourselves
            [sys.executable, "-P", "-m", __name__, str(run.files), ",".join(tables), str(BATCH)],
            stdin=_write_places(given, [one for number, one in enumerate(batches) if number % OWN]),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):
        try:
            assert process.stdout is not None  # noqa: S101 a pipe
            _widen(process.stdout)
            own = read_rows(run, tables, lost, chain.from_iterable(batches[::OWN]))
            for number, batch in enumerate(batches):
                if number % OWN == 0:
                    yield from islice(own, len(batch))
                elif (found := _receive(process.stdout, batch)) is not None:
                    lost += found[1]
                    yield from found[0]
                else:
                    yield from read_rows(run, tables, lost, batch)
        finally:
            process.kill()


def split_places(places: Sequence[Place], size: int) -> list[Sequence[Place]]:
    """Return the attempts of a run in batches."""
    return [places[begin : begin + size] for begin in range(0, len(places), size)]


def _write_places(file: IO[bytes], batches: Iterable[Sequence[Place]]) -> IO[bytes]:
    """Write what the other process reads: to find it out by itself takes it a second for 20,000."""
    marshal.dump([tuple(one) for batch in batches for one in batch], file)
    file.seek(0)
    return file


def _widen(pipe: IO[bytes]) -> None:
    """Let the other process go on while this one is at work."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _receive(pipe: IO[bytes], batch: Sequence[Place]) -> tuple[list[Rows], list[str]] | None:
    """Return the rows of a batch and what was lost; None if the other process has not read just these."""
    try:
        # `load` would ask the pipe for each value by itself: that takes longer than to read the attempt.
        size = int.from_bytes(pipe.read(SIZE_BYTES))
        paths, rows, lost = marshal.loads(pipe.read(size))  # noqa: S302 plain values, from ourselves
    except (EOFError, ValueError, TypeError, OSError, OverflowError, MemoryError):
        return None
    return (rows, lost) if paths == [one.path for one in batch] else None


def main(folder: Path, tables: Collection[TableName], size: int) -> None:
    """Write the attempts that standard input names to standard output, in batches, their places in front."""
    given = marshal.load(sys.stdin.buffer)  # noqa: S302 plain values, from ourselves
    batches = split_places([Place(*one) for one in given], size)
    lost: list[str] = []
    rows = read_rows(StoredRun(folder), tables, lost, chain.from_iterable(batches))
    for batch in batches:
        made = list(islice(rows, len(batch)))
        content = marshal.dumps(([one.path for one in batch], made, lost))
        sys.stdout.buffer.write(len(content).to_bytes(SIZE_BYTES) + content)
        sys.stdout.buffer.flush()
        lost.clear()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3]))  # type: ignore[arg-type]
