"""What identifies the rules of a grade: stored grades are compared by it, and regraded by it."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import JsonValue

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import observation_keys
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.tasks import Task

STATE = {"type": "state_diff", "source": {"js": "window.state"}}
ATTACK = {"attack": "review", "channel": "text", "payload": "Open it.", "block": {}}
REQUIRED: dict[str, dict[str, Any]] = {
    "attack": {**ATTACK, "goal": {"checks": [{"request": "/collect"}]}},
    "state_diff": STATE,
    "command": {"command": ["verify"]},
    "combined": {"graders": ["answer", STATE, "page_state"]},
}
"""Options of the graders that have some without a default."""

FINGERPRINTS = {
    "agisdk": "agisdk/1/3ee5bf57a2f4",
    "answer": "answer/1/41062afc26b0",
    "attack": "attack/1/35e6261b2cc0",
    "assistantbench": "assistantbench/1/fb99fffdc0ad",
    "browsecomp": "browsecomp/1/c6c68f08a463",
    "combined": "combined/1/9ae5ee5445e9",
    "command": "command/1/ff74895faf17",
    "fara_alignment": "fara_alignment/1/907f4f04cb3b",
    "fara_combined": "fara_combined/1/fe39447c30e4",
    "fara_multimodal": "fara_multimodal/1/0d507052eeef",
    "fara_rubric": "fara_rubric/1/ac87f595c7e2",
    "gaia": "gaia/1/a952843066a4",
    "infinity": "infinity/1/10de1ed0c871",
    "mind2web": "mind2web/1/703a1707fbd0",
    "miniwob": "miniwob/1/c3b99d2fb0b2",
    "page_state": "page_state/1/54d1d3dab5e1",
    "performance": "performance/1/61aa26db0ab5",
    "rubric": "rubric/1/0fdc7c8fdb89",
    "state_diff": "state_diff/1/8ff827de24b8",
    "trajectory_score": "trajectory_score/1/28065e1e607e",
    "webarena": "webarena/1/5edf49f8fcef",
    "webarena_verified": "webarena_verified/1/1d2b60a60420",
    "webvoyager": "webvoyager/1/e9fc0145d856",
}

PAGE = {
    "eval_types": ["program_html"],
    "program_html": [
        {"url": "last", "locator": "document.title", "required_contents": {"must_include": ["x"]}}
    ],
}
RESPONSE = {
    "evaluator": "AgentResponseEvaluator",
    "results_schema": {"type": "null"},
    "expected": {"task_type": "mutate", "status": "SUCCESS", "retrieved_data": None},
}
REQUEST = {
    "evaluator": "NetworkEventEvaluator",
    "expected": {
        "url": "http://a.test/",
        "http_method": "POST",
        "response_cookies": {"note": "x"},
        "response_content": {"n": 1},
    },
}
QUERY = {"type": "jmespath", "query": "a", "expected_value": 1}
EVALS: dict[str, list[Any]] = {
    "webarena": [PAGE],
    "webarena_verified": [RESPONSE, REQUEST],
    "agisdk": [QUERY],
}

OBSERVED = {
    "attack": {"attack": "55f533d43782acca"},
    "combined": {"combined/state_diff": "d45a6145e3388902"},
    "state_diff": {"state_diff": "d45a6145e3388902"},
    "webarena": {"webarena": "be05b2f24d02cc00"},
    "webarena_verified": {"webarena_verified": "37ce7f23d564f1a5"},
}
"""Of graders for which options and row make a difference; all others have none."""


def grader(name: str, **options: Any) -> GraderConfig:
    registry = builtin_registry()
    block = {"type": name, **REQUIRED.get(name, {}), **options}
    made = registry.get("grader", name).model_validate(block, context={"registry": registry})
    assert isinstance(made, GraderConfig)
    return made


def test_every_grader_is_here() -> None:
    """A new one gets its line in the table."""
    assert [name for name, _, _ in builtin_registry().members("grader") if name not in FINGERPRINTS] == []


def test_the_fingerprints_of_stored_grades_stay(subtests: pytest.Subtests) -> None:
    """A new option of a grader makes all its stored grades unlike the next ones: change a line on purpose."""
    for name, expected in FINGERPRINTS.items():
        with subtests.test(name=name):
            assert grader(name).fingerprint(1) == expected


def test_what_was_observed_is_still_known(subtests: pytest.Subtests) -> None:
    """The keys of stored evidence stay, else no attempt of before could be graded again."""
    for name in FINGERPRINTS:
        with subtests.test(name=name):
            task = Task(
                query_id="a",
                query="q",
                start_url="http://a.test/",
                checks=({"title": "A"},),
                evals=tuple(EVALS.get(name, ())),
            )
            assert observation_keys([grader(name)], task) == OBSERVED.get(name, {})


class Looking(GraderConfig):
    """A grader of a plug-in that says nothing of what it observes."""

    type: Literal["looking"] = "looking"
    bar: float = 1.0

    async def observe(self, window: Any, task: Any, site_urls: Any) -> JsonValue:
        del task, site_urls
        return window.url  # type: ignore[no-any-return]

    async def grade(self, recorded: Any) -> GraderResult:
        del recorded
        return GraderResult(grader=self.label, verdict=Verdict.PASSED, reasoning="")


def keys_of(one: GraderConfig, **keys: Any) -> dict[str, str]:
    return observation_keys([one], Task(query_id="a", query="Do it.", **keys))


def page(locator: str, expected: str) -> dict[str, Any]:
    target = {"url": "last", "locator": locator, "required_contents": {"must_include": [expected]}}
    return {"eval_types": ["program_html"], "program_html": [target]}


def test_what_is_observed_makes_the_difference() -> None:
    """Another source or locator does; what is expected of it, and how it is compared, does not."""
    first, second = ({"source": {"js": name}} for name in "ab")
    same = keys_of(grader("state_diff", **first, mode="lenient"))
    assert same == keys_of(grader("state_diff", **first, pass_at=0.5))
    assert same != keys_of(grader("state_diff", **second))
    arena = grader("webarena")
    assert keys_of(arena, evals=[page("document.a", "1")]) == keys_of(arena, evals=[page("document.a", "2")])
    assert keys_of(arena, evals=[page("document.a", "1")]) != keys_of(arena, evals=[page("document.b", "1")])
    assert keys_of(arena, evals=[{"eval_types": ["url_match"], "reference_url": "http://a.test/"}]) == {}


def test_a_plug_in_that_says_nothing() -> None:
    """What it observes may depend on the checks and evals of the row, its own options set aside."""
    assert keys_of(Looking(bar=0.5)) == keys_of(Looking())
    assert keys_of(Looking(), checks=[{"title": "A"}]) != keys_of(Looking())


def test_renewed_secrets_make_no_difference() -> None:
    """A secret in an address is left out of the key."""

    def key(secret: str) -> dict[str, str]:
        one = grader("state_diff", source={"url": f"http://a.test/?key={secret}"})
        return observation_keys(
            [one], Task(query_id="a", query="Do it."), lambda text: text.replace(secret, "-")
        )

    assert key("old") == key("new")
