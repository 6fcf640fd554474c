"""Finished runs as Parquet and CSV: the same rows, whatever pages and models have said."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pytest_browsereval import UsageError, open_run
from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.features.tables import parquet
from pytest_browsereval.features.tables.schema import COLUMNS, TableName
from pytest_browsereval.model.messages import (
    AssistantMessage,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
)
from tests.exported import SECRET_ANSWER, Figures, example_run, make_mixed_run, mixed_run, read_figures
from tests.hooks.small_evals import Evals
from tests.recorded import ERRORED, FAILED, PASSED, spoil_line
from tests.runs.test_run import add

__all__ = ["example_run", "mixed_run"]

KINDS = ("parquet", "csv")
ALL = "attempts,grades,steps,messages"

Rows = list[dict[str, Any]]


def _read_parquet(path: Path) -> Rows:
    return cast("Rows", pq.read_table(path).to_pylist())


def _read_csv(path: Path) -> Rows:
    """Return the rows of a file as a spreadsheet's importer has them: empty is unknown."""
    kinds = COLUMNS[TABLES[path.parent.name]]
    read: dict[str, Callable[[str], Any]] = {
        **dict.fromkeys(("int32", "int64"), int),
        "float": float,
        "texts": json.loads,
        "bool": {"true": True, "false": False}.__getitem__,
        "time": datetime.fromisoformat,
    }
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {name: read.get(kinds[name], _bare)(cell) if cell else None for name, cell in line.items()}
            for line in csv.DictReader(file)
        ]


def _bare(cell: str) -> str:
    return cell.removeprefix("'")


TABLES: dict[str, TableName] = {name: name for name in COLUMNS}
READERS: dict[str, Callable[[Path], Rows]] = {"parquet": _read_parquet, "csv": _read_csv}


def exported(evals: Evals, run: Path, kind: str, tables: str = ALL, *, ret: int = 0) -> dict[str, Rows]:
    """Export a run, and return the rows of its tables."""
    done = evals.run_command("export", str(run), "--to", kind, "--eval-set", f"export.tables=[{tables}]")
    assert done.ret == ret, done.stderr.str()
    name = f"{safe_folder(open_run(run).eval)}-{run.name}.{kind}"
    paths = {table: evals.path / "tables" / table / name for table in tables.split(",")}
    return {table: READERS[kind](path) for table, path in paths.items()}


def figures_of(attempts: Rows) -> Figures:
    """Return what a table of attempts says."""
    costs = [one["cost_usd"] for one in attempts]
    return Figures.of(
        [one["verdict"] for one in attempts if one["counts"]],
        cost_usd=None if None in costs else round(math.fsum(costs), 9),
        input_tokens=sum(one["input_tokens"] or 0 for one in attempts),
        output_tokens=sum(one["output_tokens"] or 0 for one in attempts),
        attempts=len(attempts),
    )


