from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.config_text import DocumentError, KeyPath, format_path, parse, read_text


def value_of(text: str, suffix: str = ".yaml") -> Any:
    document = parse(text, suffix)
    assert document.problems == []
    return document.value


def refusal(text: str, suffix: str) -> tuple[str, int | None]:
    with pytest.raises(DocumentError) as caught:
        parse(text, suffix)
    return str(caught.value), caught.value.line


# -- values


def test_yaml_scalars_follow_the_core_schema(subtests: pytest.Subtests) -> None:
    """YAML 1.2 determines the types of plain scalars: words and dates are texts, numbers are decimal."""
    cases: list[tuple[str, object]] = [
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("'true'", "true"),
        ("12", 12),
        ("-3", -3),
        ("+3", 3),
        ("007", 7),
        ("0o17", 15),
        ("0xff", 255),
        ("1_000", "1_000"),
        ("12:30:00", "12:30:00"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("3.", 3.0),
        ("1e3", 1000.0),
        ("1.2.3", "1.2.3"),
        (".inf", ".inf"),
        ("2025-01-31", "2025-01-31"),
        ("2025-01-31T10:00:00Z", "2025-01-31T10:00:00Z"),
        ("=", "="),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("[1, [2, {a: b}]]", [1, [2, {"a": "b"}]]),
        ('"\\u00e9"', "é"),
        ('"\\U0001F642"', "🙂"),
    ]
    for text, value in cases:
        with subtests.test(text=text, value=value):
            found = value_of(text)
            assert found == value
            assert type(found) is type(value)


def test_two_halves_make_a_character() -> None:
    """A character that JSON writes in two halves is read; a lone half is refused."""
    assert value_of('["\\ud83d\\ude42"]', ".json") == ["🙂"]


def test_merged_blocks_give_way_to_own_keys() -> None:
    """``<<`` merges blocks; a block's own keys win, then the first merged block."""
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  x: 3\n"
    assert value_of(text)["c"] == {"x": 3, "y": 1, "z": 2}


def test_toml_dates_are_texts() -> None:
    """Dates and times of TOML become texts, so that a config has plain JSON values."""
    text = 'day = 2025-01-31\nlist = [{at = 10:00:00}]\nwhen = 2025-01-31T10:00:00Z\n[t]\nx = "y"\n'
    assert value_of(text, ".toml") == {
        "day": "2025-01-31",
        "list": [{"at": "10:00:00"}],
        "when": "2025-01-31T10:00:00+00:00",
        "t": {"x": "y"},
    }


def test_an_unknown_suffix_is_refused() -> None:
    """The refusal lists the formats; the case of the suffix does not matter."""
    assert refusal("", ".ini")[0] == "the suffix '.ini' names no format. Known: .yaml, .yml, .json, .toml."
    assert value_of("{}", ".JSON") == {}


# -- what is wrong


def test_broken_texts_are_refused(subtests: pytest.Subtests) -> None:
    """A text in the wrong format is refused, with the line if the parser knows it."""
    cases: list[tuple[str, str, str, int | None]] = [
        ("a: b: c", ".yaml", "not YAML: mapping values are not allowed in this context.", 1),
        ("a: 1\n\tb: 2", ".yaml", "not YAML: found", 2),
        ("a: *x", ".yaml", "not YAML: found undefined alias.", 1),
        ("a: 1\n---\nb: 2", ".yaml", "not YAML: but found another document.", 2),
        ("a: \0", ".yaml", "not YAML: ", None),
        ("<<: 1", ".yaml", "'<<' merges blocks only: write `<<: *ANCHOR_OF_A_BLOCK`.", 1),
        ("[" * 5_000, ".yaml", "", None),
        ('{"a": 1,\n"a": 2}', ".json", "not JSON: the key 'a' occurs twice; leave one out.", None),
        ('{"a": 1,\n"b"}', ".json", "not JSON: Expecting ':' delimiter", 2),
        ('{"a": 1,\n}', ".json", "not JSON: ", None),  # the line is that of the comma from Python 3.13 on
        ('{"a": Infinity}', ".json", "not JSON: Infinity is not a number in JSON.", None),
        ('{"a": -1e999}', ".json", "not JSON: -1e999 is too large a number.", None),
        ("[" * 100_000, ".json", "not readable: nested too deeply.", None),
        (
            '{"a":\n"\\uD800"}',
            ".json",
            "'\\ud800' is half a character, which no file can hold. Leave it out.",
            2,
        ),
        ("a = 1\na = 2\n", ".toml", "not TOML: Cannot overwrite a value", 2),
        ("a = \n", ".toml", "not TOML: Invalid value", 1),
    ]
    for text, suffix, told, line in cases:
        with subtests.test(text=text, suffix=suffix, told=told):
            message, found = refusal(text, suffix)
            assert told in message
            assert line is None or found == line


def test_problems_do_not_end_reading() -> None:
    """Repeated keys, keys that are not texts and unknown tags are all reported with their lines."""
    document = parse("a: 1\nb: 2\na: 3\n7: x\nc: !date 2020\n? [x]\n: y\n", ".yaml")
    assert document.problems == [
        (3, "the key 'a' occurs twice, first in line 1. Leave one out."),
        (4, "the key '7' is not a string. Put it in quotes."),
        (5, "the tag '!date' is not allowed. Leave it out."),
        (6, "the key 'a list or block' is not a string. Put it in quotes."),
    ]


def test_tags_run_nothing(tmp_path: Path) -> None:
    """A tag that names a Python class is a problem, and makes no object."""
    flag = tmp_path / "flag"
    document = parse(f"a: !!python/object/apply:pathlib.Path.touch ['{flag}']", ".yaml")
    assert document.problems
    assert not flag.exists()


# -- lines

YAML = """\
name: x            # 1
agent: &base
  type: single     # 3
  nested:
    - a: 1         # 5
    -
      b: 2         # 7
other:
  <<: *base
  own: 1           # 10
"""
JSON = """\
{"name": "x",
 "agent": {
  "type": "single",
  "nested": [
    {"a": 1},

    {"b": 2, "s": "}]\\"{,"}
  ], "last": [
   [1,
    2]]}}
"""
TOML = """\
name = "x"
[agent]
type = "single"  # = 3
nested.deep = 1
[[dataset]]
path = "a"
"""


def test_lines_of_yaml(subtests: pytest.Subtests) -> None:
    """The line of a value is that of its key; a missing value has the line of the nearest one above."""
    cases: list[tuple[KeyPath, int]] = [
        ((), 1),
        (("name",), 1),
        (("agent",), 2),
        (("agent", "type"), 3),
        (("agent", "nested", 0, "a"), 5),
        (("agent", "nested", 1), 7),
        (("agent", "nested", 1, "b"), 7),
        (("agent", "nope"), 2),
        (("agent", "type", "deeper"), 3),
        (("other", "type"), 3),
        (("other", "own"), 10),
        (("nope",), 1),
    ]
    for path, line in cases:
        with subtests.test(path=path, line=line):
            assert parse(YAML, ".yaml").line_of(path) == line


def test_lines_of_json(subtests: pytest.Subtests) -> None:
    """Values in JSON have lines, also after strings with brackets and quotes."""
    cases: list[tuple[KeyPath, int]] = [
        ((), 1),
        (("agent",), 2),
        (("agent", "nested"), 4),
        (("agent", "nested", 0), 5),
        (("agent", "nested", 1, "b"), 7),
        (("agent", "last", 0), 9),
        (("agent", "last", 0, 1), 10),
        (("agent", "nope", "x"), 2),
    ]
    for path, line in cases:
        with subtests.test(path=path, line=line):
            assert parse(JSON, ".json").line_of(path) == line


def test_lines_of_toml(subtests: pytest.Subtests) -> None:
    """Values in TOML have the lines of their tables and keys."""
    cases: list[tuple[KeyPath, int]] = [
        (("name",), 1),
        (("agent",), 2),
        (("agent", "type"), 3),
        (("agent", "nested", "deep"), 4),
        (("agent", "nope"), 2),
        (("dataset", 0, "path"), 6),
        (("nope",), 1),
    ]
    for path, line in cases:
        with subtests.test(path=path, line=line):
            assert parse(TOML, ".toml").line_of(path) == line


# -- files


def test_shown_paths_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path below the current folder is relative, any other one is absolute."""
    monkeypatch.chdir(tmp_path)
    assert format_path(tmp_path / "evals" / "shop.yaml") == "evals/shop.yaml"
    assert format_path(Path("shop.yaml")) == "shop.yaml"
    assert format_path(tmp_path.parent / "x.yaml") == str(tmp_path.parent / "x.yaml")


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    """The mark is not part of the text."""
    (tmp_path / "a.yaml").write_text("a: 1", encoding="utf-8-sig")
    assert read_text(tmp_path / "a.yaml") == "a: 1"
