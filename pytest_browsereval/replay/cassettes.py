"""What becomes of the model calls of trials, and of the requests of their pages: live, recorded or replayed.

Recordings are kept beside the config: ``cassettes/<config>/<variant>/<row>-<trial>.jsonl`` for the model
calls, the same with ``.har`` for replies of servers.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from pytest_browsereval.browsers.playwright.origins import shorten as shortened
from pytest_browsereval.capture.trajectory import write_whole
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config_text import shown
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.hiding import Hiding
from pytest_browsereval.replay.answers import HarAnswers
from pytest_browsereval.replay.calls import RecordingTape, ReplayingTape, Tape, taped
from pytest_browsereval.replay.masking import veil_of
from pytest_browsereval.replay.recordings import (
    AGAIN,
    CassetteError,
    cassette_lines,
    read_cassette,
    read_recording,
    signed,
    without,
)
from pytest_browsereval.temporary import own_folder

TOLD = 5
"""Problems that a message lists before it counts the rest."""


class ModelCalls(StrEnum):
    """What becomes of the calls of models: ``--eval-llm``."""

    LIVE = "live"
    """They are sent."""
    RECORD = "record"
    """They are sent, and taken down in cassettes."""
    REPLAY = "replay"
    """They are answered from cassettes; nothing is sent."""
    AUTO = "auto"
    """Trials that have a cassette replay it, all others are recorded."""


@dataclass
class Traffic:
    """The requests of an attempt's pages, beyond the record that is kept of them for graders."""

    answers: HarAnswers | None = None
    """Stand in for servers, where the attempt is a replay."""
    keep: Callable[[dict[str, Any]], None] | None = None
    """Gets the recording, where there is to be one."""
    recording: dict[str, Any] | None = None
    """What it got."""

    def fault(self) -> Fault | None:
        """Return what is wrong with a replay: pages asked for what was not recorded; None if nothing is."""
        missed = self.answers.missed if self.answers is not None else []
        if not missed:
            return None
        more = f", and {len(missed) - 1} more requests," if len(missed) > 1 else ""
        return Fault(
            ErrorSource.REPLAY,
            f"the page asked for {shortened(missed[0])}{more} which was not recorded. {AGAIN}",
        )

    def warning(self) -> str | None:
        """Return what a reader should know of: pictures, say, that were not recorded; None if all were."""
        missed = self.answers.missed_parts if self.answers is not None else []
        if not missed:
            return None
        told = "requests for pictures and the like, or that the page gave up, were not recorded"
        return f"{len(missed)} {told}: {shortened(missed[0])}"


