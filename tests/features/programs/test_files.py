"""Files that a program leaves: texts go on without secrets, other files that hold one are deleted."""

from __future__ import annotations

import gzip
import io
import sqlite3
import zipfile
from pathlib import Path

from pytest_browsereval.features.programs.files import redact_folder

SECRET = "sk-of-the-user-ünly"


def redact(text: str) -> str:
    return text.replace(SECRET, "[redacted]")


def zipped(content: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", content)
    return made.getvalue()


def test_secrets_in_files_of_any_form(tmp_path: Path) -> None:
    """A text is written anew; what is not one goes whole and is named; what is packed is named and stays."""
    with sqlite3.connect(tmp_path / "state.sqlite") as made:
        made.execute("create table logins (key text)")
        made.execute("insert into logins values (?)", [SECRET])
    made.close()
    texts = {
        "utf8.txt": (f"schön {SECRET}\n".encode(), "schön [redacted]\n".encode()),
        "utf16.txt": (f"schön {SECRET}\n".encode("utf-16"), "schön [redacted]\n".encode("utf-16")),
        "plain.txt": (b"nothing", b"nothing"),
        "plain.bin": (b"\0\xff\0nothing", b"\0\xff\0nothing"),
        "packed.gz": (gzip.compress(SECRET.encode()),) * 2,
        "packed.zip": (zipped(SECRET.encode()),) * 2,
    }
    others = {
        "little.bin": b"\xff\0" + SECRET.encode("utf-16-le"),
        "odd.bin": b"\xff\0\xff" + SECRET.encode("utf-16-le") + b"\0",
        "big.bin": b"\0" + SECRET.encode("utf-16-be"),
        "bytes.bin": b"\0\xff" + SECRET.encode() + b"\xff",
        "latin.txt": b"\xff" + SECRET.encode(),
        "open.zip": zipped(b"x") + SECRET.encode(),
    }
    for name, data in others.items() | {(name, before) for name, (before, _) in texts.items()}:
        (tmp_path / name).write_bytes(data)
    found = redact_folder(tmp_path, redact, "")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        name: after for name, (_, after) in texts.items()
    }
    assert set(found.deleted) < {*others, "state.sqlite"}
    assert len(found.deleted) == 5  # the first few
    assert found.left == ("packed.gz", "packed.zip")
