"""What stands between attempts and their models and servers: nothing, unless a feature records or replays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_browsereval.capture.har import Keep
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import Fault
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.runs.attempt import StoredAttempt

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

    from pytest_browsereval.run.active import ActiveRun

LIVE = "live"
"""The mode in which all calls of models are sent, and none is recorded."""


def name_cassette(key: TrialKey) -> Path:
    """Return the name of a trial's cassette."""
    return Path(safe_folder(key.variant), f"{safe_folder(key.query_id)}-{key.trial}")


class InterceptedCalls(Protocol):
    """The model calls of an attempt that are recorded or replayed."""

    @property
    def is_replayed(self) -> bool:
        """Whether they are answered from a recording, so that they cost nothing."""

    def mask_answer(self, task: Task, row: Task) -> None:
        """Keep the reference answer of a protected task out of the calls of its judges.

        Args:
            task: with its placeholders filled in, as judges are asked about it.
            row: the same before.
        """

    def warning(self) -> str | None:
        """Return what a reader should know of the calls; None if there is nothing."""


@dataclass
class PageTraffic:
    """The requests of an attempt's pages, beyond the record that is kept of them for graders."""

    answers: Callable[[BrowserContext], Awaitable[object]] | None = None
    """Has recorded replies answer a window, where the attempt is a replay."""
    keep: Keep | None = None
    """Makes the recording, where there is to be one."""
    recording: dict[str, Any] | None = None
    """What it made."""

    def fault(self) -> Fault | None:
        """Return what is wrong with a replay; None if nothing is."""
        return None

    def warning(self) -> str | None:
        """Return what a reader should know of the traffic; None if there is nothing."""
        return None


class Cassettes:
    """The cassettes of a config. Here there are none: every call and every request goes out.

    Args:
        config: what is run.
    """

    def __init__(self, config: EvalConfig) -> None:
        self.config = config

    def check(self, names: Iterable[Path]) -> None:
        """Check that what is to be replayed can be, and what is to be recorded be written.

        Args:
            names: of the cassettes of all trials that are to run.

        Raises:
            UsageError: it cannot.
        """
        self._refuse_recordings()

    def _refuse_recordings(self) -> None:
        # Otherwise an attempt that is to be replayed would ask the real servers, and pass or fail by them.
        if isinstance(har := self.config.capture.har, str):
            why = f"{har!r} needs the feature `replay`, which is left out here. Write true."
            raise self.config.wrong(("capture", "har"), why)

    @contextmanager
    def intercept_calls(self, name: Path) -> Iterator[InterceptedCalls | None]:
        """Record or replay the model calls of this task; gives what does it, if they are not live.

        Raises:
            Fault: source *replay*: the cassette cannot be used any more.
        """
        yield None

    @asynccontextmanager
    async def intercept_pages(self, name: Path, live: Iterable[str]) -> AsyncIterator[PageTraffic]:
        """Give what records the requests of an attempt's pages, or answers them.

        Args:
            name: of the trial's cassette.
            live: origins of the config's sites, which are asked in every case.

        Raises:
            Fault: source *replay*: the recording cannot be used any more.
        """
        self._refuse_recordings()  # hand-written tests have not asked for the check
        yield PageTraffic()

    def save(
        self,
        name: Path,
        metadata: TaskMetadata,
        calls: InterceptedCalls | None,
        recording: dict[str, Any] | None = None,
    ) -> None:
        """Write what was recorded of an attempt.

        Raises:
            OSError: it cannot be written.
        """

    # -- what reports show

    def describe(self, shorten: Callable[[Path], str]) -> str:
        """Return what becomes of the calls of models; empty if they are live.

        Args:
            shorten: returns a path as messages write it.
        """
        return ""

    def list_notes(self, trials: Iterable[StoredAttempt], shorten: Callable[[Path], str]) -> Iterator[str]:
        """Yield what to know of the cassettes at the end of a run.

        Args:
            trials: as the run folder has them.
            shorten: returns a path as messages write it.
        """
        yield from ()


@dataclass(frozen=True)
class CassetteSource:
    """How the runs of a session get their cassettes."""

    mode: str = LIVE
    """What becomes of the calls of models."""
    make: Callable[[ActiveRun], Cassettes] = lambda run: Cassettes(run.config)
    """Makes those of a run."""
