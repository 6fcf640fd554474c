"""Reads downloads as text: tables, PDF, texts of several encodings."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from pytest_browsereval.capture.downloads import DOWNLOADS, Download
from pytest_browsereval.graders.values import read_json
from pytest_browsereval.run_files import Stamp, make_stamp, open_written
from pytest_browsereval.session_caches import cache_for_session

MOST_READ_BYTES = 50_000_000
"""Larger files are not read as text."""
MOST_PDF_PAGES = 500
PDF_LIMIT_S = 20.0
"""For the text of a PDF: a page may have made one that is read for ever."""
HOW_TO_READ_PDF = "run `pip install 'pytest-browsereval[pdf]'`"

# In a process of its own, which can be ended.
_READ_PDF = f"""
import io, sys
from pypdf import PdfReader
pages = PdfReader(io.BytesIO(sys.stdin.buffer.read())).pages
for page, _ in zip(pages, range({MOST_PDF_PAGES})):
    sys.stdout.buffer.write(page.extract_text().replace("\\f", " ").encode("utf-8", "replace") + b"\\f")
"""
_CONTROLS = frozenset(range(32)) - {*b"\t\n\f\r\x1b"}


class NoText(ValueError):
    """A file has no text that can be read; the message says what it is, or what is missing.

    Args:
        why: the message.
        is_known: whether the file itself has none, and not this machine cannot read it.
    """

    def __init__(self, why: str, *, is_known: bool = True) -> None:
        super().__init__(why)
        self.is_known = is_known


def read_pages(folder: Path, one: Download) -> list[str]:
    """Return the text of a download of an attempt by its pages, of which only a PDF has several; it blocks.

    Raises:
        NoText: it was not kept, is not text, a table as text, or a PDF, is too large, or cannot be read.
    """
    if one.problem:
        raise NoText(f"it was not kept: {one.problem}", is_known=False)
    file = folder / DOWNLOADS / one.name
    try:
        return list(_read_pages(file, make_stamp(file.lstat())))
    except OSError as error:
        raise NoText(f"it cannot be opened: {error.strerror}", is_known=False) from None


@cache_for_session(maxsize=16)
def _read_pages(file: Path, stamp: Stamp) -> list[str]:
    """Return the same of a file in that state: checks ask again and again."""
    del stamp
    with open_written(str(file)) as opened:
        data = opened.read(MOST_READ_BYTES + 1)
    if len(data) > MOST_READ_BYTES:
        raise NoText(f"it has more than {MOST_READ_BYTES:,} bytes, too many to read", is_known=False)
    if b"%PDF-" in data[:1024]:
        return _read_pdf(data)
    return [_decode(data)]


def count_rows(text: str, name: str = "") -> int:
    """Return how many rows a table as text has below its header; empty lines are none.

    Args:
        text: of the file.
        name: of the file.

    Raises:
        NoText: it is not a table.
    """
    if name.lower().endswith(".pdf"):
        raise NoText("a PDF has no rows; write `contains` or another comparison", is_known=False)
    header, _, below = text.partition("\n")
    if re.fullmatch(r"sep=.\r?", header):  # what Excel reads the separator from
        return count_rows(below)
    if isinstance(read_json(text), list | dict):
        raise NoText("it is JSON, which is not a table; compare its text")
    try:
        table = csv.reader(io.StringIO(text), delimiter=max(",;\t|", key=header.count))
        rows = sum(any(map(str.strip, row)) for row in table)
    except csv.Error as error:
        raise NoText(f"it is not a table: {error}") from None
    return max(0, rows - 1)


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if _CONTROLS.isdisjoint(data):
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return data.decode("cp1252", "replace")  # what old programs write
    raise NoText("it is binary data")


def _read_pdf(data: bytes) -> list[str]:
    if find_spec("pypdf") is None:
        raise NoText(f"it is a PDF; to read these, {HOW_TO_READ_PDF}", is_known=False)
    try:
        command = [sys.executable, "-P", "-c", _READ_PDF]
        read = subprocess.run(command, input=data, capture_output=True, timeout=PDF_LIMIT_S, check=False)  # noqa: S603 our own
    except subprocess.TimeoutExpired:
        raise NoText(f"it is a PDF that takes over {PDF_LIMIT_S:g} s to read", is_known=False) from None
    if read.returncode:
        *_, last = ["", *read.stderr.decode(errors="replace").strip().splitlines()]
        raise NoText(f"it is a PDF that cannot be read: {last[:200]}", is_known=False)
    return read.stdout.decode("utf-8", "replace").split("\f")[:-1]
