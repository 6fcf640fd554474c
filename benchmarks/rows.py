"""The work that every runner gets: rows of the MiniWoB example, made by its own generator for any seed."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["EXAMPLE", "HERE", "PAGES", "SEEDS", "row", "seeds_of", "served", "write"]

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "miniwob"
SEEDS = (1, 2, 3, 4, 5, 7, 8, 9, 10, 11)
"""On 6 two pages hide the button to press beneath another, and no runner can press it."""

sys.path.insert(0, str(EXAMPLE))
from make_rows import row  # noqa: E402 it lies in the example's folder
from policies import POLICIES  # noqa: E402

PAGES = tuple(POLICIES)


def seeds_of(number: int, each: int) -> list[int]:
    """Return the seeds of a round: rounds take turns through all ten."""
    return [SEEDS[(number * each + place) % len(SEEDS)] for place in range(each)]


def write(file: Path, seeds: Sequence[int], pages: Sequence[str], url: str) -> list[dict[str, Any]]:
    """Write a row for each page and seed, with the address that the pages have in this run."""
    rows: list[dict[str, Any]] = [row(page, seed) for seed in seeds for page in pages]
    for each in rows:
        each["start_url"] = str(each["start_url"]).replace("{miniwob}", url)
    file.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return rows


@contextlib.contextmanager
def served() -> Iterator[str]:
    """Serve the pages by a program of its own, which nobody's figures count, and yield its address.

    Raises:
        SystemExit: the pages are not installed.
    """
    if importlib.util.find_spec("miniwob") is None:
        raise SystemExit("The package miniwob is not installed. Type  pip install miniwob")
    command = [sys.executable, str(HERE / "pages.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None  # noqa: S101 both are pipes
        assert program.stdout is not None  # noqa: S101
        try:
            yield program.stdout.readline().strip()
        finally:
            program.stdin.close()
