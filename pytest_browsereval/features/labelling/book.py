"""One labeller's labels of a run: kept in a file that is only appended to."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.labelling.labels import (
    Attempt,
    Label,
    LabelWord,
    as_line,
    match,
    read_labels,
)
from pytest_browsereval.model.display import natural
from pytest_browsereval.model.messages import now


class LabelBook:
    """Labels of one person, one line for each change: a crash loses nothing.

    Labels of other people in the same file are left alone.

    Args:
        path: the file; made when the first label is written.
        attempts: what there is to label.
        labeller: who labels.

    Raises:
        UsageError: the file cannot be read, or is not a file of labels; or its folder is missing.
    """

    def __init__(self, path: Path, attempts: Sequence[Attempt], labeller: str) -> None:
        if not path.parent.is_dir():
            raise UsageError(
                f"{path}: the folder {format_path(path.parent)!r} does not exist. Make it first."
            )
        self.path = path
        self.attempts = tuple(sorted(attempts, key=_order))
        self.labeller = labeller
        self._lock = threading.Lock()
        self._seen: set[int] = set()
        # All lines are checked, also those of others: nothing is appended to a damaged file.
        known = match(read_labels(path), attempts).by_attempt if path.exists() else {}
        self._labels = {
            place: known[attempt.folder][labeller]
            for place, attempt in enumerate(self.attempts)
            if labeller in known.get(attempt.folder, {})
        }

    def label(self, place: int) -> Label | None:
        """Return the label of an attempt as it is now; None if there never was one."""
        return self._labels.get(place)

    @property
    def done(self) -> int:
        """How many attempts have a label."""
        return sum(one.label is not None for one in self._labels.values())

    def show_grades(self, place: int) -> None:
        """Remember that the labeller has seen the grades of an attempt."""
        with self._lock:
            self._seen.add(place)

    def write(self, place: int, word: LabelWord | None, note: str = "") -> Label:
        """Append a label and return it.

        Args:
            place: which attempt.
            word: what the labeller says; None takes an earlier label back.
            note: what else they say.

        Raises:
            OSError: it could not be written; then nothing has changed.
        """
        attempt = self.attempts[place]
        data = attempt.metadata
        with self._lock:
            before = self._labels.get(place)
            label = Label(
                run=attempt.run,
                **{name: getattr(data, name) for name in ("query_id", "variant", "trial", "attempt")},
                label=word,
                labeller=self.labeller,
                note=note,
                saw_grades=place in self._seen or bool(before and before.saw_grades),
                timestamp=now(),
            )
            self._append(as_line(label).encode())
            self._labels[place] = label
        return label

    def _append(self, line: bytes) -> None:
        # Unbuffered: a failed write must not be retried when the file is closed.
        with self.path.open("ab+", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                line = line if file.read(1) == b"\n" else b"\n" + line
            rest = memoryview(line)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:
                # Half a line would make the whole file unreadable.
                file.truncate(end)
                raise


def _order(one: Attempt) -> tuple[object, ...]:
    data = one.metadata
    return one.run, natural(data.query_id), data.query_id, data.variant, data.trial, data.attempt
