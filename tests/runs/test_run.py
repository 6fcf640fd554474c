"""The public reader of finished runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_browsereval import (
    AssistantMessage,
    ErrorMessage,
    StoredDelegation,
    StoredRun,
    StoredTurn,
    UsageError,
    UserMessage,
    Verdict,
    open_run,
)
from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.model.messages import DelegationMessage, Message, ToolCallMessage, ToolResultMessage
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.turns import TurnReader, find_model
from tests.exported import HAND, LEAD, SECRET_ANSWER, Figures, mixed_run, read_figures
from tests.recorded import ERRORED, FAILED, PASSED, attempt

__all__ = ["mixed_run"]


def add(run: Path, query_id: str, verdict: Verdict = PASSED, **more: object) -> Path:
    """Write an attempt, and return its folder."""
    store = RunStore(run)
    folder = store.begin_attempt(TrialKey(query_id), "n")
    metadata = attempt(query_id, verdict, attempt=folder.number, **more)
    store.save_record(metadata)
    folder.finish()
    return folder.path


def figures_of(run: StoredRun) -> Figures:
    """Return what the reader says."""
    counted = [one for one in run.attempts if one.counts]
    verdicts = [one.verdict for one in counted]
    costs = [one.cost_usd for one in run.attempts]
    judged = [one for one in verdicts if one is not ERRORED]
    return Figures(
        trials=len(counted),
        passed=verdicts.count(PASSED),
        failed=verdicts.count(FAILED),
        errored=verdicts.count(ERRORED),
        pass_rate=judged.count(PASSED) / len(judged) if judged else None,
        cost_usd=None if None in costs else round(sum(filter(None, costs)), 9),
        input_tokens=sum(one.usage.input_tokens for one in run.attempts),
        output_tokens=sum(one.usage.output_tokens for one in run.attempts),
        attempts=len(run.attempts),
    )


def test_a_run_is_read_as_its_summary_says(mixed_run: Path) -> None:
    """Counts, pass rate and cost by the last attempts; tokens and money of all of them."""
    run = open_run(mixed_run)
    figures = figures_of(run)
    assert figures == read_figures(mixed_run)
    assert (figures.trials, figures.errored, figures.attempts) == (18, 6, 24)
    assert run.eval == "shop"
    assert run.id == mixed_run.name
    assert run.summary.as_json()["pass_rate"] == figures.pass_rate
    assert "secret" not in str(run)


def test_a_run_is_found_by_its_id(mixed_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is the latest one; an unknown one is refused."""
    monkeypatch.chdir(mixed_run.parent.parent.parent)
    assert open_run("latest").folder.resolve() == mixed_run.resolve()
    assert open_run(mixed_run.name).id == mixed_run.name
    Path("shop.yaml").write_text("name: shop\nagent: noop\ndataset: rows.jsonl\n")
    assert open_run("latest", "shop.yaml").id == open_run("latest", Path("shop.yaml")).id == mixed_run.name
    with pytest.raises(UsageError, match="there is no run 'nowhere'"):
        open_run("nowhere")


def test_earlier_attempts_are_kept_and_do_not_count(mixed_run: Path) -> None:
    """Each errored trial has two: ids tell them apart, and their trial has one."""
    run = open_run(mixed_run)
    broken = [one for one in run.attempts if one.variant == "broken" and one.query_id == "shop/mug"]
    assert [(one.trial, one.number, one.counts) for one in broken] == [
        (1, 1, False),
        (1, 2, True),
        (2, 1, False),
        (2, 2, True),
    ]
    assert broken[0].id == f"shop/{run.id}/shop+2fmug/broken/1/1"
    assert broken[0].trial_id == broken[1].trial_id
    assert len({one.id for one in run.attempts}) == len(run.attempts)
    assert {one.error_source for one in broken} == {"agent"}
    assert all(one.grades == {} for one in broken)


