"""Cassettes of a run: model calls and web traffic of its trials, live, recorded or replayed.

Recordings are kept next to the config: ``cassettes/<config>/<variant>/<row>-<trial>.jsonl`` for the model
calls, the same with ``.har`` for replies of servers.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config_text import format_path
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.replay.answers import HarAnswers
from pytest_browsereval.features.replay.calls import AttemptCalls, CallRecorder, CallReplayer, current_calls
from pytest_browsereval.features.replay.cassette_file import (
    RECORD_AGAIN,
    CassetteError,
    format_cassette,
    read_cassette,
)
from pytest_browsereval.features.replay.page_file import format_recording, make_recording, read_recording
from pytest_browsereval.features.replay.restoring import RestoringRedactor
from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.cassettes import Cassettes, InterceptedCalls, PageTraffic
from pytest_browsereval.run_files import write_whole
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.temporary import private_folder

T = TypeVar("T")

MOST_LISTED = 5
"""Problems that a message lists before it counts the rest."""


class ModelCalls(StrEnum):
    """What becomes of the calls of models: ``--eval-llm``."""

    LIVE = "live"
    """They are sent."""
    RECORD = "record"
    """They are sent, and recorded in cassettes."""
    REPLAY = "replay"
    """They are answered from cassettes; nothing is sent."""
    AUTO = "auto"
    """Trials that have a cassette replay it, all others are recorded."""


@dataclass
class ReplayedTraffic(PageTraffic):
    """Requests that are answered from a recording."""

    answers: HarAnswers | None = None

    def fault(self) -> Fault | None:
        """Return that pages asked for what was not recorded, if they did."""
        missed = self.answers.missed if self.answers is not None else []
        if not missed:
            return None
        more = f" and {len(missed) - 1} more" if len(missed) > 1 else ""
        what = f"the page made {'requests that were' if more else 'a request that was'} not recorded"
        return Fault(ErrorSource.REPLAY, f"{what}: {shorten(missed[0])}{more}. {RECORD_AGAIN}")

    def warning(self) -> str | None:
        """Return how many pictures and the like were not recorded, if any."""
        missed = self.answers.missed_parts if self.answers is not None else []
        if not missed:
            return None
        what = "requests for pictures and the like, or that the page aborted, were not recorded"
        return f"{len(missed)} {what}: {shorten(missed[0])}"


class FileCassettes(Cassettes):
    """The cassettes of a config, in files next to it.

    The name of a cassette is its path in their folder, without the suffix: ``<variant>/<row>-<trial>``.

    Args:
        config: what is run.
        mode: what becomes of the calls of models.
        redactor: takes secrets out, and puts them in again.
    """

    def __init__(self, config: EvalConfig, mode: ModelCalls, redactor: RestoringRedactor) -> None:
        super().__init__(config)
        self.mode = mode
        self._pages = config.capture.har
        self.root = config.base_dir / config.cassettes / safe_folder(config.name)
        """The folder of the config's cassettes."""
        self._redactor = redactor

    def path(self, name: Path) -> Path:
        """Return where the model calls of a trial are, or will be."""
        return self.root / f"{name}.jsonl"

    def page_path(self, name: Path) -> Path:
        """Return where the replies of servers to a trial's pages are, or will be."""
        return self.root / f"{name}.har"

    def replays(self, name: Path) -> bool:
        """Whether the model calls of a trial are answered from its cassette."""
        return self.mode is ModelCalls.REPLAY or (self.mode is ModelCalls.AUTO and self.path(name).exists())

    def replays_pages(self, name: Path) -> bool:
        """Whether the requests of a trial's pages are answered from a recording."""
        return self._pages == "replay" or (self._pages == "auto" and self.replays(name))

    def records_pages(self, name: Path) -> bool:
        """Whether the replies of servers to a trial's pages are kept."""
        is_live = self.mode is ModelCalls.LIVE or self.replays(name)
        return self._pages == "record" or (self._pages == "auto" and not is_live)

    def check(self, names: Iterable[Path]) -> None:
        """Check that what is to be replayed can be, and what is to be recorded be written.

        Raises:
            CassetteError: cassettes are missing or damaged. The message names five and counts the others.
        """
        problems = []
        if self.mode in (ModelCalls.RECORD, ModelCalls.AUTO) or self._pages == "record":
            self._check_folder()
        for name in names:
            try:
                if self.replays(name):
                    read_cassette(self.path(name))
                if self.replays_pages(name):
                    read_recording(self.page_path(name))
            except CassetteError as error:
                problems.append(str(error))
        if problems:
            more = len(problems) - MOST_LISTED
            rest = [f"... and {more} more"] if more > 0 else []
            raise CassetteError("\n".join([*problems[:MOST_LISTED], *rest]))

    def _check_folder(self) -> None:
        # The first attempt makes the folder: what counts is the nearest one that is there.
        there = next(place for place in (self.root, *self.root.parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise CassetteError(
                f"{format_path(self.root)}: no cassette can be written there; {there} prevents it."
            )

    @contextmanager
    def intercept_calls(self, name: Path) -> Iterator[AttemptCalls | None]:
        """Record or replay the model calls of this task; see ``Cassettes``."""
        calls = self._open(name)
        token = current_calls.set(calls)
        try:
            yield calls
        finally:
            current_calls.reset(token)

    def _open(self, name: Path) -> AttemptCalls | None:
        if self.mode is ModelCalls.LIVE:
            return None
        redactor = self._redactor
        if not self.replays(name):
            return CallRecorder(redactor.redact)
        path = self.path(name)
        cassette = _read(read_cassette, path)
        return CallReplayer(
            # Recorded with other secrets in the environment, the same request has other marks.
            [replace(call, request=redactor.normalize(call.request)) for call in cassette.calls],
            where=format_path(path),
            ended=cassette.ended,
            hide=lambda value: redactor.normalize(redactor.redact(value)),
            restore=redactor.restore,
        )

    @asynccontextmanager
    async def intercept_pages(self, name: Path, live: Iterable[str]) -> AsyncIterator[PageTraffic]:
        """Give what records the requests of an attempt's pages, or answers them; see ``Cassettes``."""
        traffic, origins = ReplayedTraffic(), tuple(live)
        if self.records_pages(name):

            def keep(content: dict[str, Any], folder: Path) -> None:
                traffic.recording = self._redactor.redact(make_recording(content, folder, origins))

            traffic.keep = keep
        elif self.replays_pages(name):
            content = await asyncio.to_thread(_read, read_recording, self.page_path(name))
            async with private_folder("replay-") as place:  # with the secrets of this run
                file = place / "answers.har"
                file.write_text(json.dumps(self._redactor.restore(content)), encoding="utf-8")
                traffic.answers = HarAnswers(file, origins)
                yield traffic
            return
        yield traffic

    def save(
        self,
        name: Path,
        metadata: TaskMetadata,
        calls: InterceptedCalls | None,
        recording: dict[str, Any] | None = None,
    ) -> None:
        """Write what was recorded of an attempt, unless that errored: it would be replayed as a fault."""
        recorder = calls if isinstance(calls, CallRecorder) else None
        if metadata.verdict is Verdict.ERRORED or (recorder is None and recording is None):
            return
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        if recording is not None:
            write_whole(self.page_path(name), format_recording(recording))
        if recorder is not None:  # last: where it is, all of the trial is
            write_whole(self.path(name), "".join(format_cassette(recorder.calls, metadata)))

    # -- what reports show

    def describe(self, shorten: Callable[[Path], str]) -> str:
        """Return what becomes of the calls of models, and where."""
        return "" if self.mode is ModelCalls.LIVE else f"model calls: {self.mode} ({shorten(self.root)})"

    def list_notes(self, trials: Iterable[StoredAttempt], shorten: Callable[[Path], str]) -> Iterator[str]:
        """Yield where the calls of models came from or went to, and what to know before it is committed."""
        if self.mode is ModelCalls.LIVE:
            return
        yield _describe_calls([trial.replayed for trial in trials], shorten(self.root))
        names = self.config.names_in_clear()
        if names and self.mode is not ModelCalls.REPLAY:
            message = ", ".join(f"${{{name}}}" for name in names)
            why = "the name does not mark a secret, or the value is too short"
            yield f"not redacted in cassettes, as {why}: {message}"


def make_cassettes(run: ActiveRun, mode: ModelCalls) -> FileCassettes:
    """Return the cassettes of a run."""
    redactor = RestoringRedactor(run.config.secrets_by_name(), run.redact)
    return FileCassettes(run.config, mode, redactor)


def _describe_calls(replayed: list[bool], place: str) -> str:
    count, total = sum(replayed), len(replayed)
    if not count:
        return f"model calls: recorded in {place}"
    most = "" if count == total else f" in {count} of {format_count(total, 'trial')}, recorded in the others"
    return f"model calls: replayed from {place}{most}; a replay reports the tokens and cost of its recording"


def _read(read: Callable[[Path], T], path: Path) -> T:
    """Read a recording that was whole before the run began."""
    try:
        return read(path)
    except CassetteError as error:
        raise Fault(ErrorSource.REPLAY, str(error)) from None
