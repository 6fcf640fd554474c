from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.datasets.jsonl import JsonLinesConfig
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.model.tasks import Task

Make = Callable[..., JsonLinesConfig]


def row(query_id: str, **more: Any) -> dict[str, Any]:
    return {"query_id": query_id, "query": f"do {query_id}", **more}


def ids(dataset: JsonLinesConfig, folder: Path, **more: Any) -> list[str]:
    return [ref.query_id for ref in dataset.index(folder, **more)]


def refusal(dataset: JsonLinesConfig, folder: Path) -> str:
    with pytest.raises(DatasetError) as caught:
        dataset.index(folder)
    return str(caught.value)


def test_rows_are_found_by_offset(jsonl: Make, tmp_path: Path) -> None:
    """Each row is read again at its offset, with CRLF, blank lines, umlauts and no last newline."""
    dataset = jsonl()
    lines = [json.dumps(row(i), ensure_ascii=False) for i in ("a", "ä", "🙂 x")]
    (tmp_path / "rows.jsonl").write_bytes(f"{lines[0]}\r\n\n  \n{lines[1]}\n{lines[2]}".encode())
    refs = dataset.index(tmp_path)
    assert [(ref.query_id, ref.line) for ref in refs] == [("a", 1), ("ä", 4), ("🙂 x", 5)]
    assert [dataset.read(ref).query for ref in refs] == ["do a", "do ä", "do 🙂 x"]


def test_a_byte_order_mark_is_accepted(jsonl: Make, tmp_path: Path) -> None:
    """A file with a byte order mark is read, with its first row, also by search."""
    dataset = jsonl()
    (tmp_path / "rows.jsonl").write_text(
        json.dumps(row("a")) + "\n" + json.dumps(row("b")), encoding="utf-8-sig"
    )
    first, second = dataset.index(tmp_path)
    assert dataset.read(first).query_id == "a"
    assert dataset.read(second).query_id == "b"
    (found,) = dataset.index(tmp_path, ids=["a"])
    assert (found.offset, dataset.read(found).query) == (3, "do a")


