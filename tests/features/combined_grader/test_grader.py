"""``combined``: graders in a grader; what one of them cannot judge is never a failure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import JsonValue, ValidationError

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ErrorSource, Fault, StopRun
from pytest_browsereval.features.combined_grader.grader import CombinedGrader
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.nested import fill_sites
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.needs import Asker, Needs, Offers, find_misfits
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel
from tests.features.shared.judging.asking import AskingGrader, graded, in_form, judge_at, recorded_in, verdict
from tests.graders.support import make_recorded, make_task
from tests.support import StillWindow

PASSED, FAILED, ERRORED = Verdict
Score = float | Literal["errs", "raises", "stops"]


class SayingGrader(GraderConfig):
    """Says what it is told to say; reads the title of the page."""

    type: Literal["saying"] = "saying"

    score: Score = 1.0
    at: str = ""
    blind: bool = False

    def needs(self, task: Task) -> Needs:
        del task
        return Needs(page=True)

    def check(self, task: Task, base_dir: Path) -> None:
        if task.answer is None:
            raise ValueError(f"{self.label} lacks an answer")
        if not self.at:
            raise ValueError(f"{self.label} lacks {base_dir / task.query_id}.json")

    def secrets(self) -> tuple[str, ...]:
        return (f"secret of {self.label}",)

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        del task, site_urls
        if self.blind:
            raise Fault(ErrorSource.BROWSER, "the page has gone")
        return f"{self.label} saw {window.url}"

    async def grade(self, recorded: Recorded) -> GraderResult:
        if self.score == "errs":
            raise Fault(ErrorSource.GRADER, "out of order")
        if self.score == "raises":
            raise KeyError("lost")
        if self.score == "stops":
            raise StopRun(ErrorSource.PROVIDER, "the key is refused")
        assert isinstance(self.score, float)
        return GraderResult(
            grader=self.label,
            verdict=PASSED if self.score >= 1 else FAILED,
            score=self.score,
            reasoning=f"{self.label} says {self.score:g}",
            evidence=(f"{self.label}.txt",),
            details={"evidence": dict(recorded.evidence)},
            fingerprint=self.fingerprint(3, recorded.site_urls),
        )


def registry() -> Any:
    made = builtin_registry()
    made.register(SayingGrader)
    made.register(AskingGrader)
    return made


def combined(*parts: Score | dict[str, Any], **options: Any) -> CombinedGrader:
    blocks = [
        {"type": "saying", "name": f"g{n}", **(part if isinstance(part, dict) else {"score": part})}
        for n, part in enumerate(parts, 1)
    ]
    block = {"type": "combined", "graders": blocks, **options}
    return CombinedGrader.model_validate(block, context={"registry": registry()})


def grade(grader: CombinedGrader, **fields: Any) -> GraderResult:
    return asyncio.run(grader.grade(make_recorded(make_task(answer="42"), **fields)))


def test_rules(subtests: pytest.Subtests) -> None:
    """A part that errs is no vote against; it makes the grade errored where it could have decided."""
    cases: list[tuple[str, list[Score], Verdict]] = [
        ("all", [1.0, 0.0], FAILED),
        ("all", [1.0, "errs"], ERRORED),
        ("any", [1.0, "raises"], PASSED),
        ("any", [0.0, "errs"], ERRORED),
        ("majority", [1.0, 1.0, "errs"], PASSED),
        ("majority", [1.0, 0.0, "errs"], ERRORED),
    ]
    for rule, scores, expected in cases:
        with subtests.test(rule=rule, scores=scores, expected=expected):
            result = grade(combined(*scores, rule=rule))
            assert result.verdict is expected
            assert (result.score is None) == (expected is ERRORED)


def test_weighted(subtests: pytest.Subtests) -> None:
    """The weighted mean against the threshold; an errored part decides nothing, either way."""
    cases: list[tuple[list[Score], dict[str, Any], Verdict, Any]] = [
        ([1.0, 0.0], {}, PASSED, 0.5),
        ([1.0, 0.0], {"threshold": 0.51}, FAILED, 0.5),
        ([0.8, 0.4], {"weights": {"g1": 3}, "threshold": 0.7}, PASSED, 0.7),
        ([0.8, 0.4], {"weights": {"g2": 3}, "threshold": 0.7}, FAILED, 0.5),
        ([1.0, "errs"], {"weights": {"g1": 3}, "threshold": 0.75}, PASSED, 1.0),
        ([0.0, "errs"], {"weights": {"g1": 3}, "threshold": 0.75}, FAILED, 0.0),
        ([0.5, "errs"], {"threshold": 0.75}, ERRORED, None),  # 0.75 at the most, which would pass
        (["errs", "raises"], {}, ERRORED, None),
    ]
    for scores, options, expected, score in cases:
        with subtests.test(scores=scores, options=options, expected=expected):
            result = grade(combined(*scores, rule="weighted", **options))
            assert (result.verdict, result.score) == (expected, score)
            if expected is ERRORED:
                assert "out of order" in result.reasoning


def test_disagreement_is_told() -> None:
    """Who said what stands in the reasoning and in the details, with each part's own grade."""
    result = grade(combined(1.0, 0.25, {"score": "raises", "advisory": True}, rule="any"))
    assert result.reasoning == (
        "any: 1 of 2 graders passed: g1. The graders disagree: g1 passed, g2 failed, g3 errored."
    )
    assert result.details["disagree"] is True
    assert result.score == 0.625
    parts: Any = result.details["parts"]
    assert parts["g2"]["reasoning"] == "g2 says 0.25"
    assert parts["g3"]["reasoning"].startswith("KeyError: 'lost' (")
    assert parts["g3"]["advisory"] is True
    assert parts["g1"]["duration_ms"] >= 0
    assert [(c.name, c.verdict, c.weight) for c in result.criteria] == [
        ("g1", PASSED, 1),
        ("g2", FAILED, 1),
        ("g3 (advisory)", ERRORED, 0),
    ]
    assert result.evidence == ("g1.txt", "g2.txt")
    assert grade(combined(1.0, 1.0)).details["disagree"] is False


