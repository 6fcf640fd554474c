from __future__ import annotations

import random
import string
from functools import cache

import pytest

from pytest_browsereval.datasets.ids import MAX_LENGTH, original_id, safe_folder, safe_id

ALPHABETS = (
    string.ascii_letters + string.digits + "._-",
    "aA.+-",
    "aA/\\: \0\n\t%$@[]",
    string.printable,
    "äöüßéÅ漢字ﬁ🙂👩‍👩‍👧\u0301\ufeff",
    "".join(map(chr, range(32))) + "\x7f\x80\ud800\udfff",
)

SEPARATORS = ("/", "\\", ":", "[", "]", "@", " ", "%", "~", "*", "?", '"', "<", ">", "|", "\0", "\n")


@cache
def many_ids() -> list[str]:
    draw = random.Random(20_240_501)  # noqa: S311 repeatable, not secret
    ids = {"CON", "con", "nul.txt", "COM1", "aux.", "lpt9.a.b", "..", ".", "a..b", "-x", "a."}
    ids |= {"A", "a", "aA", "Aa"}
    for alphabet in ALPHABETS:
        for _ in range(800):
            ids.add("".join(draw.choices(alphabet, k=draw.choice((1, 2, 3, 5, 8, 40, 99, 100, 101, 300)))))
    return sorted(ids)


def test_other_characters_are_encoded(subtests: pytest.Subtests) -> None:
    """Characters with a meaning for paths, shells or pytest are written as their bytes; plain ids stay."""
    cases: list[tuple[str, str]] = [
        *((plain, plain) for plain in ("buy-mug", "task_7", "v1.2", "Allrecipes--0", "a" * MAX_LENGTH)),
        ("Wolfram Alpha--45", "Wolfram+20Alpha--45"),
        ("a/b", "a+2fb"),
        ("..", "+2e+2e"),
        (".hidden", "+2ehidden"),
        ("a..b", "a.+2eb"),
        ("end.", "end+2e"),
        ("--eval-config", "+2d-eval-config"),
        ("shop[kimi-2]::x@y", "shop+5bkimi-2+5d+3a+3ax+40y"),
        ("1+1", "1+2b1"),
        ("é", "+c3+a9"),
        ("CON", "+43ON"),
        ("nul.txt", "+6eul.txt"),
        ("console", "console"),
        ("line\nbreak.", "line+0abreak+2e"),
    ]
    for query_id, name in cases:
        with subtests.test(query_id=query_id, name=name):
            assert safe_id(query_id) == name


def test_different_ids_have_different_names() -> None:
    """No two of many random ids share a name, also in folders that ignore case."""
    assert len({safe_id(i) for i in many_ids()}) == len(many_ids())
    assert len({safe_folder(i).lower() for i in many_ids()}) == len(many_ids())


def test_names_are_safe() -> None:
    """No name is a path, ends with a dot, is too long, is a device or means something to pytest."""
    for name in [*map(safe_id, many_ids()), *map(safe_folder, many_ids())]:
        assert name.isascii()
        assert not any(sign in name for sign in SEPARATORS)
        assert ".." not in name
        assert "::" not in name
        assert name[0] not in ".-"
        assert name[-1] not in ". "
        assert len(name) <= MAX_LENGTH + 30
        assert name.partition(".")[0].upper() not in ("CON", "PRN", "AUX", "NUL", "COM1", "LPT9")


def test_names_lead_back_to_ids() -> None:
    """A name gives its id, unless the name was cut; a text that is not the name of an id gives none."""
    for query_id in many_ids():
        name = safe_id(query_id)
        assert original_id(name) == (None if "+-" in name else query_id)
    assert {original_id(safe_id(i)) for i in many_ids() if len(i) <= 30} >= {"CON", "..", "A"}
    for name in ["a/b", "+2", "+zz", "+41", "..", "", "é", "+-", "a+2fb[kimi-2]"]:
        assert original_id(name) is None


def test_long_ids_are_cut_with_a_hash() -> None:
    """Ids that differ only after the cut have different names of the same length."""
    first, second = safe_id("x" * 300 + "1"), safe_id("x" * 300 + "2")
    assert first != second
    assert len(first) == len(second) == MAX_LENGTH
    assert first[:50] == "x" * 50
    assert len(safe_id("🙂" * 300)) <= MAX_LENGTH
    with pytest.raises(ValueError, match="must not be empty"):
        safe_id("")


def test_capitals_are_marked_in_folders_only() -> None:
    """The name of a folder says which letters are capitals; a node id does not change."""
    assert safe_id("Apple--7") == "Apple--7"
    assert safe_folder("Apple--7") == "Apple--7++1"
    assert safe_folder("apple--7") == "apple--7"
    assert safe_folder("aPPle") == "aPPle++6"
