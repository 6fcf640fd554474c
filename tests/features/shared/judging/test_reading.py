from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.shared.judging.base import Opinion
from pytest_browsereval.features.shared.judging.judge import Judge
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, refuses, says, sends
from tests.features.shared.judging.asking import (
    AskingGrader,
    ask,
    graded,
    judge_at,
    nonce_of,
    recorded_in,
    text,
    verdict,
)
from tests.graders.support import overrun

BLOCK = f"```json\n{text(verdict('no', 0))}\n```"
"""Many models cannot leave it out; any other text is refused."""

# -- what is read


def test_what_is_not_the_form_is_never_a_score(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """It is asked for once more; then the grade is errored."""
    cases: list[str] = [
        "",
        "The verdict is success.",
        '{"reasoning": "x", "verdict": "yes"}',
        '{"reasoning": "x", "verdict": "yes", "points": 11}',
        '{"reasoning": "x", "verdict": "yes", "points": "8/10"}',
        '{"reasoning": "x", "verdict": "**yes**", "points": 8}',
        '{"reasoning": "x", "verdict": "yes", "points": 8, "sure": true}',
        '{"reasoning": "x", "verdict": "yes", "points": 8} {"reasoning": "y", "verdict": "no", "points": 0}',
        'Status: yes {"reasoning": "x", "verdict": "yes", "points": 8}',
        f"Here: {BLOCK}",
        f"{BLOCK} Done.",
        f'{{"{"k" * 9_000}": 1}}',
    ]
    for reply in cases:
        with subtests.test(reply=reply):
            result, requests = ask(tmp_path, reply or sends(body("")), reply or sends(body("")))
            assert (result.verdict, result.score) == (Verdict.ERRORED, None)
            assert "gave no verdict: two replies in an unusable form" in result.reasoning
            begin = " ".join(reply[:20].split())
            assert not reply or f"It begins {begin!r}"[:-1] in result.reasoning
            assert ("`judge: {output: tagged}`" in result.reasoning) is ("Invalid JSON" in result.reasoning)
            assert len(result.reasoning) < 400
            assert [r.body["response_format"]["type"] for r in requests] == ["json_schema"] * 2
            assert result.usage.requests == 2
            assert not (tmp_path / "judge").exists()


def body(content: str | None, **more: str) -> str:
    message = {"role": "assistant", "content": content, **more}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<think>It could be yes.</think>\n\n", ""),
        (f"<think>{text(verdict('yes', 9))}</think>", ""),
        ("It could be yes.\n</think>\n", ""),
        ("[THINK]It could be yes.[/THINK]```json\n", "\n```"),
        ("```json\n", "\n```"),
    ],
)
def test_what_a_judge_only_thought_is_not_its_verdict(tmp_path: Path, before: str, after: str) -> None:
    """Reasoning models think before the form, and the reply counts at once; thoughts alone are no reply."""
    result, _ = ask(tmp_path, f"{before}{text(verdict('no', 3))}{after}")
    assert (result.verdict, result.score, result.usage.requests) == (Verdict.FAILED, 0.3, 1)
    (tmp_path / "b").mkdir()
    unclosed = f"<think>{text(verdict())}"
    assert ask(tmp_path / "b", unclosed, unclosed)[0].verdict is Verdict.ERRORED


