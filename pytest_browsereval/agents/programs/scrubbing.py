"""Secrets taken out of the files that a program leaves in its folder."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

MOST_FILES = 2_000
MOST_BYTES = 64_000_000
"""Of all files together; what is over it is told."""

_TOLD = 5


def scrub(folder: Path, redact: Callable[[str], str], token: str) -> tuple[str, ...]:
    """Write files anew that hold a secret; links are not followed, and what cannot be read is left.

    Args:
        folder: searched with all that is in it.
        redact: replaces secrets in a text.
        token: one more, unless it is empty.

    Returns:
        Names of files that were not searched, as there is too much of them; the first few.
    """
    left: list[str] = []
    rest = MOST_BYTES
    for number, path in enumerate(itertools.islice(_files(folder), MOST_FILES + _TOLD)):
        try:
            size = path.stat().st_size
            if number >= MOST_FILES or size > rest:
                left.append(path.relative_to(folder).as_posix())
                continue
            rest -= size
            _clean(path, redact, token)
        except OSError:
            continue
    return tuple(left[:_TOLD])


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _clean(path: Path, redact: Callable[[str], str], token: str) -> None:
    # Whatever bytes they are, they come out as they were.
    before = path.read_bytes().decode("utf-8", "surrogateescape")
    after = redact(before.replace(token, "[redacted]") if token else before)
    if after == before:
        return
    # A file of its own: this one may have a second name somewhere else.
    fresh = path.with_name(f".{path.name[:100]}.clean")
    try:
        fresh.write_bytes(after.encode("utf-8", "surrogateescape"))
        fresh.chmod(path.stat().st_mode)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
