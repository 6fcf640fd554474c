"""Contents of files: whatever form a secret has in them, it goes, and what else they hold stays."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import pytest

from pytest_browsereval.features.programs.contents import DataRedactor, NotSearched

SECRET = "sk-of-the-user-only"
LIMIT = 1_000_000


def redact(text: str) -> str:
    return text.replace(SECRET, "[redacted]")


def cleaned(data: bytes, limit: int = LIMIT) -> bytes:
    return DataRedactor(redact, limit).redact(data)


def zipped(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def test_texts_say_that_something_was_redacted() -> None:
    """In UTF-8 and UTF-16, with a sign for the order of bytes and without one."""
    text = f"key={SECRET}\n"
    assert cleaned(text.encode()) == b"key=[redacted]\n"
    for order in ("utf-16-le", "utf-16-be"):
        bom = "\ufeff".encode(order)
        assert cleaned(bom + f"schön {text}".encode(order)) == bom + "schön key=[redacted]\n".encode(order)
        for before in (b"", b"\x01", b"\xff\xff\xff"):
            data = before + text.encode(order)
            safe = cleaned(data)
            assert SECRET.encode(order) not in safe
            assert len(safe) == len(data)
            assert "[redacted]*********".encode(order) in safe


def test_binary_data_keeps_its_length() -> None:
    """What refers to places in it finds them, however many secrets it held and wherever."""
    data = b"\0[redacted]\0" + f"{SECRET}{SECRET}a{SECRET}".encode() + b"\xff\0b" + SECRET.encode()
    mask = b"[redacted]*********"
    safe = cleaned(data)
    assert SECRET.encode() not in safe
    assert len(safe) == len(data)
    assert safe.startswith(b"\0[redacted]")
    assert safe.endswith(b"\xff\0b" + mask)
    short = DataRedactor(lambda text: text.replace("pin4711", "[redacted]"), 0)
    assert short.redact(b"\0pin4711\0") == b"\0*******\0"


def test_a_database_can_still_be_read(tmp_path: Path) -> None:
    """SQLite finds its pages where they were."""
    file = tmp_path / "state.sqlite"
    with sqlite3.connect(file) as made:
        made.execute("create table logins (name text, key text)")
        made.executemany("insert into logins values (?, ?)", [(f"user{n}", SECRET) for n in range(300)])
    made.close()
    before = file.read_bytes()
    file.write_bytes(safe := cleaned(before))
    assert len(safe) == len(before)
    with sqlite3.connect(file) as read:
        assert read.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert read.execute("select distinct key from logins").fetchall() == [("[redacted]*********",)]
    read.close()


@pytest.mark.parametrize(
    ("pack", "unpack"),
    [(gzip.compress, gzip.decompress), (bz2.compress, bz2.decompress), (lzma.compress, lzma.decompress)],
    ids=["gzip", "bzip2", "xz"],
)
def test_packed_files_are_opened(pack: object, unpack: object) -> None:
    """Also what is packed twice; one without a secret is the same file."""
    assert callable(pack)
    assert callable(unpack)
    assert unpack(cleaned(pack(f"key={SECRET}".encode()))) == b"key=[redacted]"
    assert unpack(unpack(cleaned(pack(pack(SECRET.encode()))))) == b"[redacted]"
    other = pack(b"nothing")
    assert cleaned(other) == other


def test_archives_are_opened() -> None:
    """Members, their names, archives among them; a tar archive in gzip keeps its places."""
    inner = zipped({"deep.txt": SECRET.encode()})
    data = zipped({"a.txt": b"plain", f"{SECRET}/b.txt": f"key={SECRET}".encode(), "c.zip": inner})
    with zipfile.ZipFile(io.BytesIO(cleaned(data))) as archive:
        assert archive.namelist() == ["a.txt", "[redacted]/b.txt", "c.zip"]
        assert [archive.read(name) for name in archive.namelist()[:2]] == [b"plain", b"key=[redacted]"]
        with zipfile.ZipFile(io.BytesIO(archive.read("c.zip"))) as second:
            assert second.read("deep.txt") == b"[redacted]"
    same = zipped({"a.txt": b"plain"})
    assert cleaned(same) == same
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        member = tarfile.TarInfo("a.txt")
        member.size = len(SECRET)
        tar.addfile(member, io.BytesIO(SECRET.encode()))
    with tarfile.open(fileobj=io.BytesIO(cleaned(made.getvalue())), mode="r:gz") as tar:
        file = tar.extractfile("a.txt")
        assert file is not None
        assert file.read() == b"[redacted]*********"


def test_what_cannot_be_opened_is_told(subtests: pytest.Subtests) -> None:
    """It is too large once unpacked, or damaged; what stands in it as it is goes all the same."""
    cases: list[bytes] = [
        gzip.compress(bytes(LIMIT + 1)),
        zipped({"a": bytes(LIMIT // 2), "b": bytes(LIMIT // 2), "c": b"x"}),
        b"\x1f\x8b damaged",
        b"PK\x03\x04 damaged",
        b"BZh damaged",
        b"\xfd7zXZ\0 damaged",
        gzip.compress(b"x" * 1000)[:-12],
    ]
    for data in cases:
        with subtests.test(data=data):
            with pytest.raises(NotSearched):
                cleaned(data)
            plain = DataRedactor(redact, LIMIT).redact_unopened(data + SECRET.encode())
            assert SECRET.encode() not in plain


def test_a_locked_archive_is_told() -> None:
    """Nobody here knows its password."""
    data = bytearray(zipped({"a.txt": SECRET.encode()}))
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + place] |= 1
    with pytest.raises(NotSearched):
        cleaned(bytes(data))