class Cassettes:
    """The cassettes of a config.

    The name of a cassette is its path in their folder, without the suffix: ``<variant>/<row>-<trial>``.

    Args:
        config: what is run.
        mode: what becomes of the calls of models.
        hiding: takes secrets out, and puts them in again.
    """

    def __init__(self, config: EvalConfig, mode: ModelCalls, hiding: Hiding) -> None:
        self.mode = mode
        self._traffic = config.capture.har
        self.root = config.base_dir / config.cassettes / safe_folder(config.name)
        """The folder of the config's cassettes."""
        self._hiding = hiding

    def path(self, name: Path) -> Path:
        """Return where the cassette of a trial is, or will be."""
        return self.root / f"{name}.jsonl"

    def replays(self, name: Path) -> bool:
        """Whether the model calls of a trial are answered from its cassette."""
        return self.mode is ModelCalls.REPLAY or (self.mode is ModelCalls.AUTO and self.path(name).exists())

    def recording(self, name: Path) -> Path:
        """Return where the replies of servers to a trial's pages are, or will be."""
        return self.path(name).with_suffix(".har")

    def replays_pages(self, name: Path) -> bool:
        """Whether the requests of a trial's pages are answered from a recording."""
        return self._traffic == "replay" or (self._traffic == "auto" and self.replays(name))

    def records_pages(self, name: Path) -> bool:
        """Whether the replies of servers to a trial's pages are kept."""
        is_live = self.mode is ModelCalls.LIVE or self.replays(name)
        return self._traffic == "record" or (self._traffic == "auto" and not is_live)

    def check(self, names: Iterable[Path]) -> None:
        """Check that what is to be replayed can be, and what is to be recorded be written.

        Raises:
            CassetteError: cassettes are missing or damaged; the first five are told, the others counted.
        """
        problems = []
        if self.mode in (ModelCalls.RECORD, ModelCalls.AUTO) or self._traffic == "record":
            self._check_folder()
        for name in names:
            try:
                if self.replays(name):
                    read_cassette(self.path(name))
                if self.replays_pages(name):
                    read_recording(self.recording(name))
            except CassetteError as error:
                problems.append(str(error))
        if problems:
            more = [f"... and {len(problems) - TOLD} more"] if len(problems) > TOLD else []
            raise CassetteError("\n".join([*problems[:TOLD], *more]))

    def _check_folder(self) -> None:
        there = next(place for place in (self.root, *self.root.parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise CassetteError(f"{shown(self.root)}: no cassette can be written there, because of {there}.")

    @contextmanager
    def taping(self, name: Path) -> Iterator[Tape | None]:
        """Have the model calls of this task go by the trial's cassette; gives the tape, if there is one.

        Raises:
            Fault: source *replay*: the cassette cannot be used any more.
        """
        tape = self._tape(name)
        with taped(tape):
            yield tape

    def withhold(self, tape: Tape | None, task: Task, row: Task) -> None:
        """Keep the reference answer of a protected task out of what is taken down of its judges.

        Args:
            tape: of the attempt, if it has one.
            task: as graders get it.
            row: the same before its placeholders were filled in.
        """
        if tape is not None and (veil := veil_of(task, row)) is not None:
            tape.veils["judge"] = veil

    def _tape(self, name: Path) -> Tape | None:
        if self.mode is ModelCalls.LIVE:
            return None
        if not self.replays(name):
            return RecordingTape(self._hiding.hidden)
        path = self.path(name)
        try:
            cassette = read_cassette(path)
        except CassetteError as error:
            raise Fault(ErrorSource.REPLAY, str(error)) from None
        hiding = self._hiding
        return ReplayingTape(
            [replace(one, request=hiding.compared(one.request)) for one in cassette.exchanges],
            where=shown(path),
            ended=cassette.ended,
            hidden=lambda value: hiding.compared(hiding.hidden(value)),
            restored=hiding.restored,
        )

    @asynccontextmanager
    async def traffic(self, name: Path, live: Iterable[str]) -> AsyncIterator[Traffic]:
        """Give what becomes of the requests of an attempt's pages.

        Args:
            name: of the trial's cassette.
            live: origins of the config's sites, which are asked in every case.

        Raises:
            Fault: source *replay*: the recording cannot be used any more.
        """
        if self.records_pages(name):
            origins, traffic = tuple(live), Traffic()

            def keep(recording: dict[str, Any]) -> None:
                traffic.recording = self._hiding.hidden(without(recording, origins))

            traffic.keep = keep
            yield traffic
        elif self.replays_pages(name):
            try:
                content = await asyncio.to_thread(read_recording, self.recording(name))
            except CassetteError as error:
                raise Fault(ErrorSource.REPLAY, str(error)) from None
            # With the secrets of this run in it: in a folder that nobody else can read, which goes.
            place = Path(tempfile.mkdtemp(prefix="replay-", dir=own_folder()))
            try:
                file = place / "answers.har"
                file.write_text(json.dumps(self._hiding.restored(content)), encoding="utf-8")
                yield Traffic(HarAnswers(file, tuple(live)))
            finally:
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
        else:
            yield Traffic()

    def keep(
        self,
        name: Path,
        metadata: TaskMetadata,
        tape: Tape | None,
        recording: dict[str, Any] | None = None,
    ) -> None:
        """Write what was taken down of an attempt, unless that errored: it would be replayed as a fault.

        Raises:
            OSError: it cannot be written.
        """
        taped = tape if isinstance(tape, RecordingTape) else None
        if metadata.verdict is Verdict.ERRORED or (taped is None and recording is None):
            return
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        if recording is not None:
            write_whole(self.recording(name), signed(recording))
        if taped is not None:  # last: where it is, all of the trial is
            write_whole(self.path(name), "".join(cassette_lines(taped.exchanges, metadata)))


def leftover(tape: Tape | None) -> str | None:
    """Return what to say of recorded calls that were not made; None if all were, or nothing was replayed."""
    left = tape.left if isinstance(tape, ReplayingTape) else []
    if not left:
        return None
    first = f"the first is call {left[0].number} of the {left[0].role}"
    return f"{len(left)} recorded model calls were not made; {first}"