def test_the_id_is_the_one_of_the_top_level(jsonl: Make, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Nested, quoted and escaped mentions of the key mislead neither scan nor search."""
    cases: list[str] = [
        '{"query_id":"x","query":"q"}',
        '{ "query" : "q" , "query_id" : "x" }',
        '{"metadata":{"additional":{"query_id":"no"}},"query_id":"x","query":"q"}',
        '{"query_id":"x","query":"q","metadata":{"additional":{"query_id":"no"}}}',
        '{"metadata":{"additional":{"query_id":"no"}},"query":"q","query_id":"x"}',
        '{"query":"say \\"query_id\\": \\"no\\"","query_id":"x"}',
        '{"query":"\\"query_id\\":\\"no\\"","query_id":"x"}',
        '{"query":"a \\\\","query_id":"x"}',
        '{"answer":[{"query_id":"no"}],"query_id":"x","query":"q"}',
        '{"\\u0071uery_id":"x","query":"q"}',
        '{"query_id":"\\u0078","query":"q"}',
        '{"revision":-1.5e3,"answer":null,"setup_script":"1","query_id":"x","query":"}"}',
        '   {"query_id":"x","query":"q"}   ',
    ]
    for line in cases:
        with subtests.test(line=line):
            dataset = jsonl(line, row("other"))
            assert ids(dataset, tmp_path) == ["x", "other"]
            assert ids(dataset, tmp_path, ids=["x"]) == ["x"]
            assert ids(dataset, tmp_path, ids=["no"]) == []


def test_scan_and_parse_agree_on_random_rows(jsonl: Make, tmp_path: Path) -> None:
    """For 2,000 rows of random keys, values and spellings the scan finds what a parser finds."""
    draw = random.Random(7)  # noqa: S311 repeatable, not secret
    texts = ['"', "\\", "}", "{", '"query_id":"no"', "query_id", "é", "\u2028", "a,b", ":", "\t"]

    def value(depth: int = 0) -> Any:
        kind = draw.randrange(7 if depth < 3 else 4)
        if kind < 2:
            return "".join(draw.choices(texts, k=draw.randrange(4)))
        if kind < 4:
            return draw.choice([None, True, -1, 2.5e-7, 10**20])
        if kind == 4:
            return [value(depth + 1) for _ in range(draw.randrange(3))]
        return {draw.choice([*texts, "k"]): value(depth + 1) for _ in range(draw.randrange(3))}

    lines, expected = [], []
    for place in range(2_000):
        given: list[tuple[str, Any]] = [(f"k{n}", value()) for n in range(draw.randrange(4))]
        expected.append(f"{place}{''.join(draw.choices(texts, k=draw.randrange(3)))}")
        given.insert(draw.randrange(len(given) + 1), ("query_id", expected[-1]))
        separators = draw.choice([(",", ":"), (", ", ": "), (" , ", " : ")])
        lines.append(json.dumps(dict(given), ensure_ascii=draw.random() < 0.5, separators=separators))
    dataset = jsonl(*lines)
    assert ids(dataset, tmp_path) == expected
    wanted = draw.sample(expected, 40)
    assert ids(dataset, tmp_path, ids=wanted) == [i for i in expected if i in set(wanted)]


def test_all_problems_of_ids_are_reported_at_once(jsonl: Make, tmp_path: Path) -> None:
    """Rows that cannot become items are refused while collecting, each with its line."""
    dataset = jsonl(
        row("a"), {"query": "q"}, {"query_idd": "x"}, row("a"), '{"query_id": 7}', "[1]", "{", "x"
    )
    assert refusal(dataset, tmp_path).splitlines() == [
        "rows.jsonl:2: the row has no 'query_id'. Give every row an id.",
        "rows.jsonl:3: the row has no 'query_id'. Did you mean 'query_idd'? Give every row an id.",
        "rows.jsonl:4: the id 'a' is also in line 1. Ids must differ; rename one.",
        "rows.jsonl:5: query_id: expected a string, not 7; put it in quotes.",
        "rows.jsonl:6: a row is a block of keys, not [1].",
        "and 2 more",
    ]


def test_a_broken_line_is_refused(jsonl: Make, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A line that is not a row is refused with the reason."""
    cases: list[tuple[str, str]] = [
        ('{"query_id": "a", "query": "q"', "rows.jsonl:1: not JSON: Expecting ',' delimiter (column 31)."),
        ('{"query_id": ""}', "rows.jsonl:1: query_id is empty. Give every row an id."),
        ('{"query_id": "\\ud800"}', ":1: '\\ud800' is half a character, which no file can hold."),
        ('{"query_id": NaN}', "rows.jsonl:1: not JSON: NaN is not a number in JSON."),
        ('{"query_id":"a","query_id":"b"}', "not JSON: the key 'query_id' occurs twice; leave one out."),
        ("[" * 100_000, "rows.jsonl:1: not readable: nested too deeply."),
    ]
    for line, told in cases:
        with subtests.test(told=told):
            assert told in refusal(jsonl(line), tmp_path)


def test_bytes_that_are_not_utf8_are_refused(jsonl: Make, tmp_path: Path) -> None:
    """A line in another encoding is refused with its number, in an id and elsewhere."""
    dataset = jsonl()
    (tmp_path / "rows.jsonl").write_bytes(b'{"query_id":"a","query":"x"}\n{"query_id":"\xe9"}\n')
    assert refusal(dataset, tmp_path) == "rows.jsonl:2: not UTF-8 (byte 0xe9). Save the file as UTF-8."
    (tmp_path / "rows.jsonl").write_bytes(b'{"query_id":"a","query":"\xe9"}\n')
    (ref,) = dataset.index(tmp_path)
    with pytest.raises(DatasetError, match=r"rows.jsonl:1: not UTF-8 \(byte 0xe9\)"):
        dataset.read(ref)


def test_an_empty_file_is_refused(jsonl: Make, tmp_path: Path) -> None:
    """A file without rows is an error: a run without tasks is never green."""
    dataset = jsonl()
    for content in ("", "\n\n", "\ufeff", " \r\n"):
        (tmp_path / "rows.jsonl").write_text(content, encoding="utf-8")
        assert refusal(dataset, tmp_path).startswith("rows.jsonl: the file has no rows.")


def test_a_missing_file_names_the_nearest(jsonl: Make, tmp_path: Path) -> None:
    """A missing file is reported with a file of a similar name, a folder as such."""
    jsonl(row("a"))
    near = JsonLinesConfig(path=Path("row.jsonl"))
    assert refusal(near, tmp_path) == "row.jsonl: no such file. Did you mean 'rows.jsonl'?"
    assert "nowhere' does not exist either" in refusal(
        JsonLinesConfig(path=Path("nowhere/a.jsonl")), tmp_path
    )
    (tmp_path / "folder").mkdir()
    assert refusal(JsonLinesConfig(path=Path("folder")), tmp_path).startswith(
        "folder: is a folder, not a file."
    )


def test_named_ids_are_found_without_reading_the_others(jsonl: Make, tmp_path: Path) -> None:
    """For few ids, other rows may even be broken."""
    dataset = jsonl(row("a"), "broken", row("b"), row("a-b"))
    assert ids(dataset, tmp_path, ids=["b"]) == ["b"]
    (ref,) = dataset.index(tmp_path, ids={"b"})
    assert (ref.line, dataset.read(ref).query_id) == (3, "b")
    with pytest.raises(DatasetError, match=r"rows.jsonl:2"):
        dataset.index(tmp_path)


def test_named_ids_are_of_the_selection(jsonl: Make, tmp_path: Path) -> None:
    """An id outside of it is not found by its name; one that occurs twice is refused."""
    assert ids(jsonl(row("a"), row("b"), row("c"), select={"limit": 2}), tmp_path, ids=["b", "c"]) == ["b"]
    with pytest.raises(DatasetError, match="'a' is also in line 1"):
        jsonl(row("a"), row("b"), row("a")).index(tmp_path, ids=["a"])


def test_tags_select(jsonl: Make, tmp_path: Path) -> None:
    """A selection by tags has the rows with at least one of them."""
    tags = {"a": ["x"], "b": [], "c": ["y", "x"], "d": None, "e": ["z"]}
    rows = [row(name, tags=given) for name, given in tags.items()]
    assert ids(jsonl(*rows, select={"tags": ["x", "z"]}), tmp_path) == ["a", "c", "e"]


def test_all_problems_of_a_row_are_reported(jsonl: Make, tmp_path: Path) -> None:
    """A wrong row is refused with file, line, key, value and what is allowed."""
    dataset = jsonl(row("ok"), row("a", qurey=1, tags="x", start_url=3, metadata={"webste": "x"}))
    with pytest.raises(DatasetError) as caught:
        dataset.read(dataset.index(tmp_path)[1])
    assert sorted(str(caught.value).splitlines()) == [
        "rows.jsonl:2: metadata.webste: unknown key. Did you mean 'website'?",
        "rows.jsonl:2: qurey: unknown key. Did you mean 'query'?",
        "rows.jsonl:2: start_url: expected a string, not 3.",
        "rows.jsonl:2: tags: expected a list, not 'x'.",
    ]


def test_a_row_that_is_broken_after_its_id_is_refused(jsonl: Make, tmp_path: Path) -> None:
    """Wrong JSON after the id is reported when the row is read."""
    dataset = jsonl('{"query_id": "a", "query": }')
    (ref,) = dataset.index(tmp_path)
    with pytest.raises(DatasetError, match=r"^rows.jsonl:1: not JSON: Expecting value \(column 28\)\.$"):
        dataset.read(ref)


def test_a_file_that_changes_during_the_run_is_noticed(jsonl: Make, tmp_path: Path) -> None:
    """A row is never mistaken for another one in its place."""
    dataset = jsonl(row("aa"), row("bb"))
    ref = dataset.index(tmp_path)[0]
    jsonl(row("cc"), row("bb"))
    with pytest.raises(DatasetError, match="'aa' is no longer here: the file was changed"):
        dataset.read(ref)
    (tmp_path / "rows.jsonl").unlink()
    with pytest.raises(DatasetError, match="no such file"):
        dataset.read(ref)


def test_rows_of_browseros_load_unchanged(jsonl: Make, tmp_path: Path) -> None:
    """With their metadata and without a start page; the answer is where graders look for it."""
    metadata = {
        "original_task_id": "45",
        "website": "Wolfram Alpha",
        "category": "maths",
        "additional": {"ground_truth": "2x", "answer_type": "golden", "app_base_port": 8000},
    }
    theirs = row("Wolfram Alpha--45", dataset="webvoyager", setup_script=None, metadata=metadata)
    theirs["graders"] = ["webvoyager_grader", "fara_combined"]
    dataset = jsonl(theirs, {**theirs, "query_id": "b", "answer": "3x"})
    first, second = map(dataset.read, dataset.index(tmp_path))
    assert (first.answer, second.answer) == ("2x", "3x")
    assert first.metadata.model_dump(exclude={"source"}) == metadata
    assert first.graders == ("webvoyager_grader", "fara_combined")


def test_columns_are_renamed(jsonl: Make, tmp_path: Path) -> None:
    """A map of columns reads a benchmark's own file; other columns stay as they are."""
    theirs = {"web_name": "Apple", "id": "Apple--7", "ques": "price?", "web": "https://x", "effort": 2}
    columns = {"query_id": "id", "query": "ques", "start_url": "web", "metadata.website": "web_name"}
    columns["metadata.category"] = "web_name"
    dataset = jsonl(theirs, columns=columns)
    task = dataset.read(dataset.index(tmp_path)[0])
    assert (task.query_id, task.query, task.start_url) == ("Apple--7", "price?", "https://x")
    assert (task.metadata.website, task.metadata.category) == ("Apple", "Apple")
    assert task.metadata.additional == {"effort": 2}
    with pytest.raises(ValueError, match=r"'qury' is not a key of a row. Did you mean 'query'\?"):
        JsonLinesConfig(path=Path("x"), columns={"qury": "Task"})


def test_any_row_is_a_task_or_refused(jsonl: Make, tmp_path: Path) -> None:
    """500 rows with random values raise only DatasetError, with file and line."""
    draw = random.Random(17)  # noqa: S311 repeatable, not secret
    values: list[Any] = [
        *(None, True, -1, 1.5, "", "x", [], {}, [None], ["x"], [[1]], {"": ""}, [{"tool": "done"}], "\ud800"),
        *({"website": 3}, {"additional": {"a": [1]}}, {"additional": 3}, 10**400, [3], [{}], "\0"),
    ]
    keys = [*Task.model_fields, "x", "Query"]
    changes = [{draw.choice(keys): draw.choice(values) for _ in range(draw.randrange(3))} for _ in range(500)]
    lines = [json.dumps({**row(""), **change, "query_id": f"r{n}"}) for n, change in enumerate(changes)]
    dataset = jsonl(*lines)
    told = ""
    tasks: list[Task] = []
    for ref in dataset.index(tmp_path):
        try:
            tasks.append(dataset.read(ref))
        except DatasetError as error:
            told += f"{error}\n"
    assert 200 < len(tasks) < 400
    assert all(task.model_dump_json() for task in tasks)
    assert all(task.content_hash() for task in tasks)
    assert [line for line in told.splitlines() if not re.match(r"rows\.jsonl:\d+: ", line)] == []


def test_related_rows_are_found_in_the_bytes(jsonl: Any, subtests: pytest.Subtests) -> None:
    """A file without the keys is not read in full while collecting; the name of the column counts."""
    cases: list[tuple[dict[str, Any], bool]] = [
        ({}, False),
        ({"query": "Which sites are open? Which depends_on others?"}, False),
        ({"sites": ["bank"]}, True),
        ({"depends_on": ["b"]}, True),
        ({"requires_reset": True}, True),
        ({"tags": ["depends_on_nothing"]}, False),
    ]
    for fields, relates in cases:
        with subtests.test(fields=fields):
            assert jsonl(row("a"), {**row("b"), **fields}).relates(Path()) is relates
    dataset = jsonl({"query_id": "a", "query": "q", "after": ["b"]}, columns={"depends_on": "after"})
    assert dataset.relates(Path())
    assert not dataset.relates(Path("nowhere"))  # which is reported later
