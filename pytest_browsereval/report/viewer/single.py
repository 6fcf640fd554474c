"""One portable page: the table, the attempts and their pictures in a single file, up to a size."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.trajectory import open_written, write_whole
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.viewer.attempts import StoredAttempt, message_log, names_in, stored_attempts
from pytest_browsereval.report.viewer.page import in_html, page
from pytest_browsereval.report.viewer.records import records_of, without_texts
from pytest_browsereval.report.viewer.rows import DAMAGED, Table
from pytest_browsereval.report.viewer.writing import Written, check_page, check_run, run_data, title_of
from pytest_browsereval.run.store import RunStore

MOST_MB = 25
"""Million bytes of a page: what most mail servers and issue trackers still take."""

_TYPES = {".jpeg": "jpeg", ".jpg": "jpeg", ".png": "png", ".webp": "webp"}
_AROUND = 60
"""Bytes of markup around the details of an attempt."""


@dataclass
class _Block:
    """The details of an attempt, as the page's script takes them."""

    key: str
    value: list[Any]
    pictures: dict[str, str] = field(default_factory=dict)
    """Data addresses by the files' names."""

    def markup(self, number: int) -> str:
        details = in_html({self.key: [*self.value, self.pictures]})
        return f'<script type="application/json" data-chunk="{number}">{details}</script>'


class _Page:
    """What fits into the page."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.blocks: dict[int, _Block] = {}
        self.logs = 0
        """Message logs that did not fit."""
        self.pictures = 0
        """Pictures that did not fit."""

    def add(self, number: int, attempt: StoredAttempt) -> None:
        """Add an attempt with its message log, if that fits."""
        log, left_out = message_log(attempt.folder)
        names = names_in(attempt.folder)
        records = records_of(attempt.folder, names.files, names.folders)
        parts = [names.files, names.pictures]
        whole = _Block(attempt.key, [attempt.text, log, *parts, left_out, attempt.problem, records])
        less = without_texts(records)
        short = _Block(attempt.key, [attempt.text, "", *parts, len(log), attempt.problem, less])
        for block in (whole, short):
            size = len(block.markup(number).encode()) + _AROUND
            if size <= self.room or block is short:  # what an attempt came to is never left out
                self.room -= size
                self.blocks[number] = block
                self.logs += block is short
                return

    def add_picture(self, number: int, file: Path) -> None:
        """Add a picture, if it fits."""
        size = -(-_size(file) // 3) * 4 + _AROUND
        if size > self.room:
            self.pictures += 1
            return
        try:
            with open_written(str(file)) as opened:
                data = base64.b64encode(opened.read()).decode()
        except OSError:
            return
        self.blocks[number].pictures[file.name] = f"data:image/{_TYPES[file.suffix]};base64,{data}"
        self.room -= size


def write_single(run: Path, file: Path, most_bytes: int = MOST_MB * 1_000_000) -> tuple[Written, str]:
    """Write the viewer of a run as one file that needs nothing beside it.

    Every attempt is in it with what it came to. Message logs and then pictures are added as long as they fit:
    those of attempts that did not pass first, and of each its last pictures.

    Args:
        run: the run folder.
        file: where the page goes.
        most_bytes: how large it may be.

    Returns:
        What was written, and in a sentence what was left out; "" if nothing was.

    Raises:
        UsageError: there is no run, the page cannot be there, or it is too large without any log.
        OSError: it cannot be written.
    """
    check_run(run)
    check_page(file)
    table, order = Table(), list[tuple[bool, int, str]]()
    for number, attempt in enumerate(stored_attempts(run / "tasks"), 1):
        table.add(attempt, number)
        has_passed = attempt.metadata is not None and attempt.metadata.verdict is Verdict.PASSED
        order.append((has_passed, number, attempt.key))
    order.sort()
    store = RunStore(run)
    data = run_data(store, table, {"home": "", "details": "", "alone": True, "left_out": ""})
    title = title_of(data)
    made = _Page(most_bytes - len(page(data, title).encode()) - 500)
    numbers = [{key: number for passed, number, key in order if passed is kind} for kind in (False, True)]
    for wanted in numbers:  # each read when it is its turn: all of them would fill the memory
        for attempt in stored_attempts(run / "tasks"):
            if attempt.key in wanted:
                made.add(wanted[attempt.key], attempt)
    if made.room < 0:
        least = (most_bytes - made.room) / 1e6
        raise UsageError(
            f"{run}: without any log or picture the page takes {least:.1f} MB, and {most_bytes / 1e6:g} are "
            f"allowed. Type  --max-mb {least + 1:.0f}  or more."
        )
    for number, picture in _pictures(run, order):
        made.add_picture(number, picture)
    told = _left_out(made, most_bytes)
    blocks = "\n".join(block.markup(number) for number, block in sorted(made.blocks.items()))
    data["run"]["left_out"] = told
    write_whole(file, page(data, title, blocks))
    return Written(file, table.attempts, table.count(DAMAGED)), told


def _pictures(run: Path, order: list[tuple[bool, int, str]]) -> Iterator[tuple[int, Path]]:
    """Yield pictures by their attempts' numbers: the last one of each attempt, then the one before it, ..."""
    for has_passed in (False, True):
        each = [
            [(number, picture) for picture in reversed(_own(run / "tasks" / key))]
            for passed, number, key in order
            if passed is has_passed
        ]
        for level in zip_longest(*each):
            yield from (one for one in level if one is not None)


def _own(attempt: Path) -> list[Path]:
    folder = attempt / "screenshots"
    return [folder / name for name in names_in(str(attempt)).pictures if Path(name).suffix in _TYPES]


def _size(file: Path) -> int:
    try:
        return os.stat(file, follow_symlinks=False).st_size  # noqa: PTH116 a path follows links
    except OSError:
        return 0


def _left_out(made: _Page, most_bytes: int) -> str:
    parts = [
        f"{count:,} {name}{'s' * (count != 1)}"
        for count, name in ((made.logs, "message log"), (made.pictures, "picture"))
        if count
    ]
    if not parts:
        return ""
    return f"Left out, to stay below {most_bytes / 1e6:g} MB: {' and '.join(parts)}."