def test_a_run_of_which_little_is_there(tmp_path: Path) -> None:
    """An attempt that errored early has no ``task.json``; without a manifest a run is named by its folder."""
    add(tmp_path / "shop/run", "a", ERRORED)
    run = open_run(tmp_path / "shop/run")
    assert (run.eval, dict(run.manifest)) == ("shop", {})
    with pytest.raises(UsageError, match="makes a table 'clicks'"):
        run.table("clicks")
    (one,) = run.attempts
    assert one.task is None
    assert one.is_protected
    assert one.metadata.query == "Do a."
    assert (one.messages, one.turns) == ((), ())


def test_protected_rows_are_told(mixed_run: Path) -> None:
    """Also those of attempts that errored before there was anything to grade."""
    run = open_run(mixed_run)
    assert {(one.query_id, one.is_protected) for one in run.attempts} == {
        ("shop/mug", False),
        ("wrong", False),
        ("secret", True),
    }
    said = next(one for one in run.attempts if one.query_id == "secret" and one.variant == "plays")
    assert said.task is not None
    assert said.task.answer is None
    assert said.metadata.final_answer == SECRET_ANSWER


def test_turns_have_calls_results_and_delegations(mixed_run: Path) -> None:
    """A model's reply leads to a delegation, in which another model's reply leads to two calls."""
    run = open_run(mixed_run)
    one = next(one for one in run.attempts if one.variant == "pair" and one.query_id == "wrong")
    given, first, last = one.turns
    assert isinstance(given, UserMessage)
    assert isinstance(first, StoredTurn)
    assert isinstance(last, StoredTurn)
    assert (first.model, last.model) == (LEAD, LEAD)
    assert first.provider == "openai-compatible"
    (delegation,) = first.acts
    assert isinstance(delegation, StoredDelegation)
    assert delegation.id == "executor-1"
    assert delegation.report is not None
    assert delegation.report.summary == "One tab."
    inner = [turn for turn in delegation.turns if isinstance(turn, StoredTurn)]
    assert [turn.model for turn in inner] == [HAND, HAND]
    assert [step.call.tool for step in inner[0].steps] == ["list_tabs", "list_tabs"]
    assert [step.call.tool for step in last.steps] == ["done"]
    assert [step.number for step in one.steps] == [1, 2, 3, 4]
    for turn in (first, *inner, last):
        assert turn.reply is not None
        assert turn.started_at is not None
        assert turn.ended_at is not None
        assert turn.started_at <= turn.ended_at
    assert delegation.started_at is not None
    assert inner[0].started_at is not None
    assert first.ended_at is not None
    assert first.ended_at <= delegation.started_at
    spent = [turn.reply.usage for turn in (first, *inner, last) if turn.reply is not None]
    assert sum((one for one in spent if one is not None), Usage()) == one.metadata.usage


def test_calls_without_a_model_are_turns_of_their_own(mixed_run: Path) -> None:
    """A scripted agent's: no reply, no model."""
    run = open_run(mixed_run)
    one = next(one for one in run.attempts if one.variant == "plays" and one.query_id == "wrong")
    (turn,) = (entry for entry in one.turns if isinstance(entry, StoredTurn))
    assert (turn.reply, turn.model, turn.provider) == (None, None, None)
    (step,) = turn.steps
    assert (step.call.tool, step.output) == ("done", "The task is over.")
    assert turn.started_at == step.started_at is not None
    assert one.pictures.keys() == {1}


def read(*messages: Message) -> tuple[object, ...]:
    agent = {"type": "single", "provider": "openai", "model": "m"}
    return TurnReader(messages, agent, {7: Path("7.jpeg")}.get).read()


