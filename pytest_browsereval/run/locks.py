"""Who writes a run: locks that the system takes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_browsereval.errors import UsageError

LOCKS = ".locks"
"""The folder of the locks of processes that write the run."""

RESUME_LOCK = "resume"
"""The lock of a session that resumes the run; other locks are those of the processes that write it."""


@contextmanager
def hold_lock(file: Path, run: Path | None = None) -> Iterator[bool]:
    """Hold a lock that the system takes back when the process dies; yields whether it is held.

    The file stays: to remove one that another process is about to lock would leave two with the lock.

    Args:
        file: of the lock.
        run: the run that someone else writes, if the lock is theirs; None waits for nobody and asks nobody.

    Raises:
        UsageError: another process has the lock, and ``run`` is given.
    """
    from filelock import FileLock, Timeout  # takes 10 ms

    lock = FileLock(file, timeout=0, thread_local=False)  # another thread may let go of it
    try:
        lock.acquire()
    except Timeout:
        if run is not None:
            message = f"{run}: a process is still writing this run ({file.name}). Wait for it, or end it."
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
            yield

    @contextmanager
    def hold_for_resume(self) -> Iterator[None]:
        """Keep others from resuming the run.

        Raises:
            UsageError: a process is writing it, or someone resumes it already; or it cannot be written.
        """
        try:
            (self._root / LOCKS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{self._root} cannot be written: {error.strerror}.") from None
        with hold_lock(self._root / LOCKS / RESUME_LOCK, self._root):
            self.check_idle(besides=RESUME_LOCK)
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
        for lock in (self._root / LOCKS).glob("*"):
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
