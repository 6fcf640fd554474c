"""A bench for judges with several questions: an attempt on disk, and a model that knows what it is asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.features.judges import fara, llm, relevance, rubrics
from pytest_browsereval.features.judges import rubric as general
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage, UserMessage
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel
from tests.features.shared.judging.asking import graded, in_form, judge_at, picture, recorded_in

RULES = {
    "llm": llm.RULES,
    "alignment": fara.ALIGNMENT,
    "make": rubrics.MAKE,
    "score": fara.RUBRIC,
    "rate": relevance.RATE,
    "see": fara.PICTURES,
    "read": general.READ,
    "look": general.LOOK,
    "outcome": general.OUTCOME,
}
"""What a judge is asked, by a short name."""

Answer = Reply | dict[str, Any] | Callable[[ModelRequest], Reply | dict[str, Any]]


def question_of(request: ModelRequest) -> str:
    """Return the short name of what a request asks."""
    system = request.messages[0]["content"]
    return next(name for name, rules in RULES.items() if system.startswith(rules))


def numbers_in(request: ModelRequest) -> list[int]:
    """Return the numbers of the pictures that a request shows."""
    content = request.messages[1]["content"]
    texts = [part["text"] for part in content if part["type"] == "text"] if isinstance(content, list) else []
    return [int(text.removeprefix("Picture ").rstrip(":")) for text in texts if text.startswith("Picture ")]


def called(number: int, tool: str, **params: Any) -> ToolCallMessage:
    """Return a line of a log."""
    return ToolCallMessage(tool=tool, tool_call_id=f"c{number}", params=params)


def gave(number: int, output: Any, *, is_error: bool = False, **more: Any) -> ToolResultMessage:
    """Return what came of it."""
    return ToolResultMessage(tool_call_id=f"c{number}", result=output, is_error=is_error, **more)


@dataclass
class Bench:
    """An attempt, and what a judge answers to each question; a list is answered one by one."""

    folder: Path
    answers: dict[str, Answer | Sequence[Answer]] = field(default_factory=dict)
    requests: dict[str, list[ModelRequest]] = field(default_factory=dict)
    """What the judge was asked, by the short name."""

    def __post_init__(self) -> None:
        """Make the folder."""
        self.folder.mkdir(exist_ok=True)

    def attempt(
        self,
        *calls: tuple[str, dict[str, Any], Any],
        pictures: int = 0,
        answer: str | None = "42",
        **row: Any,
    ) -> Recorded:
        """Record an attempt: tool calls with arguments and results, and pictures."""
        log = MessageLogger(self.folder)
        log.log(UserMessage(content="Go."))
        for number, (tool, params, result) in enumerate(calls, start=1):
            log.log(ToolCallMessage(tool=tool, tool_call_id=f"c{number}", params=params))
            log.log(gave(number, result, url="http://shop.test/"))
        log.close()
        for number in range(1, pictures + 1):
            picture(self.folder, number)
        return recorded_in(self.folder, answer, row=row)

    def judged(self, make: Callable[..., GraderConfig], recorded: Recorded, **options: Any) -> GraderResult:
        """Let a grader judge the attempt."""
        asked: Counter[str] = Counter()
        self.requests = {}
        lock = threading.Lock()

        def reply(request: ModelRequest) -> Reply:
            name = question_of(request)
            with lock:
                self.requests.setdefault(name, []).append(request)
                given = self.answers[name]
                if isinstance(given, Sequence):
                    given = given[asked[name]]
                asked[name] += 1
            answer = given(request) if callable(given) else given
            return answer if isinstance(answer, Reply) else in_form(request, answer)

        own = {name: options.pop(name) for name in ("votes", "output") if name in options}
        with ScriptedModel(reply) as model:
            result = graded(make(judge=judge_at(model, **own), **options), recorded)
            model.assert_finished()
        return result

    @property
    def counts(self) -> dict[str, int]:
        """How often each question was asked."""
        return {name: len(requests) for name, requests in self.requests.items()}

    def asked(self) -> tuple[set[str], set[str]]:
        """Return which texts and forms of ours the judge was sent."""
        requests = [request for some in self.requests.values() for request in some]
        formats = [request.body["response_format"]["json_schema"]["name"] for request in requests]
        return {RULES[question_of(request)] for request in requests}, set(formats)


# -- answers


def made(
    *points: int, required: Sequence[int] = (), conditions: dict[int, str] | None = None
) -> dict[str, Any]:
    """Return a rubric that a judge makes."""
    return {
        "reasoning": "the task asks for it",
        "items": [
            {
                "criterion": f"criterion {number}",
                "description": f"what earns points {number}",
                "max_points": most,
                "required": number in required,
                "condition": (conditions or {}).get(number, ""),
            }
            for number, most in enumerate(points, start=1)
        ],
    }


def scores(
    *earned: float, met: Sequence[bool] = (), reasoning: str = "so it was", **more: Any
) -> dict[str, Any]:
    """Return scores; what earned anything is met unless told otherwise."""
    criteria = [
        {
            "id": f"C{number}",
            "reason": f"reason {number}",
            "applies": True,
            "earned_points": points,
            "met": met[number - 1] if met else points > 0,
            **more,
        }
        for number, points in enumerate(earned, start=1)
    ]
    return {"reasoning": reasoning, "criteria": criteria}


def ratings(by_number: Callable[[int], int]) -> Callable[[ModelRequest], dict[str, Any]]:
    """Return what rates each picture by its number."""
    return lambda request: {
        "pictures": [
            {"picture": number, "reason": "a page", "rating": by_number(number)}
            for number in numbers_in(request)
        ]
    }


def sight(
    contradictions: dict[str, str] | None = None, *, consistent: bool = True, satisfied: bool = True
) -> dict[str, Any]:
    """Return what a judge says of pictures; contradictions by claim."""
    return {
        "reasoning": "as the pictures show",
        "contradictions": [{"claim": c, "shown": shown} for c, shown in (contradictions or {}).items()],
        "is_consistent": consistent,
        "is_satisfied": satisfied,
    }


def aligned(verdict: str = "PASS") -> dict[str, Any]:
    """Return a verdict on texts."""
    return {"reasoning": "the actions fit", "verdict": verdict}
