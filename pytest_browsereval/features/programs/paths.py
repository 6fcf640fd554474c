"""A file named relative to a folder that it must not leave."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator


def _stays_inside(text: str) -> str:
    path = PurePosixPath(text)
    if not path.name or path.is_absolute() or ".." in path.parts or "\\" in text or "\0" in text:
        raise ValueError(f"{text!r} is not a path inside the attempt's folder. Write one such as answer.txt")
    return text


InnerPath = Annotated[str, AfterValidator(_stays_inside)]
"""Relative, with slashes, and without a way out."""
