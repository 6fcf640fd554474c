"""Human labels of attempts: reads files of labels, matches them to attempts, and writes one labeller's."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_browsereval.config_text import DocumentError, format_path, read_text
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.display import natural, one_line
from pytest_browsereval.model.messages import now
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.validation_errors import list_problems

# In the folder of the run, unless another file is named.
FILE = "labels.jsonl"

LabelWord = Literal["pass", "fail", "unclear"]


class Label(BaseModel):
    """One person's label of one attempt; a later one by the same person replaces it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query_id: str = Field(min_length=1)
    variant: str | None = None
    """None: the only one that the row has."""
    trial: int | None = None
    """None: the only one that the row has."""
    attempt: int | None = None
    """None: the last one, which made the trial's verdict."""
    run: str | None = None
    """The name of the run's folder; None: of any of the runs."""
    label: LabelWord | None
    """None takes the person's earlier label back."""
    labeller: str = ""
    note: str = ""
    saw_grades: bool = False
    """Whether the labeller had seen the graders' own grades of the attempt before."""
    timestamp: str = ""

    def fits(self, attempt: StoredAttempt) -> bool:
        """Whether it may be about that attempt."""
        names = ("query_id", "variant", "trial", "attempt")
        fits = all(getattr(self, name) in (None, getattr(attempt, name)) for name in names)
        return fits and (self.run is None or self.run in _list_names(attempt.run))

    def __str__(self) -> str:
        about = self.model_dump(include=set(_ABOUT), exclude_none=True)
        return ", ".join(f"{name} {one_line(str(value), 60)}" for name, value in about.items())


_ABOUT = ("run", "query_id", "variant", "trial", "attempt")


LabelLine = tuple[str, Label]
"""A label after where it was read: ``file:line``."""


def _list_names(run: StoredRun) -> tuple[object, ...]:
    """Return what labels may call a run: its own name, and those of the runs that it was merged of."""
    merged = run.manifest.get("merged_from")
    return (run.name, *(merged if isinstance(merged, list) else ()))


def read_labels(path: Path) -> list[LabelLine]:
    """Return the labels of a file, in its order.

    Raises:
        UsageError: it cannot be read, or a line is not a label; with file and line.
    """
    # Nobody may ever write into a named pipe; a shell's own one, below `/dev`, has a writer.
    if path.is_fifo() and not path.is_relative_to("/dev"):
        raise UsageError(f"{format_path(path)}: it is a named pipe. Name a file of labels, or remove it.")
    try:
        # `splitlines` would also split at U+2028, which a note may hold.
        lines = read_text(path).split("\n")
    except DocumentError as error:
        raise UsageError(f"{format_path(path)}: {error}") from None
    found = []
    for number, text in enumerate(lines, 1):
        place, value = f"{format_path(path)}:{number}", None
        if text.strip():
            try:
                value = json_value(text)
                found.append((place, Label.model_validate(value)))
            except DocumentError as error:
                raise UsageError(f"{place}: {error} Correct the line, or take it out.") from None
            except ValidationError as error:
                problems = list_problems(error, Label, value)
                why = " ".join(f"{p.where}: {p.message}" if p.path else p.message for p in problems)
                raise UsageError(f"{place}: {why}") from None
    return found


def own_labels(run: StoredRun) -> list[LabelLine]:
    """Return the labels in a run's own folder, which are about no other run; none if there is no file.

    Raises:
        UsageError: it cannot be read, or a line is not a label; with file and line.
    """
    path = run.folder / FILE
    lines = read_labels(path) if path.exists() else []
    return [(place, label.model_copy(update={"run": label.run or run.name})) for place, label in lines]


def as_line(label: Label) -> str:
    """Return a label as a line of its file, with its line end."""
    plain = label.model_dump(mode="json", exclude_defaults=True) | {"label": label.label}
    return json.dumps(plain, ensure_ascii=False) + "\n"


def match(
    lines: Sequence[LabelLine], attempts: Sequence[StoredAttempt]
) -> tuple[Mapping[Path, Mapping[str, Label]], Sequence[LabelLine]]:
    """Return the last word of each labeller by the attempts' folders, and labels about no attempt of these.

    Raises:
        UsageError: a label fits several attempts.
    """
    by_attempt: dict[Path, dict[str, Label]] = {}
    homeless = []
    by_id: dict[str, list[StoredAttempt]] = {}
    for attempt in attempts:
        by_id.setdefault(attempt.query_id, []).append(attempt)
    for place, label in lines:
        fitting = [one for one in by_id.get(label.query_id, ()) if label.fits(one)]
        fitting.sort(key=lambda one: one.attempt)
        # A label without an attempt is about the last one, which made the verdict.
        found = list({(one.run.name, one.variant, one.trial): one for one in fitting}.values())
        if len(found) > 1:
            lacking = [name for name in ("run", "variant", "trial") if getattr(label, name) is None]
            more = f"Write {' or '.join(lacking)} as well, or give fewer runs."
            raise UsageError(f"{place}: the label ({label}) fits {len(found)} attempts. {more}")
        if not found:
            homeless.append((place, label))
        else:
            by_attempt.setdefault(found[0].folder, {})[label.labeller] = label
    return by_attempt, homeless


def settle_labels(labels: Mapping[str, Label]) -> LabelWord | Literal["tie"] | None:
    """Return what the labellers of an attempt say together: the majority of those who say pass or fail.

    Returns:
        ``unclear`` if all words are, ``tie`` if as many say pass as fail, None if there is no word.
    """
    words = [label.label for label in labels.values() if label.label]
    passed, failed = words.count("pass"), words.count("fail")
    if passed != failed:
        return "pass" if passed > failed else "fail"
    return "tie" if passed else "unclear" if words else None


# -- the file of one labeller


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

    def __init__(self, path: Path, attempts: Sequence[StoredAttempt], labeller: str) -> None:
        if not path.parent.is_dir():
            raise UsageError(f"the folder {format_path(path.parent)!r} does not exist. Make it first.")
        self.path = path
        self.attempts = tuple(sorted(attempts, key=_order))
        self.labeller = labeller
        self._lock = threading.Lock()
        self._seen: set[int] = set()
        # All lines are checked, also those of others: nothing is appended to a damaged file.
        known = match(read_labels(path), attempts)[0] if path.exists() else {}
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
        with self._lock:
            before = self._labels.get(place)
            label = Label(
                run=attempt.run.name,
                **{name: getattr(attempt, name) for name in ("query_id", "variant", "trial", "attempt")},
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
            if end := file.seek(0, os.SEEK_END):
                file.seek(end - 1)
                line = line if file.read(1) == b"\n" else b"\n" + line
            rest = memoryview(line)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(end)  # half a line would make the whole file unreadable
                raise


def _order(one: StoredAttempt) -> tuple[object, ...]:
    return one.run.name, natural(one.query_id), one.query_id, one.variant, one.trial, one.attempt
