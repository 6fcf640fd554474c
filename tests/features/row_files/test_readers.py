from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.datasets.jsonl import JsonLinesConfig
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.features.row_files.readers import CsvConfig, JsonConfig, YamlConfig
from pytest_browsereval.model.tasks import Task

Write = Callable[[str | bytes, str], Path]


pytestmark = pytest.mark.usefixtures("in_tmp_path")


def tasks(dataset: DatasetConfig, folder: Path) -> list[Task]:
    return [dataset.read(ref) for ref in dataset.index(folder)]


def refusal(dataset: DatasetConfig, folder: Path) -> str:
    with pytest.raises(DatasetError) as caught:
        tasks(dataset, folder)
    return str(caught.value)


def csv_of(text: str, write: Write, **options: Any) -> CsvConfig:
    write(text, "rows.csv")
    return CsvConfig.model_validate({"path": "rows.csv", **options})


ROWS = [
    {"query_id": "a", "query": "first", "tags": ["x"], "answer": 1.5, "revision": 3},
    {"query_id": "ä b", "query": "second", "graders": ["answer", {"type": "answer"}], "answer": None},
]


def test_all_formats_carry_the_same_rows(write: Write, tmp_path: Path) -> None:
    """JSON and YAML, as a list or under ``tasks``, beside ``$schema`` too, give the same tasks."""
    import yaml

    expected = [Task.model_validate(row) for row in ROWS]
    for value in (ROWS, {"tasks": ROWS}, {"$schema": "rows.schema.json", "tasks": ROWS}):
        write(json.dumps(value), "rows.json")
        write(yaml.safe_dump(value, allow_unicode=True), "rows.yaml")
        assert tasks(JsonConfig(path=Path("rows.json")), tmp_path) == expected
        assert tasks(YamlConfig(path=Path("rows.yaml")), tmp_path) == expected


def test_rows_know_their_lines(write: Write, tmp_path: Path) -> None:
    """A wrong row of a JSON or YAML file is reported with the line that it begins at."""
    rows = '{"tasks": [\n {"query_id": "a", "query": "q"},\n\n {"query_id":\n "b", "query": 1}\n]}'
    write(rows, "rows.json")
    dataset = JsonConfig(path=Path("rows.json"))
    assert [ref.line for ref in dataset.index(tmp_path)] == [2, 4]
    assert refusal(dataset, tmp_path) == "rows.json:4: query: expected a string, not 1."
    write("# shop\n- query_id: a\n  query: q\n\n- query: q\n  query_id: b\n  qurey: x\n", "rows.yaml")
    in_yaml = YamlConfig(path=Path("rows.yaml"))
    assert [ref.line for ref in in_yaml.index(tmp_path)] == [2, 5]
    assert refusal(in_yaml, tmp_path).startswith("rows.yaml:5: qurey: unknown key. Did you mean 'query'?")


def test_yaml_keeps_words_and_dates_as_texts(write: Write, tmp_path: Path) -> None:
    """Answers such as ``no``, ``2025-01-31`` and ``12:30`` are texts."""
    answers = ("no", "2025-01-31", "12:30", "1e3", "0x10", "true", "010")
    lines = (f"- {{query_id: a{n}, query: q, answer: {a}}}\n" for n, a in enumerate(answers))
    write("".join(lines), "rows.yaml")
    found = [task.answer for task in tasks(YamlConfig(path=Path("rows.yaml")), tmp_path)]
    assert found == ["no", "2025-01-31", "12:30", 1000.0, 16, True, 10]