def test_turns_of_a_log_that_was_cut() -> None:
    """What has no result has none; a delegation within itself, and lines of nobody, are there once."""
    goal = DelegationMessage(instruction="go", executor_id="e", span_id="e", parent_id="e")
    stray = AssistantMessage(content="I am lost.", parent_id="gone")
    cut = ToolCallMessage(tool="click", tool_call_id="1", params={}, parent_id="e")
    found = read(stray, goal, cut)
    lost, looped, _ = found
    assert [type(one) for one in found] == [StoredTurn] * 3
    assert isinstance(lost, StoredTurn)
    assert isinstance(looped, StoredTurn)
    (inner,) = looped.acts
    assert isinstance(inner, StoredDelegation)
    assert (inner.report, inner.ended_at, inner.turns) == (None, None, ())


def test_an_error_does_not_end_a_turn_and_a_user_does() -> None:
    """Calls belong to the reply before them, unless somebody has spoken in between."""
    reply = AssistantMessage(content="I click.", timestamp="")
    calls = [ToolCallMessage(tool="click", tool_call_id=str(n), params={}) for n in (1, 2, 3)]
    error, user = ErrorMessage(content="broke"), UserMessage(content="Go on.")
    shown = ToolResultMessage(tool_call_id="1", result={"output": [1]}, is_error=False, screenshot=7)
    first, second, third, fourth = read(reply, calls[0], shown, error, calls[1], user, calls[2])
    assert isinstance(first, StoredTurn)
    assert [step.call for step in first.steps] == calls[:2]
    assert (first.steps[0].output, first.steps[0].picture) == ("[1]", Path("7.jpeg"))
    assert (first.steps[1].output, first.steps[1].picture) == ("", None)
    assert (first.started_at, first.model) == (None, "m")
    assert (second, third) == (error, user)
    assert isinstance(fourth, StoredTurn)
    assert fourth.reply is None


def test_an_agents_block_names_its_models() -> None:
    """Flat, nested, or not at all; a damaged block names none."""
    assert find_model({"type": "scripted"}) == (None, None)
    assert find_model({"model": {"provider": "p", "model": "m"}}) == ("p", "m")
    assert find_model({"provider": 3, "model": ["m"]}) == (None, None)
    pair = {"orchestrator": {"model": "a"}, "executor": {"provider": "p", "model": "b"}}
    assert find_model(pair) == (None, "a")
    assert find_model(pair, is_executor=True) == ("p", "b")
    assert find_model({"model": "a"}, is_executor=True) == (None, None)


def test_links_are_no_pictures(tmp_path: Path) -> None:
    """A program of an attempt may have left a link to any file of this machine."""
    folder = add(tmp_path / "run", "a")
    (folder / "screenshots").mkdir()
    (folder / "screenshots/001.png").symlink_to("/etc/passwd")
    (folder / "screenshots/002.png").write_bytes(b"png")
    (one,) = open_run(tmp_path / "run").attempts
    assert one.pictures == {2: folder / "screenshots/002.png"}
    (folder / "screenshots").rename(tmp_path / "elsewhere")
    (folder / "screenshots").symlink_to(tmp_path / "elsewhere")
    assert one.pictures == {}


def test_a_damaged_line_ends_the_messages(tmp_path: Path) -> None:
    """Bytes that are no text and lines that are no message: what stands before is read."""
    folder = add(tmp_path / "run", "a")
    log = MessageLogger(folder)
    log.log(UserMessage(content="\x1b[2J\ud800 " + "x" * 10_000_000))
    log.close()
    with (folder / "messages.jsonl").open("ab") as file:
        file.write(b'{"type": "user", "timestamp": "", "content": "\xff\xfe"}\nnonsense\n')
    (one,) = open_run(tmp_path / "run").attempts
    assert [message.type for message in one.messages] == ["user"]


def test_importing_the_reader_imports_no_browser() -> None:
    """Notebooks start as fast as they can: no Playwright, no model client, no config."""
    code = (
        "import pytest_browsereval, sys; pytest_browsereval.open_run; pytest_browsereval.StoredRun\n"
        "print([m for m in ('playwright', 'openai', 'pyarrow', 'pytest') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
