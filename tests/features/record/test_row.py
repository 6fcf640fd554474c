"""From items to a line of a dataset."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.agents.scripted import find_variable
from pytest_browsereval.errors import DatasetError, UsageError
from pytest_browsereval.features.record.row import (
    Heading,
    append_row,
    format_row,
    make_id,
    make_row,
    prefix_of,
    propose_names,
    read_ids,
)
from pytest_browsereval.features.record.steps import Item, find_leak
from pytest_browsereval.model.tasks import Task

HEADING = Heading("a", "Do it.", "{shop}/")
SITES = {"shop": "http://127.0.0.1:4711"}


def fill(text: str, secret: str = "", key: str = "1") -> Item:
    return Item("fill", {"tool": "fill", "target": "label=X", "text": text}, key, secret)


def solution_of(*items: Item, names: dict[str, str] | None = None) -> list[Any]:
    row = make_row(HEADING, items, names or {}, SITES)
    assert Task.model_validate(json.loads(format_row(row))).query_id == "a"
    steps = row["solution"]
    assert isinstance(steps, list)
    return steps[:-1]


def test_sites_are_named() -> None:
    """An address of a site is written with its name, in steps and in checks; no other one is."""
    for url, written in (
        ("http://127.0.0.1:4711", "{shop}"),
        ("http://127.0.0.1:4711/a?b#c", "{shop}/a?b#c"),
        ("http://127.0.0.1:4711?b", "{shop}?b"),
        ("http://127.0.0.1:47110/a", "http://127.0.0.1:47110/a"),
        ("http://127.0.0.1:4711.evil.test/", "http://127.0.0.1:4711.evil.test/"),
    ):
        (step,) = solution_of(Item("move", {"tool": "navigate", "url": url}))
        assert step == {"tool": "navigate", "url": written}
        assert make_row(HEADING, [Item("check", {"url": url})], {}, SITES)["checks"] == [{"url": written}]


def test_a_secret_is_a_variable_and_a_text_is_none() -> None:
    """What was typed into a secret field is named wherever it was typed; other texts stay texts."""
    items = [fill("hunter22", "password"), fill("hunter22"), fill("${HOME}"), fill("a ${HOME}")]
    steps = solution_of(*items, names={"hunter22": "PASSWORD"})
    assert [step["text"] for step in steps] == ["${PASSWORD}", "${PASSWORD}", "$${HOME}", "a ${HOME}"]
    assert [find_variable(step) for step in steps] == ["PASSWORD", "PASSWORD", None, None]


def test_names_of_variables() -> None:
    """One for each value, made of the kind of field; none that the environment has for something else."""
    items = [
        fill("first one", "password"),
        fill("second", "new-password"),
        fill("first one", "new-password"),
        fill("third", "password"),
        fill("of config", "password"),
        fill("not secret"),
        fill("4242", "no such kind"),
    ]
    environ = {"SHOP_PASSWORD_2": "something else", "SHOP_NEW_PASSWORD": "second"}
    assert propose_names(items, {"of config": "OWN"}, environ, "SHOP_") == {
        "first one": "SHOP_PASSWORD",
        "second": "SHOP_NEW_PASSWORD",
        "third": "SHOP_PASSWORD_3",
        "of config": "OWN",
        "4242": "SHOP_PASSWORD_4",
    }
    assert (prefix_of("{my_shop}/x"), prefix_of("https://x.test/{shop}")) == ("MY_SHOP_", "")


def test_a_leak_is_found() -> None:
    """A secret in a target, an address or a check is found, wherever it stands in it."""
    typed = fill("hunter22", "password")
    for text in ("say hunter22", "hunter22", "a%20hunter22", b"hunter22".hex()):
        for other in (
            Item("click", {"tool": "click", "target": f"text={text}"}),
            Item("check", {"text": text}),
            Item("check", {"js": "x", "equals": text}),
            Item("move", {"tool": "navigate", "url": f"https://x.test/?q={text}"}),
        ):
            assert find_leak([typed, other]) is (other if "hunter22" in text else None)
    assert find_leak([typed, fill("hunter22")]) is None


def test_a_line_is_one_line() -> None:
    """Letters stay readable; signs that hide or turn a text are escaped, and so are halves of pairs."""
    row = make_row(Heading("ä", "x\u2028y\u202e\x85\x07z", "https://x.test/"), [fill("q\ud800\n")], {}, {})
    line = format_row(row)
    assert line.isprintable()
    assert '"ä"' in line
    assert json.loads(line)["query"] == "x\u2028y\u202e\x85\x07z"
    assert json.loads(line)["solution"][0]["text"] == "q\ufffd\n"


def test_an_id_is_made_of_the_query(subtests: pytest.Subtests) -> None:
    """In plain letters, short, and not taken."""
    cases: list[tuple[str, str]] = [
        ("Buy a red mug.", "buy-a-red-mug"),
        ("Überweise 5 € an Zoë!", "uberweise-5-an-zoe"),
        ("买一个杯子", "row"),
        ("../../etc/passwd", "etc-passwd"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word"),
        ("x" * 100, "x" * 48),
        ("Taken", "taken-3"),
    ]
    for query, made in cases:
        with subtests.test(query=query, made=made):
            assert make_id(query, ["taken", "taken-2"]) == made


# -- the file


def test_rows_are_added(tmp_path: Path) -> None:
    """As the last line, whether or not the line before has an end."""
    file = tmp_path / "rows.jsonl"
    assert read_ids(file) == {}
    assert not file.exists()  # to ask creates nothing
    for name in ("a", "b"):
        append_row(file, {"query_id": name, "query": "x"})
    file.write_bytes(file.read_bytes().rstrip())
    append_row(file, {"query_id": "c", "query": "x"})
    assert read_ids(file) == {"a": 1, "b": 2, "c": 3}


def test_a_file_that_takes_no_row(tmp_path: Path) -> None:
    """It is refused before anything is recorded: another format, no folder, no right, broken rows."""
    with pytest.raises(UsageError, match=r"Name a file \*\.jsonl"):
        read_ids(tmp_path / "rows.csv")
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("none/rows.jsonl", "folder.jsonl", "pipe.jsonl"):
        with pytest.raises(UsageError, match=rf"{name} cannot be written: it is not a plain"):
            read_ids(tmp_path / name)
    (tmp_path / "broken.jsonl").write_text("{broken\n")
    with pytest.raises(DatasetError, match="not JSON"):
        read_ids(tmp_path / "broken.jsonl")
