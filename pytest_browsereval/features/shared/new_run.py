"""Run folders that are made of attempts that are there already."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_browsereval.run.store import RunStore, check_new


@contextmanager
def make_run(target: Path, worker: str = "main") -> Iterator[RunStore]:
    """Yield an empty run folder, which becomes the target at the end of the block.

    An error leaves nothing behind.

    Args:
        target: the run folder, which is not there yet or empty; folders above it are made.
        worker: who writes it.

    Raises:
        UsageError: it cannot be there.
        OSError: it cannot be written.
    """
    check_new(target)
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
    target.absolute().parent.mkdir(parents=True, exist_ok=True)
    try:
        yield RunStore(partial, worker=worker)
        if target.exists():
            target.rmdir()  # Windows renames no folder onto another one, not even onto an empty one
        partial.replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