def test_broken_yaml_is_refused(write: Write, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A YAML file without usable rows is refused with its line."""
    cases: list[tuple[str, str]] = [
        ("", "rows.yaml: the file has no rows."),
        ("a: 1", "rows.yaml:1: expected a list of rows, or a block with the one key 'tasks' that holds it."),
        ("- query_id: 7\n  query: q", "rows.yaml:1: query_id: expected a string, not 7; put it in quotes."),
        ("- query_id: a\n- query_id: a", "rows.yaml:2: the id 'a' is also in line 1."),
        ("- x", "rows.yaml:1: a row is a block of keys, not 'x'."),
        ("- a: [", "rows.yaml:2: not YAML: "),
        ("- a: 1\n  a: 2", "rows.yaml:2: the key 'a' occurs twice, first in line 1. Leave one out."),
        ("- a: !!python/object:os.system {}", "1: the tag 'tag:yaml.org,2002:python/object:os.system' is"),
        ("&a [*a]", "rows.yaml:1: not readable: too many values or levels (aliases?)."),
    ]
    for text, told in cases:
        with subtests.test(text=text, told=told):
            write(text, "rows.yaml")
            assert told in refusal(YamlConfig(path=Path("rows.yaml")), tmp_path)


@pytest.mark.slow
def test_aliases_cannot_blow_up(write: Write, tmp_path: Path) -> None:
    """A few lines of YAML whose aliases stand for a billion values are refused."""
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10) if n else 'x'}]" for n in range(10)]
    write("\n".join(levels), "rows.yaml")
    assert "too many values" in refusal(YamlConfig(path=Path("rows.yaml")), tmp_path)


def test_broken_json_is_refused(write: Write, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A JSON file without usable rows is refused with its line."""
    cases: list[tuple[str, str]] = [
        ("[]", "rows.json: the file has no rows."),
        ('[{"query_id": "a"},\nx]', "rows.json:2: not JSON: "),
        ('{"rows": []}', "rows.json:1: expected a list of rows"),
    ]
    for text, told in cases:
        with subtests.test(text=text):
            write(text, "rows.json")
            assert told in refusal(JsonConfig(path=Path("rows.json")), tmp_path)


# -- CSV


def test_cells_become_the_values_of_a_row(write: Write, tmp_path: Path) -> None:
    """Lists are JSON, or have semicolons, names also commas; blocks are JSON; empty cells count as absent."""
    out = io.StringIO()
    table = csv.writer(out)
    columns = "query_id query tags graders checks answer start_url metadata.category depends_on sites"
    table.writerow(columns.split())
    table.writerow(
        ["1", 'say "hi",\nplease', "a; b", '["answer"]', '[{"title": "x"}]', "[1, 2]", "", "buy", "", ""]
    )
    table.writerow(
        ["2", "q", "smoke,slow", "answer", "", "[sic]", "http://x", "", "1, or so;1", "shop, mail"]
    )
    write("\ufeff" + out.getvalue(), "rows.csv")
    first, second = tasks(CsvConfig(path=Path("rows.csv")), tmp_path)
    assert first.query == 'say "hi",\nplease'
    assert (first.tags, first.graders, first.checks) == (("a", "b"), ("answer",), ({"title": "x"},))
    assert (first.answer, first.start_url, first.metadata.category) == ([1, 2], None, "buy")
    assert (second.query_id, second.graders, second.answer) == ("2", ("answer",), "[sic]")
    assert (second.tags, second.sites) == (("smoke", "slow"), ("shop", "mail"))
    assert second.depends_on == ("1, or so", "1")


def test_lines_count_quoted_newlines(write: Write, tmp_path: Path) -> None:
    """A row has the line that it begins at, also after cells with newlines and blank lines."""
    dataset = csv_of('query_id,query,revision\r\na,"one\r\ntwo\r\n",1\r\n\r\n,,\r\nb,q,\r\n', write)
    assert [(ref.query_id, ref.line) for ref in dataset.index(tmp_path)] == [("a", 2), ("b", 7)]


def test_unknown_columns_need_no_map(write: Write, tmp_path: Path) -> None:
    """Columns that are not keys of a row go to the metadata, beside a cell with the metadata."""
    text = 'query_id,query,effort,metadata\na,q,hard,"{""website"": ""shop"", ""additional"": {""n"": 1}}"\n'
    (task,) = tasks(csv_of(text, write), tmp_path)
    assert task.metadata.website == "shop"
    assert task.metadata.additional == {"n": 1, "effort": "hard"}


def test_broken_csv_is_refused(write: Write, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A CSV file without usable rows is refused with its line."""
    cases: list[tuple[str, str]] = [
        ("", "rows.csv: the file has no rows."),
        ("id,query\na,q\n", "1: there is no column 'query_id' for query_id. Did you mean 'id'? Columns: id"),
        ("query_id,query,query\n", "rows.csv:1: two columns are named 'query'. Rename one."),
        ("query_id,query\na,b,c\n", "2: the row has 3 cells, the header 2. Quote cells that hold ','."),
        ("query_id;query\na;b\n", '`dataset: [{type: csv, path: ..., delimiter: ";"}]`.'),
        ("query_id,query,checks\na,b,c\n", "2: checks: 'c' is not JSON: Expecting value (column 1)."),
        ('query_id,query\na,"b\n', "rows.csv:2: not CSV: unexpected end of data."),
        ("query_id,query\n,b\n", "rows.csv:2: the row has no 'query_id'."),
        ("query_id,query\na,b\na,c\n", "rows.csv:3: the id 'a' is also in line 2."),
        ("query_id,query,start_url\na,,x\n", "rows.csv:2: query: missing. Write it."),
    ]
    for text, told in cases:
        with subtests.test(text=text, told=told):
            assert told in refusal(csv_of(text, write), tmp_path)


def test_columns_are_mapped(write: Write, tmp_path: Path) -> None:
    """Columns without a key of a row go to the metadata; a missing one is told with the nearest one."""
    text = "ID\tStarting URL\tCategory\tTask\n42\thttp://x\tREAD\tdo, it\n"
    columns = {"query_id": "ID", "query": "Task", "start_url": "Starting URL"}
    (task,) = tasks(csv_of(text, write, columns=columns, delimiter="\t"), tmp_path)
    assert (task.query_id, task.query, task.start_url) == ("42", "do, it", "http://x")
    assert task.metadata.additional == {"Category": "READ"}
    told = refusal(csv_of("ID,Taks\n1,q\n", write, columns={"query_id": "ID", "query": "Task"}), tmp_path)
    assert "there is no column 'Task' for query. Did you mean 'Taks'?" in told


# -- all of them


def test_selections_apply(write: Write, tmp_path: Path) -> None:
    """Tags, limit and named ids select rows of whole files too."""
    text = "query_id,query,tags\n" + "".join(f"r{n},q,{'x' if n % 2 else 'y;z'}\n" for n in range(6))
    dataset = csv_of(text, write, select={"tags": ["z"], "limit": 2})
    assert [ref.query_id for ref in dataset.index(tmp_path)] == ["r0", "r2"]
    assert [ref.query_id for ref in dataset.index(tmp_path, ids=["r2", "r4"])] == ["r2"]


def test_files_that_are_not_text_are_refused(write: Write, tmp_path: Path) -> None:
    """Another encoding, a folder and a missing file have one sentence each."""
    write(b"query_id,query\na,\xe9\n", "rows.csv")
    told = refusal(CsvConfig(path=Path("rows.csv")), tmp_path)
    assert told == "rows.csv:2: not UTF-8 (byte 0xe9). Save it as UTF-8."
    (tmp_path / "rows.json").mkdir()
    assert refusal(JsonConfig(path=Path("rows.json")), tmp_path).startswith("rows.json: is a folder")
    told = refusal(YamlConfig(path=Path("row.csv")), tmp_path)
    assert told == "row.csv: no such file. Did you mean 'rows.csv'?"


def test_a_changed_file_is_read_again(write: Write, tmp_path: Path) -> None:
    """Rows of a file are cached as long as the file does not change."""
    write('[{"query_id": "a", "query": "old"}]', "rows.json")
    dataset = JsonConfig(path=Path("rows.json"))
    (ref,) = dataset.index(tmp_path)
    write('[{"query_id": "a", "query": "newer"}]', "rows.json")
    assert dataset.read(ref).query == "newer"
    write("[]", "rows.json")
    with pytest.raises(DatasetError, match="'a' is no longer here"):
        dataset.read(ref)


def test_samples_by_groups_of_every_format(tmp_path: Path) -> None:
    """A group may stand in a column of any name; rows of each format are drawn alike."""
    rows = [{"id": f"r{n}", "task": "q", "hardness": "easy" if n < 8 else "hard"} for n in range(10)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    (tmp_path / "rows.yaml").write_text(json.dumps(rows))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = ["id,task,hardness", *(",".join(row.values()) for row in rows)]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    drawn = []
    for member in (JsonConfig, YamlConfig, CsvConfig, JsonLinesConfig):
        name = f"rows.{member.type_name()}"
        columns = {"query_id": "id", "query": "task", "level": "hardness"}
        options = {"path": name, "columns": columns, "select": {"sample": 5, "by": "level", "seed": 2}}
        drawn.append([ref.query_id for ref in member.model_validate(options).index(tmp_path)])
    assert drawn == [drawn[0]] * 4
    assert sum(name in ("r8", "r9") for name in drawn[0]) == 1
