"""Who writes a run: locks that the system takes back, and the folder that a copy was made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_browsereval.errors import UsageError
from pytest_browsereval.run_files import read_written

LOCKS = ".locks"
"""The folder of the locks of processes that write the run."""

RESUME_LOCK = "resume"
"""The lock of a session that resumes the run; other locks are those of the processes that write it."""

_PLACE = ".place"
"""Beside the locks: in which folder the run was written last. It leaves the machine with a copy only."""


def list_locks(run: Path) -> list[Path]:
    """Return the files of all locks of a run, also of processes that have ended."""
    return list((run / LOCKS).glob("[!.]*"))


def note_place(run: Path) -> None:
    """Write down in which folder a run is written.

    Raises:
        OSError: it cannot be written.
    """
    (run / LOCKS / _PLACE).write_text(str(run.resolve()), encoding="utf-8")


def find_original(run: Path) -> Path | None:
    """Return the folder that this one is a copy of, if that is still there, on this machine or a shared disk.

    Locks lie in the original: its writer would not be seen from the copy.
    """
    try:
        original = Path(read_written(run / LOCKS / _PLACE).decode())
        if original == run.resolve():
            return None
        same = (read_written(one / "manifest.json") for one in (original, run))
        return original if next(same) == next(same) else None
    except (OSError, ValueError):  # none of them, or it cannot be known
        return None


@contextmanager
def hold_lock(file: Path, run: Path | None = None) -> Iterator[bool]:
    """Hold a lock that the system takes back when the process dies; yields whether it is held.

    The file stays: to remove one that another process is about to lock would leave two with the lock.

    Args:
        file: of the lock.
        run: the run that somebody else writes, if the lock is theirs; None waits for nobody and asks nobody.

    Raises:
        UsageError: another process has the lock, and ``run`` is given.
    """
    from filelock import FileLock, Timeout  # takes 10 ms

    lock = FileLock(file, timeout=0, thread_local=False)  # another thread may let go of it
    try:
        lock.acquire()
    except Timeout:
        if run is not None:
            message = f"{run}: a process still writes this run ({file.name}). Wait for it, or end it."
            raise UsageError(message) from None
    except (OSError, NotImplementedError):  # a disk without locks: nobody can be asked
        pass
    try:
        yield lock.is_locked
    finally:
        lock.release()


class RunLocks:
    """The locks of a run.

    Args:
        root: the run's folder.
        worker: names this process among those of the run.
    """

    def __init__(self, root: Path, worker: str = "main") -> None:
        self._root = root
        self._worker = worker
        self._own: str | None = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Show that this process writes the run; the system takes it back when the process dies.

        Raises:
            OSError: the run folder cannot be written.
        """
        (self._root / LOCKS).mkdir(parents=True, exist_ok=True)
        with hold_lock(self._root / LOCKS / self._worker):
            note_place(self._root)
            yield

    @contextmanager
    def hold_for_resume(self) -> Iterator[None]:
        """Keep others from resuming the run.

        Raises:
            UsageError: a process is writing it, or somebody resumes it already; or it cannot be written.
        """
        try:
            (self._root / LOCKS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{self._root} cannot be written: {error.strerror}.") from None
        with hold_lock(self._root / LOCKS / RESUME_LOCK, self._root):
            self.check_idle(besides=RESUME_LOCK)
            original = find_original(self._root)
            if original is not None and not RunLocks(original).is_idle():
                raise UsageError(
                    f"{self._root} is a copy of {original}, which a process still writes: both would run the "
                    "rest. Wait for it, or end it."
                )
            self._own = RESUME_LOCK
            try:
                yield
            finally:
                self._own = None

    def check_idle(self, *, besides: str | None = None) -> None:
        """Check that no process writes the run; nothing is written for it.

        Args:
            besides: the lock that this process has.

        Raises:
            UsageError: one does.
        """
        for lock in list_locks(self._root):
            if lock.name != besides:
                with hold_lock(lock, self._root):
                    pass

    def is_idle(self) -> bool:
        """Whether no other process writes the run."""
        try:
            self.check_idle(besides=self._own)
        except UsageError:
            return False
        return True

    def is_held_for_resume(self) -> bool:
        """Whether a process keeps others from resuming the run; True where that cannot be known."""
        try:
            with hold_lock(self._root / LOCKS / RESUME_LOCK, self._root) as is_ours:
                return not is_ours
        except UsageError:
            return True