def test_tables_say_what_the_summary_says(evals: Evals, mixed_run: Path) -> None:
    """Counts, pass rate, cost and tokens, read back from the files."""
    tables = exported(evals, mixed_run, "parquet")
    assert figures_of(tables["attempts"]) == read_figures(mixed_run)
    assert {name: list(rows[0]) for name, rows in tables.items()} == {
        name: list(columns) for name, columns in COLUMNS.items()
    }
    keys = [tuple(one.values())[:6] for one in tables["attempts"]]
    assert len(set(keys)) == len(keys) == 24
    assert {one["run_id"] for one in tables["steps"]} == {mixed_run.name}
    assert {one["model"] for one in tables["attempts"] if one["variant"] == "pair"} == {"lead"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_the_examples_say_what_their_summaries_say(
    evals: Evals, example_run: Path, kind: str
) -> None:
    """Runs of a real browser, with pictures and pages of other makers."""
    tables = exported(evals, example_run, kind)
    assert figures_of(tables["attempts"]) == read_figures(example_run)
    steps = sum(one["steps"] for one in tables["attempts"])
    assert len([one for one in tables["steps"] if one["tool"] != "done"]) == steps


def test_all_kinds_have_the_same_rows(evals: Evals, mixed_run: Path) -> None:
    """Times to the millisecond, lists, nothing and nought."""
    parquet, text = (exported(evals, mixed_run, kind) for kind in KINDS)
    emptied = {
        name: [{key: None if value == "" else value for key, value in one.items()} for one in rows]
        for name, rows in parquet.items()
    }
    assert text == emptied


def test_the_schema_is_written_out(evals: Evals, mixed_run: Path) -> None:
    """Words are dictionaries, times have a zone, nulls have their type; the version is in the file."""
    exported(evals, mixed_run, "parquet")
    file = pq.ParquetFile(evals.path / f"tables/attempts/shop-{mixed_run.name}.parquet")
    assert file.schema_arrow.metadata[b"browsereval.version"] == b"1"
    assert file.schema_arrow.metadata[b"browsereval.table"] == b"attempts"
    kinds = {field.name: field.type for field in file.schema_arrow}
    assert kinds["verdict"] == pa.dictionary(pa.int32(), pa.string())
    assert kinds["started_at"] == pa.timestamp("ms", tz="UTC")
    assert kinds["git_commit"] == kinds["verdict"]
    assert file.metadata.row_group(0).column(7).compression == "ZSTD"


def test_unknown_is_never_nought(evals: Evals, tmp_path: Path) -> None:
    """Tokens, a time, a score that nobody knows; nor is a number that no column can hold."""
    run = tmp_path / "run"
    add(run, "counted", usage={"input_tokens": 0, "output_tokens": 3, "requests": 1}, cost_usd=None)
    add(run, "uncounted", usage={"requests": 2}, cost_usd=None)
    add(run, "paid", usage={"requests": 2, "cost_usd": 0.5}, cost_usd=0.5)
    add(run, "free", cost_usd=0.0)
    unknown = {"started_at": "", "completed_at": "", "total_duration_ms": None, "cost_usd": None}
    add(run, "unknown", ERRORED, **unknown, total_steps=10**30)
    tables = exported(evals, run, "parquet", "attempts,grades")
    rows = {one["query_id"]: one for one in tables["attempts"]}
    counted, foreign = rows["counted"], rows["unknown"]
    told = {name: (one["input_tokens"], one["output_tokens"], one["requests"]) for name, one in rows.items()}
    assert told["uncounted"] == told["paid"] == (None, None, 2)
    assert told["free"] == (0, 0, 0)
    assert (counted["input_tokens"], counted["output_tokens"], counted["cost_usd"]) == (0, 3, None)
    names = ("started_at", "total_duration_ms", "input_tokens", "requests", "cost_usd", "model", "git_commit")
    assert [foreign[name] for name in (*names, "steps")] == [None] * 8
    scores = {one["query_id"]: one["score"] for one in tables["grades"]}
    assert scores == {**dict.fromkeys(("counted", "uncounted", "paid", "free"), 1.0), "unknown": None}


@pytest.mark.parametrize("kind", KINDS)
def test_protected_rows_keep_what_was_said(evals: Evals, mixed_run: Path, kind: str) -> None:
    """Verdicts, steps and money are there; answers, reasons and messages are not."""
    tables = exported(evals, mixed_run, kind)
    protected = [one for one in tables["attempts"] if one["query_id"] == "secret"]
    assert {one["verdict"] for one in protected} == {"passed", "errored"}
    assert {one["final_answer"] for one in protected} == {None}
    files = "".join(path.read_bytes().decode("latin-1") for path in evals.path.glob("tables/*/*"))
    assert SECRET_ANSWER not in files
    assert "Say the secret" not in files
    said = [one for one in tables["messages"] if one["query_id"] != "secret"]
    assert None not in [one["content"] for one in said if kind != "csv" or one["type"] != "assistant"]


def test_messages_are_written_on_request_only(evals: Evals, mixed_run: Path) -> None:
    """They are by far the largest table."""
    assert evals.run_command("export", str(mixed_run), "--to", "csv", "-o", "out").ret == 0
    names = sorted(path.name for path in (evals.path / "out").iterdir())
    assert names == ["attempts", "grades", "steps"]


def test_many_runs_are_one_folder_of_files(evals: Evals, mixed_run: Path, tmp_path: Path) -> None:
    """A run that is written again takes the place of what was there."""
    add(tmp_path / "other", "a")
    for run in (mixed_run, tmp_path / "other", mixed_run):
        assert evals.run_command("export", str(run), "--to", "parquet").ret == 0
    names = sorted(path.name for path in (evals.path / "tables/attempts").iterdir())
    others = f"{safe_folder(open_run(tmp_path / 'other').eval)}-other.parquet"
    assert names == sorted([f"shop-{mixed_run.name}.parquet", others])
    assert pq.read_table(evals.path / "tables/attempts").num_rows == 25


HOSTILE = "=1+1\x1b[31m\0\u202e\r\n,\"'\U0001f600"


def hostile_run(run: Path) -> Path:
    """Leave what pages, models and programs could write, and return the run."""
    for query_id in ("a/b::c[1]", "=cmd|' /C calc'!A0", "-1"):
        said = {"final_answer": HOSTILE, "reason": "@SUM(A1)", "tags": ["=x", "a,b"]}
        add(run, query_id, FAILED, protected=False, **said)
    folder = add(run, "large", final_answer="x" * 10_000_000, protected=False)
    log = MessageLogger(folder)
    log.log(UserMessage(content=HOSTILE + "y" * 10_000_000))
    log.log(AssistantMessage(content="-", duration_ms=math.nan))
    log.log(ToolCallMessage(tool=HOSTILE, tool_call_id="1", params={"target": HOSTILE}))
    log.log(ToolResultMessage(tool_call_id="1", result={"output": [math.inf]}, is_error=True))
    log.log(ToolCallMessage(tool="cut", tool_call_id="2", params={"target": 3}))
    log.close()
    with (folder / "messages.jsonl").open("ab") as file:
        file.write(b'{"type": "user", "timestamp": "", "content": "\xff\xfe"}\n')
    (run / "manifest.json").write_text(r'{"name": "sh\ud800op", "git_commit": 7, "config_hash": "\udfff"}')
    return run


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_content_breaks_neither_file_nor_reader(evals: Evals, tmp_path: Path, kind: str) -> None:
    """Control characters, formulas, lone surrogates, NaN, 10 MB of text, ids with slashes."""
    tables = exported(evals, hostile_run(tmp_path / "run"), kind, ret=1)
    found = {one["query_id"]: one for one in tables["attempts"]}
    assert found.keys() == {"a/b::c[1]", "=cmd|' /C calc'!A0", "-1", "large"}
    assert {one["git_commit"] for one in found.values()} == {None}
    assert {one["eval"] for one in found.values()} == {"sh?op"}
    shown = HOSTILE.replace("\0", "�") if kind == "csv" else HOSTILE
    assert {one["final_answer"] for name, one in found.items() if name != "large"} == {shown}
    assert found["-1"]["tags"] == ["=x", "a,b"]
    call, cut = tables["steps"]
    assert (call["target"], call["is_error"], cut["target"], cut["is_error"]) == (shown, True, None, None)
    said = tables["messages"]
    assert [one["type"] for one in said] == ["user", "assistant", "tool_call", "tool_result", "tool_call"]
    assert said[1]["duration_ms"] is None
    longest = {"parquet": 10_000_000, "csv": 32_000}[kind]
    assert longest - 1 <= len(found["large"]["final_answer"]) <= longest


def test_no_cell_of_csv_is_a_formula(evals: Evals, tmp_path: Path) -> None:
    """What a page or a model has said must not run on the machine of whoever opens it."""
    run = hostile_run(tmp_path / "run")
    add(run, "\uff1d1", final_answer="'quoted'", protected=False)
    exported(evals, run, "csv", ret=1)
    for path in evals.path.glob("tables/*/*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            cells = [cell for line in csv.reader(file) for cell in line]
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\uff1d")]


def test_a_table_in_memory(mixed_run: Path, tmp_path: Path) -> None:
    """`run.table` returns what the file has; one without rows has its columns."""
    table = open_run(mixed_run).table("attempts")
    assert table.num_rows == 24
    assert table.schema.field("cost_usd").type == pa.float64()
    assert figures_of(table.to_pylist()) == read_figures(mixed_run)
    (tmp_path / "run/tasks").mkdir(parents=True)
    empty = open_run(tmp_path / "run").table("messages")
    assert (empty.num_rows, empty.schema.names) == (0, list(COLUMNS["messages"]))
    with pytest.raises(UsageError, match="makes a table 'clicks'"):
        open_run(mixed_run).table("clicks")


def test_without_pyarrow_the_extra_is_named(
    evals: Evals, mixed_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command and by `table`; CSV needs nothing."""
    told = "needs an extra"
    monkeypatch.setattr(parquet, "find_spec", lambda _: None)
    done = evals.run_command("export", str(mixed_run), "--to", "parquet")
    assert done.ret == 4
    assert told in done.stderr.str()
    assert "pip install 'pytest-browsereval[data]'" in done.stderr.str()
    with pytest.raises(UsageError, match=told):
        open_run(mixed_run).table("attempts")
    assert evals.run_command("export", str(mixed_run), "--to", "csv").ret == 0


def test_a_session_writes_its_tables(evals: Evals) -> None:
    """The config names them; the files are those of the command."""
    sheets = {"type": "csv", "tables": ["attempts"], "output": "sheets"}
    run = make_mixed_run(evals, export=["parquet", sheets])
    assert pq.read_table(evals.path / "tables/steps").num_rows > 0
    sheet = _read_csv(evals.path / f"sheets/attempts/shop-{run.name}.csv")
    assert figures_of(sheet) == read_figures(run)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_written_whole_or_not_at_all(evals: Evals, tmp_path: Path, kind: str) -> None:
    """A damaged record ends the export: what was there stays, and nothing half is left."""
    run = tmp_path / "run"
    add(run, "b")
    add(run, "a")
    exported(evals, run, kind)
    before = {path: path.read_bytes() for path in evals.path.rglob(f"*.{kind}")}
    spoil_line(run, "b")
    done = evals.run_command("export", str(run), "--to", kind)
    assert done.ret == 4
    assert "is damaged: verdict" in done.stderr.str()
    assert {path: path.read_bytes() for path in evals.path.rglob("tables/*/*")} == before


def test_times_of_any_zone_are_in_utc(evals: Evals, tmp_path: Path) -> None:
    """Logs of other systems have theirs."""
    times = {"started_at": "2026-05-01T10:00:00+02:00", "completed_at": "2026-05-01T08:00:01"}
    add(tmp_path / "run", "a", PASSED, **times)
    for kind in KINDS:
        (one,) = exported(evals, tmp_path / "run", kind, "attempts")["attempts"]
        assert one["started_at"] == datetime(2026, 5, 1, 8, tzinfo=UTC)
        assert one["completed_at"] == datetime(2026, 5, 1, 8, 0, 1, tzinfo=UTC)
        shutil.rmtree(evals.path / "tables")
