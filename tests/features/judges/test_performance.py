"""``performance``: six axes, two of them measured; nothing passes that was not done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.features.judges.performance import Kind, PerformanceGrader, compute_speed
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.testing import ModelRequest, ScriptedModel
from tests.features.shared.judging.asking import graded, in_form, judge_at, picture, recorded_in
from tests.features.shared.judging.bench import called, gave

OK = {"ok": True, "output": "Clicked."}
LOG: tuple[Message, ...] = (
    *(called(1, "click", target="a"), gave(1, OK)),
    *(called(2, "click", target="b"), gave(2, {"ok": False, "output": "gone"}, is_error=True)),
    *(called(3, "read"), gave(3, OK)),
    *(called(4, "read"), gave(4, OK)),
    *(called(5, "done", answer="42"), gave(5, OK)),
)


def review(completion: float = 100, *, is_completed: bool = True, **points: float) -> dict[str, Any]:
    names = ("task_completion", "reasoning_quality", "error_recovery", "autonomy")
    given = dict.fromkeys(names, 100.0) | points | {"task_completion": completion}
    axes = {name: {"reason": f"{name} seen", "points": value} for name, value in given.items()}
    return {"kind": "simple", **axes, "reasoning": "The mug is in.", "is_completed": is_completed}


def judge(
    folder: Path, reply: dict[str, Any], *, pictures: int = 7, seconds: float | None = 20, **options: Any
) -> tuple[GraderResult, list[ModelRequest]]:
    log = MessageLogger(folder)
    for message in LOG:
        log.log(message)
    log.close()
    for number in range(1, pictures + 1):
        picture(folder, number)
    recorded = recorded_in(
        folder,
        agent_duration_ms=None if seconds is None else seconds * 1000,
        usage=Usage(input_tokens=900, output_tokens=80, requests=3),
        row={"answer": "42 dollars"},
    )
    return asked(recorded, reply, **options)


def asked(
    recorded: Recorded, reply: dict[str, Any], **options: Any
) -> tuple[GraderResult, list[ModelRequest]]:
    with ScriptedModel(lambda request: in_form(request, reply)) as model:
        grader = PerformanceGrader(judge=judge_at(model), **options)
        return graded(grader, recorded), model.requests


def test_a_task_well_done(tmp_path: Path) -> None:
    """Four axes from the judge, two from figures; the composite is their weighted sum."""
    result, (request,) = judge(tmp_path, review(90, reasoning_quality=80, error_recovery=70, autonomy=60))
    axes = result.details["axes"]
    assert axes == {
        "task_completion": 90,
        "reasoning_quality": 80,
        "efficiency": 50,  # a failure and a repetition among four steps
        "speed": 100,
        "error_recovery": 70,
        "autonomy": 60,
    }
    composite = 0.3 * 90 + 0.2 * 80 + 0.2 * 50 + 0.1 * (100 + 70 + 60)
    assert result.details["composite"] == composite == 76
    assert (result.verdict, result.score) == (Verdict.PASSED, 0.76)
    assert result.reasoning == "completed, 76.0 of 100 (needs 75). The mug is in."
    assert [c.weight for c in result.criteria] == [0.3, 0.2, 0.2, 0.1, 0.1, 0.1]
    speed_reason = next(c.reason for c in result.criteria if c.name == "speed")
    assert speed_reason == "20.0 s; a simple task takes 30 to 60 s"
    assert result.details["facts"] == {
        "total_duration_ms": 20_000,
        "step_count": 4,
        "total_tool_calls": 5,
        "error_count": 1,
        "error_rate": 0.2,
        "screenshot_count": 7,
        "unique_tool_names": ["click", "read", "done"],
        "termination_reason": "completed",
        "input_tokens": 900,
        "output_tokens": 80,
        "wasted_steps": 2,
    }
    assert "[reference answer" in request.text
    assert '"total_duration_ms": 20000' in request.text
    assert '2. click(target="b") -> failed | returned "gone"' in request.text
    pictures = [part for part in request.messages[1]["content"] if part["type"] == "image_url"]
    assert len(pictures) == 5


POOR = review(60, reasoning_quality=20, error_recovery=20, autonomy=20)
AGAINST = "contradicts itself: it calls the task {} and gives"
REVIEWS: list[tuple[dict[str, Any], dict[str, Any], Verdict, str]] = [
    (review(80, is_completed=False), {}, Verdict.FAILED, "not completed, 84.0 of 100"),
    (POOR, {"seconds": 1_000}, Verdict.FAILED, "completed, 36.0 of 100 (needs 75)"),
    (POOR, {"seconds": 1_000, "pass_at": 36}, Verdict.PASSED, "completed, 36.0 of 100 (needs 36)"),
    (review(error_recovery=50, autonomy=0), {}, Verdict.PASSED, "completed, 75.0 of 100"),
    (review(error_recovery=49.9, autonomy=0), {}, Verdict.FAILED, "completed, 75.0 of 100"),
    (review(50), {}, Verdict.PASSED, "completed, 75.0 of 100"),
    (review(49.9), {}, Verdict.ERRORED, AGAINST.format("completed")),
    (review(90.1, is_completed=False), {}, Verdict.ERRORED, AGAINST.format("not completed")),
]


def test_verdicts(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """What is done has to be done well, what is not done never passes, and no review contradicts itself."""
    for number, (reply, options, verdict, told) in enumerate(REVIEWS):
        with subtests.test(reply=reply, options=options):
            (folder := tmp_path / str(number)).mkdir()
            result, requests = judge(folder, reply, **options)
            assert result.verdict is verdict
            assert told in result.reasoning
            assert len(requests) == (2 if verdict is Verdict.ERRORED else 1)


def test_nothing_measured_or_seen_is_errored_without_a_call(tmp_path: Path) -> None:
    """No duration, no speed; no picture, nothing to look at, unless texts are enough."""
    result, requests = judge(tmp_path, review(), seconds=None)
    assert (result.verdict, requests) == (Verdict.ERRORED, [])
    assert "time was not measured" in result.reasoning
    (folder := tmp_path / "blind").mkdir()
    result, requests = judge(folder, review(), pictures=0)
    assert (result.verdict, requests) == (Verdict.ERRORED, [])
    assert "Write `pictures: 0`" in result.reasoning
    (folder := tmp_path / "texts").mkdir()
    result, requests = asked(recorded_in(folder, agent_duration_ms=1.0), review(), pictures=0)
    assert (result.verdict, requests) == (Verdict.ERRORED, [])
    assert "messages.jsonl is missing" in result.reasoning
    MessageLogger(folder).close()
    grader = PerformanceGrader(pictures=0)
    assert not grader.sees_pictures
    result, (request,) = asked(recorded_in(folder, agent_duration_ms=1.0), review(), pictures=0)
    assert result.verdict is Verdict.PASSED
    assert "reference answer" not in request.messages[1]["content"]
    details: Any = result.details
    assert details["facts"]["input_tokens"] is None
    assert details["axes"]["efficiency"] == 100  # an answer that needed no step wasted none


def test_speed() -> None:
    """The anchors of each kind, and straight lines between them."""
    points: dict[Kind, dict[float, float]] = {
        "simple": {0: 100, 30: 100, 45: 87.5, 60: 75, 150: 37.5, 240: 0, 9_999: 0},
        "form_or_comparison": {60: 100, 180: 75},
        "several_sites": {390: 87.5, 600: 75},
    }
    for kind, wanted in points.items():
        assert {seconds: compute_speed(seconds, kind) for seconds in wanted} == wanted
