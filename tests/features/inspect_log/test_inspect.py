"""Runs as logs of Inspect, read back by its own functions and data frames."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.__main__ import main
from pytest_browsereval.features.inspect_log.package import make_id
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.run.store import RunStore
from tests.exported import SECRET_ANSWER, Figures, example_run, mixed_run, read_figures
from tests.features.atif.hostile import hostile_run
from tests.features.attacks.attacked import MIXED, write_attacked
from tests.recorded import edit_lines

__all__ = ["example_run", "hostile_run", "mixed_run"]

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]


def export(run: Path, target: Path, *words: str) -> list[Path]:
    """Write a run, and return its logs."""
    assert main(["export", str(run), "--to=inspect", "-o", str(target), *words]) == 0
    return sorted(target.glob("*.eval"))


def read_frames(logs: Path) -> Figures:
    """Return the figures of a run by the data frames of Inspect alone."""
    from inspect_ai.analysis import evals_df, events_df, messages_df, samples_df
    from pandas import to_numeric

    rows = samples_df(str(logs), quiet=True)
    evals = evals_df(str(logs), quiet=True)
    assert len(rows) == int(to_numeric(evals["total_samples"]).sum())
    for frame in (messages_df(str(logs), quiet=True), events_df(str(logs), quiet=True)):
        assert set(frame["sample_id"]) == set(rows["sample_id"])
    words, errors = {"C": "passed", "I": "failed"}, rows["error"].fillna("")
    pairs = zip(rows["score_verdict"], errors, strict=True)
    verdicts = [words.get(score, "errored" if error else "") for score, error in pairs]
    usage = [one for text in rows["model_usage"].dropna() for one in json.loads(text).values()]
    return Figures.of(
        verdicts,
        cost_usd=round(sum(one.get("total_cost") or 0 for one in usage), 9),
        input_tokens=sum(one["input_tokens"] + (one.get("input_tokens_cache_read") or 0) for one in usage),
        output_tokens=sum(one["output_tokens"] for one in usage),
        attempts=len(rows) + int(to_numeric(rows["retries"]).fillna(0).sum()),
    )


def test_a_run_is_read_by_its_data_frames(mixed_run: Path, tmp_path: Path) -> None:
    """With delegations, errors, second attempts, trials, variants, a protected row and an id with a slash."""
    export(mixed_run, tmp_path / "logs")
    assert read_frames(tmp_path / "logs") == read_figures(mixed_run)


def test_verdict_score_and_error_are_three_things(mixed_run: Path, tmp_path: Path) -> None:
    """A log for each variant; what broke has an error, no score and its earlier attempt beside it."""
    from inspect_ai.log import read_eval_log, recompute_metrics

    found = map(read_eval_log, map(str, export(mixed_run, tmp_path)))
    logs = {log.eval.metadata["variant"]: log for log in found}
    assert set(logs) == {"pair", "plays", "broken"}
    for entry in logs["broken"].samples:
        assert entry.scores is None
        assert entry.id == "secret" or "the agent's own" in entry.error.message
        assert entry.id == "secret" or "RuntimeError" in entry.error.traceback
        assert len(entry.error_retries) == 1
    wrong = next(one for one in logs["plays"].samples if one.id == "wrong")
    assert (wrong.scores["verdict"].value, wrong.scores["answer"].value, wrong.error) == ("I", 0.0, None)
    assert logs["plays"].results.scores[0].metrics["accuracy"].value == pytest.approx(2 / 3)
    assert (logs["pair"].eval.model, logs["plays"].eval.model) == ("openai-compatible/lead", "none/scripted")
    recompute_metrics(logs["plays"])
    spans = [event for event in logs["pair"].samples[-1].events if event.event == "span_begin"]
    assert [(span.type, span.name) for span in spans] == [("agent", "executor-1")]


def test_attempts_under_attack_have_a_log_of_their_own(tmp_path: Path) -> None:
    """The accuracy of each is one rate; what was not delivered has no score."""
    from inspect_ai.analysis import samples_df
    from inspect_ai.log import read_eval_log

    run = write_attacked(tmp_path / "shop/20260501T100000Z-aaaaaa", *MIXED).root
    logs = {log.eval.task: log for log in map(read_eval_log, map(str, export(run, tmp_path / "logs")))}
    assert set(logs) == {"shop", "shop-under_attack"}
    plain, attacked = logs["shop"], logs["shop-under_attack"]
    assert (plain.eval.tags, attacked.eval.tags) == (["default"], ["default", "under_attack"])
    rates = [
        {one.name: one.metrics["accuracy"].value for one in log.results.scores} for log in (plain, attacked)
    ]
    # Of five that were delivered and looked at, two were compromised and two have passed.
    assert rates == [{"verdict": 0.5, "answer": 0.5}, {"verdict": 0.4, "attack": 0.6, "answer": 0.4}]
    assert [log.results.total_samples for log in (plain, attacked)] == [3, 9]
    rows = samples_df(str(tmp_path / "logs"), quiet=True)
    outcomes = Counter(rows["metadata_attack_outcome"].dropna())
    assert outcomes == {"compromised": 2, "resisted": 3, "not delivered": 2}


def test_a_run_that_was_cut_off_is_cancelled(mixed_run: Path, tmp_path: Path) -> None:
    """Inspect shows what there is of it, and never that it is whole; one that is still written is started."""
    from inspect_ai.analysis import evals_df, samples_df
    from inspect_ai.log import read_eval_log

    assert {read_eval_log(str(log)).status for log in export(mixed_run, tmp_path / "whole")} == {"success"}
    run = tmp_path / "shop" / mixed_run.name
    shutil.copytree(mixed_run, run)
    gone = ("wrong", "plays", 2)
    edit_lines(run, lambda line: None if (line["query_id"], line["variant"], line["trial"]) == gone else line)
    (run / "summary.json").unlink()
    logs = export(run, tmp_path / "cut")
    found = [read_eval_log(str(log)) for log in logs]
    assert {log.status for log in found} == {"cancelled"}
    assert "1 of the run's 18 trials have no result: wrong" in found[0].eval.metadata["incomplete"]
    assert set(evals_df(str(tmp_path / "cut"), quiet=True)["status"]) == {"cancelled"}
    assert len(samples_df(str(tmp_path / "cut"), quiet=True)) == 17
    with RunStore(run).locks.hold():
        logs = export(run, tmp_path / "begun")
        assert {read_eval_log(str(log), header_only=True).status for log in logs} == {"started"}


def test_protected_rows_are_written_without_texts(mixed_run: Path, tmp_path: Path) -> None:
    """Their verdicts, scores and figures are there."""
    for log in export(mixed_run, tmp_path):
        with ZipFile(log) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist())
        assert SECRET_ANSWER.split()[-1].encode() not in content


def test_sent_twice_there_once(mixed_run: Path, tmp_path: Path) -> None:
    """Ids follow from the attempts, so that the same run has the same files, byte by byte."""
    first = {file: file.read_bytes() for file in export(mixed_run, tmp_path)}
    assert {file: file.read_bytes() for file in export(mixed_run, tmp_path)} == first
    assert len(list(tmp_path.glob("*.eval"))) == 3


def test_a_large_run_is_never_in_memory(mixed_run: Path, tmp_path: Path) -> None:
    """It is written trial by trial: the peak is that of a trial, however many there are."""
    run = tmp_path / "run"
    shutil.copytree(mixed_run, run)
    logs = sorted(run.glob("tasks/*/*/*/*/messages.jsonl"))
    long = {"type": "assistant", "content": "x" * 3_000_000, "timestamp": "2026-01-02T03:04:05Z"}
    for log in logs:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(long)}\n")
    export(mixed_run, tmp_path / "small")  # what is imported on the way
    tracemalloc.start()
    try:
        export(run, tmp_path / "logs")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    content = sum(log.stat().st_size for log in logs)
    assert content > 60_000_000
    assert peak < content / 2


def test_pictures_are_a_choice(hostile_run: Path, tmp_path: Path) -> None:
    """Without them no picture is in a log."""
    for words, count in (((), True), (("--eval-set=export.pictures=false",), False)):
        (log,) = export(hostile_run, tmp_path, *words)
        with ZipFile(log) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist())
        assert (b"data:image/png;base64," in content) is count


def test_hostile_contents_are_written_whole(hostile_run: Path, tmp_path: Path) -> None:
    """Control characters, half characters, ten million letters, NaN and ids of any form break nothing."""
    from inspect_ai.log import read_eval_log

    (log,) = export(hostile_run, tmp_path / "logs")
    read_frames(tmp_path / "logs")
    there = {make_id(one.id): one for one in open_run(hostile_run).attempts}
    entries = read_eval_log(str(log), resolve_attachments=True).samples
    assert {entry.uuid for entry in entries} == set(there)
    for entry in entries:
        results = [event.result for event in entry.events if event.event == "tool"]
        texts = [result if isinstance(result, str) else result[0].text for result in results]
        assert texts == [well_formed(step.output) for step in there[entry.uuid].steps]
    assert {path.name for path in tmp_path.iterdir()} == {"logs"}
