"""One portable page: the table, the attempts and their pictures in a single file, up to a size."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.viewer.attempts import (
    ShownAttempt,
    iter_attempts,
    names_in,
    read_attempt,
)
from pytest_browsereval.features.shared.viewer.page import in_html, page
from pytest_browsereval.features.shared.viewer.records import TEXTS, details_of, without_texts
from pytest_browsereval.features.shared.viewer.rows import Table
from pytest_browsereval.features.shared.viewer.writing import Written, build_run_data, check_run, title_of
from pytest_browsereval.features.view.gate import read_stored
from pytest_browsereval.features.view.protection import (
    WHY,
    is_protected,
    size_of,
    withhold_attempt,
    withhold_details,
    withhold_reasons,
)
from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.links import check_page
from pytest_browsereval.run_files import open_written, write_whole
from pytest_browsereval.runs.run import StoredRun

# Most mail servers and issue trackers take 25 million bytes.
MOST_MB = 25

_TYPES = {".jpeg": "jpeg", ".jpg": "jpeg", ".png": "png", ".webp": "webp"}
# Bytes of markup around the details of an attempt.
_AROUND = 60


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

    def size(self, number: int) -> int:
        return len(self.markup(number).encode()) + _AROUND


class _Page:
    """What fits into the page."""

    def __init__(self, run: StoredRun, room: int) -> None:
        self._run = run
        self.room = room
        self.blocks: dict[int, _Block] = {}
        self.left_out = dict.fromkeys(("message log", "output, console, HAR or progress file", "picture"), 0)
        """How many of each did not fit."""
        self.withheld: set[str] = set()
        """Keys of attempts of protected rows."""

    def withhold(self, number: int, attempt: ShownAttempt) -> None:
        """Add an attempt of a protected row, without what was said in it."""
        self.withheld.add(attempt.key)
        block = self.blocks[number] = _Block(attempt.key, withhold_details(attempt))
        self.room -= block.size(number)

    def add(self, number: int, attempt: ShownAttempt) -> None:
        """Add an attempt without its message log and records: what it came to is never left out."""
        text, log, files, pictures, left_out, problem, records = details_of(attempt)
        bytes_out = len(log.encode()) + left_out
        short = [text, "", files, pictures, bytes_out, problem, without_texts(records)]
        block = self.blocks[number] = _Block(attempt.key, short)
        self.room -= block.size(number)

    def add_texts(self, number: int, key: str) -> None:
        """Add the message log and the records of an attempt that is there, if they fit.

        Args:
            number: of the attempt.
            key: its path below ``tasks``.
        """
        whole = _Block(key, details_of(read_attempt(self._run, key)))
        more = whole.size(number) - self.blocks[number].size(number)
        if more <= self.room:
            self.room -= more
            self.blocks[number] = whole
        else:
            self.left_out["message log"] += bool(whole.value[1])
            files = sum(name in whole.value[6] for name in TEXTS)
            self.left_out["output, console, HAR or progress file"] += files

    def add_picture(self, number: int, file: Path) -> None:
        """Add a picture, if it fits."""
        size = -(-size_of(file) // 3) * 4 + _AROUND
        if size > self.room:
            self.left_out["picture"] += 1
            return
        try:
            with open_written(str(file)) as opened:
                data = base64.b64encode(opened.read()).decode()
        except OSError:
            return
        self.blocks[number].pictures[file.name] = f"data:image/{_TYPES[file.suffix]};base64,{data}"
        self.room -= size


def write_single(
    door: Door, run: Path, file: Path, most_bytes: int = MOST_MB * 1_000_000
) -> tuple[Written, str]:
    """Write the viewer of a run as one file that needs nothing next to it.

    Every attempt is in it with what it came to. Message logs and then pictures are added as long as they fit:
    those of attempts that did not pass first, and of each its last pictures. Attempts of protected rows are
    in it without any text or picture.

    Args:
        door: asks plug-ins for causes and figures.
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
    stored, table, order = StoredRun(run, door), Table(), list[tuple[bool, int, str]]()
    made, unknown = _Page(stored, most_bytes - 500), list[tuple[int, ShownAttempt]]()
    for number, attempt in enumerate(iter_attempts(stored), 1):
        if is_protected(attempt):
            table.add(withhold_attempt(attempt), number)
            made.withhold(number, attempt)
            continue
        table.add(attempt, number)
        if attempt.metadata is None:
            unknown.append((number, attempt))
            continue
        made.add(number, attempt)
        order.append((attempt.metadata.verdict is Verdict.PASSED, number, attempt.key))
    for number, attempt in unknown:  # of a run that has protected rows, these may be of one
        if made.withheld:
            made.withhold(number, attempt)
        else:
            made.add(number, attempt)
            order.append((False, number, attempt.key))
    order.sort()
    data = build_run_data(stored, table, {"home": "", "details": "", "alone": True, "left_out": ""})
    data["gate"] = withhold_reasons(read_stored(run)) if made.withheld else read_stored(run)
    title = title_of(data)
    made.room -= len(page(data, title).encode())
    if made.room < 0:
        least = (most_bytes - made.room) / 1e6
        raise UsageError(
            f"{run}: without any log or picture the page takes {least:.1f} MB, and {most_bytes / 1e6:g} are "
            f"allowed. Add `--max-mb {least + 1:.0f}` or more."
        )
    for _, number, key in order:  # each read again when it is its turn: all of them would fill the memory
        made.add_texts(number, key)
    for number, picture in _pictures(run, order):
        made.add_picture(number, picture)
    message = " ".join(_describe_left_out(made, most_bytes))
    blocks = "\n".join(block.markup(number) for number, block in sorted(made.blocks.items()))
    data["run"]["left_out"] = message
    write_whole(file, page(data, title, blocks))
    return Written(file, table.attempts, table.count_damaged()), message


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
    """Return an attempt's pictures in the order of their numbers, which have three digits or more."""
    folder = attempt / "screenshots"
    pictures = [folder / name for name in names_in(str(attempt)).pictures if Path(name).suffix in _TYPES]
    return sorted(pictures, key=lambda picture: (len(picture.stem), picture.name))


def _describe_left_out(made: _Page, most_bytes: int) -> Iterator[str]:
    parts = [format_count(count, name) for name, count in made.left_out.items() if count]
    if parts:
        listed = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
        yield f"Left out, to stay below {most_bytes / 1e6:g} MB: {listed}."
    if made.withheld:
        yield f"Texts and pictures of {format_count(len(made.withheld), 'attempt')} are left out: {WHY}."