def test_a_judge_that_cannot_judge_errs(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Refused, cut off, too long, broken: each is told, and asked no second time."""
    cases: list[tuple[Reply, str]] = [
        (says(text(verdict())).because("length"), "the reply was cut off. Raise judge.max_output_tokens"),
        (says(text(verdict())).because("error"), "the provider cut the reply off"),
        (says(text(verdict())).because("content_filter"), "a filter of the provider withheld the reply"),
        (sends(body(None, refusal="I can't.")), "refused to judge: I can't."),
        (refuses(400, "maximum context length"), "answered 400: maximum context length"),
        (refuses(500, "down"), "answered 500: down"),
    ]
    for reply, told in cases:
        with subtests.test(reply=reply, told=told):
            result, _ = ask(tmp_path, reply)
            assert (result.verdict, result.score) == (Verdict.ERRORED, None)
            assert told in result.reasoning
            assert result.details["is_undecided"] is False


def test_a_refused_key_stops_the_run(tmp_path: Path) -> None:
    """Every further grade would meet it as well."""
    with ScriptedModel([], api_key="right") as model:
        grader = AskingGrader(judge=judge_at(model, api_key="wrong-key-1234"))
        result = graded(grader, recorded_in(tmp_path))
    assert (result.verdict, result.stops_run, result.cost_usd) == (Verdict.ERRORED, True, 0.0)
    assert "answered 401" in result.reasoning


PAID = says(text(verdict())).costing(1_000_000, 0)
TWICE: dict[str, Any] = {
    "votes": 2,
    "concurrency": 1,
    "prices": {"input_per_mtok": 2.0, "output_per_mtok": 8.0},
}


def test_what_was_paid_before_an_account_ran_empty_is_told(tmp_path: Path) -> None:
    """No cost gets lost."""
    result, _ = ask(tmp_path, PAID, refuses(402, "no money left"), **TWICE)
    assert (result.verdict, result.details["calls"], result.stops_run) == (Verdict.ERRORED, 1, True)
    assert (result.usage.requests, result.cost_usd) == (1, 2.0)


def test_what_was_paid_before_a_judge_was_late_is_told(tmp_path: Path) -> None:
    """A request that was under way at the end has no known cost, and none is made up."""
    asked: list[ModelRequest] = []

    def cut_off(limit_s: float) -> GraderResult:
        shutil.rmtree(tmp_path / "judge", ignore_errors=True)
        with ScriptedModel([PAID, says("").after(280)]) as model:
            judge = judge_at(model, timeout_s=limit_s, **TWICE)
            result = graded(AskingGrader(judge=judge), recorded_in(tmp_path))
        asked[:] = model.requests
        return result

    result = overrun(cut_off, lambda: len(asked) == 2)
    assert (result.verdict, result.details["calls"], result.stops_run) == (Verdict.ERRORED, 1, False)
    assert (result.usage.requests, result.cost_usd) == (2, None)


def test_a_reply_that_cannot_be_recorded_is_an_errored_grade(tmp_path: Path) -> None:
    """A full disk, say: what it cost is told all the same."""
    (tmp_path / "judge").write_text("in the way")
    result, _ = ask(tmp_path, says(text(verdict())).costing(5, 5))
    assert (result.verdict, result.usage.input_tokens) == (Verdict.ERRORED, 5)
    assert "gave no verdict: its reply cannot be recorded (File exists)" in result.reasoning


def test_a_grader_that_breaks_tells_what_it_paid(tmp_path: Path) -> None:
    """Its fault is told with its place, and is no score."""

    class Breaking(AskingGrader):
        async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
            await super().opinion(recorded, judge, prepared)
            raise KeyError("lost")

    with ScriptedModel([says(text(verdict())).costing(5, 5)]) as model:
        result = graded(Breaking(judge=judge_at(model)), recorded_in(tmp_path))
    assert (result.verdict, result.score, result.usage.requests) == (Verdict.ERRORED, None, 1)
    assert result.reasoning.startswith("KeyError: 'lost' (")
    assert result.fingerprint


# -- the forms


def test_a_form_is_kept_to(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """It is asked for twice, and a server that does not know it is told as such, with what to write."""
    for output in ("auto", "json_schema", "json", "tagged"):
        with subtests.test(output=output):
            result, requests = ask(tmp_path, "yes", "yes", output=output)
            assert result.verdict is Verdict.ERRORED
            assert len({r.body.get("response_format", {}).get("type") for r in requests}) == 1
            result, _ = ask(tmp_path, refuses(400, "no such response_format"), output=output)
            assert "answered 400: no such response_format" in result.reasoning
            assert ("write `judge: {output: " in result.reasoning) is (output != "tagged")


@pytest.mark.parametrize(
    ("written", "is_read"),
    [
        ("thinking <reply-{n}>{v}</reply-{n}>", True),
        ("<reply-{n}>{v}</reply-{n}>\n", True),
        ("<reply-0123456789abcdef>{v}</reply-0123456789abcdef>", False),
        ("<reply-{n}>{v}</reply-{n}> and more", False),
        ("<reply-{n}>{v}</reply-{n}><reply-{n}>{v}</reply-{n}>", False),
        ("<reply-{n}>{v}", False),
        ("{v}", False),
    ],
)
def test_marked_replies_are_read_strictly(tmp_path: Path, written: str, *, is_read: bool) -> None:
    """One reply, at the end, between the marks of this very request."""

    def reply(request: ModelRequest) -> Reply:
        return says(written.replace("{n}", nonce_of(request)).replace("{v}", text(verdict())))

    with ScriptedModel(reply) as model:
        result = graded(AskingGrader(judge=judge_at(model, output="tagged")), recorded_in(tmp_path))
    assert result.verdict is (Verdict.PASSED if is_read else Verdict.ERRORED)
    assert len(model.requests) == (1 if is_read else 2)


# -- votes


def test_more_than_half_of_the_votes_decide(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Without such a majority the grade is undecided, which is errored: a vote that failed is no vote."""
    cases: list[tuple[tuple[str, ...], Verdict, str]] = [
        (("yes", "yes", "no"), Verdict.PASSED, "2 of 3 votes: because"),
        (("yes", "unsure", "yes"), Verdict.PASSED, "2 of 3 votes"),
        (("yes", "no"), Verdict.ERRORED, "undecided: of 2 votes 1 passed, 1 failed."),
        (("yes", "no", "unsure"), Verdict.ERRORED, "undecided: of 3 votes 1 passed, 1 failed, 1 undecided."),
        (("unsure",), Verdict.ERRORED, "undecided: of 1 votes 1 undecided."),
        (("yes", "broken", "yes"), Verdict.PASSED, "2 of 3 votes"),
        (("yes", "broken", "broken"), Verdict.ERRORED, "undecided: of 3 votes 1 passed, 2 errored."),
        (("broken", "broken", "broken"), Verdict.ERRORED, "answered 400: maximum context length"),
    ]
    for words, expected, told in cases:
        with subtests.test(words=words, expected=expected, told=told):
            replies = [
                refuses(400, "maximum context length") if word == "broken" else says(text(verdict(word, 10)))
                for word in words
            ]
            result, _ = ask(tmp_path, *replies, votes=len(words))
            assert result.verdict is expected
            assert told in result.reasoning
            if expected is Verdict.ERRORED:
                assert result.details["is_undecided"] is told.startswith("undecided")
                assert result.score is None
            if len(words) > 1:
                votes: Any = result.details["votes"]
                names = {"yes": "passed", "no": "failed", "unsure": "undecided", "broken": "errored"}
                assert sorted(vote["verdict"] for vote in votes) == sorted(names[word] for word in words)


def test_the_score_of_votes_is_their_mean(tmp_path: Path) -> None:
    """Those that could not decide have none."""
    replies = [says(text(verdict("yes", points))) for points in (10, 5)]
    result, _ = ask(tmp_path, *replies, says(text(verdict("unsure", 0))), votes=3)
    assert result.score == 0.75