def test_evidence_is_each_parts_own() -> None:
    """What a part saw is handed to it alone; a part that could not see is errored, the others judge."""
    grader = combined(1.0, {"blind": True}, rule="any")
    window: Any = StillWindow()
    seen: Any = asyncio.run(grader.observe(window, make_task(), {}))
    assert seen == {"seen": {"g1": "g1 saw http://shop.test/"}, "unobserved": {"g2": "the page has gone"}}
    result = grade(grader, evidence={"combined": json.loads(json.dumps(seen)), "other": "x"})
    assert result.verdict is PASSED
    parts: Any = result.details["parts"]
    assert parts["g1"]["details"]["evidence"] == {"g1": "g1 saw http://shop.test/"}
    assert parts["g2"]["reasoning"] == "the final page could not be read: the page has gone"


def test_what_parts_need_the_whole_needs() -> None:
    """Pages, answers, secrets, placeholders of sites and models of the parts are found through it."""
    grader = combined({"at": "{shop}/cart"}, {"type": "combined", "graders": ["answer", "saying"]})
    assert grader.needs(make_task()).page
    with pytest.raises(ValueError, match=r"saying lacks evals.row\.json"):
        grader.check(make_task(answer="42"), Path("evals"))
    assert grader.secrets() == ("secret of g1", "secret of saying")
    with pytest.raises(ValueError, match="g1 lacks an answer"):
        grader.check(make_task(), Path())
    filled: Any = fill_sites(grader, {"shop": "http://127.0.0.1:8000"})
    assert filled.graders[0].at == "http://127.0.0.1:8000/cart"
    assert not grader.needs(make_task()).pictures
    assert grader.needs(make_task()).models == ()
    asking = combined(1.0, {"type": "trajectory_score", "method": "model"}).needs(make_task())
    (told,) = find_misfits(Asker("combined"), asking, Offers())
    assert "the grader 'g2' asks a model, but the config names none" in told
    unasked = combined(1.0, {"type": "webarena"})
    row = make_task(evals=[{"eval_types": ["string_match"], "reference_answers": {"exact_match": "42"}}])
    assert unasked.needs(row).models == ()
    looking = combined(1.0, {"type": "performance"}).needs(make_task())
    judge = JudgeConfig.model_validate({"provider": "openai", "model": "gpt-4o", "api_key": "none"})
    assert looking.pictures
    assert [need.choose_model(judge) for need in looking.models] == [judge]
    assert looking.time_limit_s(judge) > judge.timeout_s


def test_the_fingerprint_is_made_of_rule_and_parts() -> None:
    """Another rule, weight or option of a part is another judge; the whole's name is not."""
    same = {grade(combined(1.0, 1.0, name=name)).fingerprint for name in ("a", "b")}
    others = {
        grade(combined(1.0, 0.0)).fingerprint,
        grade(combined(1.0, 1.0, rule="any")).fingerprint,
        grade(combined(1.0, 1.0, rule="weighted")).fingerprint,
        grade(combined(1.0, {"advisory": True})).fingerprint,
    }
    assert len(same) == 1
    assert len(same | others) == 5


def test_what_parts_cost_the_whole_costs(tmp_path: Path) -> None:
    """Tokens are summed; a price that one part does not know makes the whole's unknown."""

    def script(request: ModelRequest) -> Reply:
        return in_form(request, verdict()).costing(100, 10)

    with ScriptedModel(script) as model:
        judge = judge_at(model)
        parts = {f"g{n}": AskingGrader(name=f"g{n}", judge=judge) for n in (1, 2)}
        grader = CombinedGrader(graders=tuple(parts.values()))
        result = graded(grader, recorded_in(tmp_path))
    assert result.verdict is PASSED
    assert result.usage.input_tokens == 100  # the same question at the same time is asked once
    assert result.cost_usd is None
    assert grade(combined(1.0, 1.0)).cost_usd == 0
    assert grade(combined(1.0, 1.0)).usage == Usage()


def test_a_protected_answer_is_in_no_part() -> None:
    """Not even as a number, in the grade of a part."""
    task = make_task(answer=4211, protected=True)
    parts: Any = [{"type": "answer"}, {"type": "answer", "name": "loose", "match": "includes"}]
    result = asyncio.run(combined(*parts).grade(make_recorded(task, final_answer="4211")))
    assert result.verdict is PASSED
    assert "4211" not in result.model_dump_json()


def test_mistakes_are_told_before_the_run(subtests: pytest.Subtests) -> None:
    """With what is wrong and what to write."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"graders": ["answer"]}, "at least 2 items"),
        ({"graders": ["answer", "answer"]}, "share a name. Give one a `name` of its own"),
        ({"graders": ["answer", "anser"]}, "unknown grader 'anser'. Did you mean 'answer'"),
        ({"weights": {"g1": 2}}, "weights and threshold belong to rule: weighted, but the rule is all"),
        ({"rule": "weighted", "weights": {"g": 1}}, "weights names 'g', which is not a grader that decides"),
        (
            {"graders": [{"type": "answer", "advisory": True}, {"type": "saying", "advisory": True}]},
            "all graders are advisory",
        ),
    ]
    for options, problem in cases:
        with subtests.test(options=options, problem=problem):
            with pytest.raises(ValidationError) as caught:
                combined(1.0, 0.0, **options)
            assert problem in str(caught.value)
