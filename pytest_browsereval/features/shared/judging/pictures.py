"""The recorded pictures as a judge is shown them: which ones, how large."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.run_files import open_written
from pytest_browsereval.runs.folder import find_pictures, number_of, read_messages

T = TypeVar("T")

Detail = Literal["high", "low"]

SIDES: dict[Detail, int] = {"high": 1536, "low": 512}
"""The most pixels of a picture's longer side; what more a judge would be sent, providers scale down."""

QUALITY = 85
"""Of the JPEG pictures that are sent."""

MOST_PIXELS = 100_000_000
"""A larger picture is not a page, and would fill the memory."""


@dataclass(frozen=True)
class Shown:
    """A picture that a judge is shown."""

    path: Path
    caption: str = ""
    """The text before it, which is not fenced and therefore written by us; its number by default."""
    detail: Detail = "high"

    @property
    def number(self) -> int:
        """The picture's number in its attempt."""
        return number_of(self.path)


def load_pictures(recorded: Recorded, *, else_write: str = "") -> list[Path]:
    """Return the pictures of an attempt, for graders that judge by them.

    Args:
        recorded: the attempt.
        else_write: what to write in the grader's block if there are none.

    Raises:
        Fault: source *grader*; there are none, or one that was taken is missing: the others may give another
            impression.
    """
    found = find_pictures(recorded.folder)
    results = (m for m in read_messages(recorded.folder) if isinstance(m, ToolResultMessage))
    taken = {result.screenshot for result in results if result.screenshot is not None}
    # The log says which pictures were taken, so that a deleted one cannot change the verdict.
    if gone := sorted(taken - {number_of(path) for path in found}):
        names = ", ".join(map(str, gone[:5])) + (", ..." if len(gone) > 5 else "")
        raise GraderFault(f"pictures that were taken are gone: {names}")
    if not found:
        hint = f". Write {else_write}" if else_write else ""
        raise GraderFault(f"no picture was recorded: there is nothing to look at{hint}")
    return found


def evidence_of(pictures: Sequence[Path]) -> tuple[str, ...]:
    """Return what a grade calls pictures that it rests on: their paths in the attempt's folder."""
    return tuple(f"screenshots/{path.name}" for path in pictures)


def sample_evenly(items: Sequence[T], cap: int, *, keep_last: int = 1) -> list[T]:
    """Return at most ``cap`` items spread evenly over all of them; the last ones are always among them."""
    if len(items) <= cap:
        return list(items)
    last = min(keep_last, cap)
    rest, wanted = items[: len(items) - last], cap - last
    return [*(rest[place * len(rest) // wanted] for place in range(wanted)), *items[len(items) - last :]]


def encode_picture(path: Path, detail: Detail) -> dict[str, object]:
    """Return a picture as a part of a message. Takes some time: call it in a thread.

    Raises:
        Fault: source *grader*; the file is gone or no picture.
    """
    data = base64.b64encode(encode_jpeg(path, SIDES[detail])).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}", "detail": detail}}


def encode_jpeg(path: Path, side: int) -> bytes:
    """Return a picture as JPEG, its longer side no longer than ``side`` pixels.

    Raises:
        Fault: source *grader*; the file is gone or no picture.
    """
    from PIL import Image

    target = io.BytesIO()
    try:
        with open_written(str(path)) as file, Image.open(file) as picture:
            # Checked before decoding: the header says how large it will be.
            if picture.width * picture.height > MOST_PIXELS:
                raise GraderFault(f"the picture {path.name} is too large to be shown")
            # JPEG has neither alpha nor palettes.
            plain = picture.convert("RGB")
            plain.thumbnail((side, side), Image.Resampling.LANCZOS)
            plain.save(target, "JPEG", quality=QUALITY)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise GraderFault(f"the picture {path.name} cannot be read: {error}") from None
    return target.getvalue()
