from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.shared.judging.base import ModelGrader, Opinion
from pytest_browsereval.features.shared.judging.judge import Judge
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.providers import PROVIDERS
from pytest_browsereval.testing import ScriptedModel, says
from tests.features.shared.judging.asking import (
    RULES,
    AskingGrader,
    Said,
    ask,
    graded,
    in_form,
    judge_at,
    nonce_of,
    picture,
    recorded_in,
    text,
    verdict,
)
from tests.graders.support import make_task

# -- what is asked


def test_a_question(tmp_path: Path) -> None:
    """Rules, material between marks, date and start page, and the form of the reply as a strict schema."""
    result, (request,) = ask(tmp_path, says(text(verdict("yes", 9))).costing(100, 20))
    assert (result.verdict, result.score, result.reasoning) == (Verdict.PASSED, 0.9, "because")
    system, user = (message["content"] for message in request.messages)
    nonce = nonce_of(request)
    assert system.startswith("Say whether the answer is right.")
    assert nonce in system
    assert f"[task {nonce}]\nHow much is it?\n[end of task {nonce}]" in user
    assert "Date of the attempt: 2025-03-01\nStart page: http://shop.test/" in user
    assert "How much" not in system
    form = request.body["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["required"] == ["reasoning", "verdict", "points"]
    assert form["schema"]["additionalProperties"] is False
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.requests) == (100, 20, 1)
    assert result.cost_usd is None  # nobody knows the price of this model
    judge: Any = result.details["judge"]
    url = judge.pop("url")
    assert url.startswith("http://127.0.0.1:")
    assert judge == {"provider": "openai-compatible", "model": "scripted", "output": "auto"}


def test_pictures_are_made_smaller(tmp_path: Path) -> None:
    """As JPEG, in the order of their numbers, no side longer than the detail allows."""
    picture(tmp_path, 10, (3000, 1000))
    picture(tmp_path, 9, (40, 30), "webp")
    (tmp_path / "screenshots" / "notes.txt").write_text("no picture")
    with ScriptedModel([says(text(verdict()))]) as model:
        result = graded(AskingGrader(judge=judge_at(model), pictures=5), recorded_in(tmp_path))
    assert result.verdict is Verdict.PASSED
    parts = model.requests[0].messages[1]["content"]
    images = [part["image_url"] for part in parts if part["type"] == "image_url"]
    assert [image["detail"] for image in images] == ["high", "high"]
    sizes = []
    for image in images:
        head, _, data = image["url"].partition(",")
        assert head == "data:image/jpeg;base64"
        with Image.open(io.BytesIO(base64.b64decode(data))) as shown:
            sizes.append(shown.size)
    assert sizes == [(40, 30), (1536, 512)]
    captions = [part["text"] for part in parts if part["type"] == "text"]
    assert captions[-2:] == ["Picture 9:", "Picture 10:"]


# -- what was paid for


def test_nothing_is_paid_twice(tmp_path: Path) -> None:
    """The same question about the same attempt is read from its folder; each vote has marks of its own."""
    picture(tmp_path, 1)
    recorded = recorded_in(tmp_path)
    with ScriptedModel(lambda request: in_form(request, verdict("yes", 8)).costing(7, 3)) as model:
        grader = AskingGrader(judge=judge_at(model, votes=3), pictures=1)
        first, second = graded(grader, recorded), graded(grader, recorded)
        assert len(model.requests) == len({nonce_of(one) for one in model.requests}) == 3
        for name in ("verdict", "score", "reasoning", "fingerprint"):
            assert getattr(first, name) == getattr(second, name)
        assert (first.usage.requests, first.details["calls_from_record"]) == (3, 0)
        assert (second.usage.requests, second.cost_usd, second.details["calls_from_record"]) == (0, 0.0, 3)
        picture(tmp_path, 1, (41, 30))
        graded(grader, recorded)
        assert len(model.requests) == 6
        changed = AskingGrader(judge=judge_at(model, votes=3, temperature=0), pictures=1)
        assert graded(changed, recorded).fingerprint != first.fingerprint
        assert len(model.requests) == 9
    files = sorted((tmp_path / "judge").glob("*.json"))
    assert len(files) == 9
    kept = json.loads(files[0].read_text())
    assert (kept["call"], kept["model"], kept["usage"]["input_tokens"]) == ("verdict", "scripted", 7)


def test_a_reply_that_contradicts_itself_is_never_kept(tmp_path: Path) -> None:
    """It is asked for once more; a record of it, by an earlier version say, is not believed either."""

    def agrees(said: Said) -> None:
        if (said.verdict == "yes") != (said.points > 5):
            raise Fault(ErrorSource.GRADER, f"it says {said.verdict} with {said.points} points")

    class Checking(AskingGrader):
        async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
            del recorded, prepared
            said = await judge.ask(Said, RULES, (), check=agrees)
            return Opinion.yes_or_no(said.verdict == "yes", said.reasoning)

    odd, fit = (says(text(verdict(word, 0))) for word in ("yes", "no"))
    with ScriptedModel([odd, odd, odd, fit, fit]) as model:
        grader = Checking(judge=judge_at(model))
        result = graded(grader, recorded_in(tmp_path))
        assert result.verdict is Verdict.ERRORED
        assert "two replies that cannot be used; the last: it says yes with 0 points" in result.reasoning
        assert not (tmp_path / "judge").exists()
        assert graded(grader, recorded_in(tmp_path)).verdict is Verdict.FAILED
        (file,) = (tmp_path / "judge").iterdir()
        file.write_text(file.read_text().replace('"verdict": "no"', '"verdict": "yes"'))
        assert graded(grader, recorded_in(tmp_path)).verdict is Verdict.FAILED
        model.assert_finished()


def test_a_damaged_record_is_asked_for_again(tmp_path: Path) -> None:
    """It is not trusted further than it can be read."""
    with ScriptedModel(lambda request: in_form(request, verdict())) as model:
        grader = AskingGrader(judge=judge_at(model))
        graded(grader, recorded_in(tmp_path))
        (file,) = (tmp_path / "judge").iterdir()
        for broken in ("", "[]", '{"reply": {"verdict": "yes"}}'):
            file.write_text(broken)
            assert graded(grader, recorded_in(tmp_path)).verdict is Verdict.PASSED
    assert len(model.requests) == 4


def test_secrets_are_not_recorded(tmp_path: Path) -> None:
    """A judge may repeat what it read."""
    said = verdict(reasoning="the password is hunter22")
    with ScriptedModel(lambda request: in_form(request, said)) as model:
        hidden = recorded_in(tmp_path, redact=lambda given: given.replace("hunter22", "[redacted]"))
        graded(AskingGrader(judge=judge_at(model)), hidden)
    (file,) = (tmp_path / "judge").iterdir()
    assert "hunter22" not in file.read_text()
    assert "[redacted]" in file.read_text()


# -- fingerprints and settings


def test_a_fingerprint_is_of_all_that_can_change_a_grade() -> None:
    """Model, parameters, options, votes and prompts; neither the key nor the name in reports."""

    class Reworded(AskingGrader):
        prompts = ("Say whether the answer is wrong.",)

    def of(grader: type[AskingGrader] = AskingGrader, **judge: Any) -> str:
        options = {key: judge.pop(key) for key in ("pictures", "name", "advisory") if key in judge}
        given = {"model": "m", "base_url": "http://localhost:1/v1", "api_key": "none", **judge}
        block = grader.model_validate({"judge": given, **options})
        assert block.judge is not None
        return block.judge_fingerprint(block.judge)

    same = of()
    assert same.startswith("asking/1/m/")
    assert of(api_key="sk-0123456789", name="other", advisory=True, concurrency=3, timeout_s=5) == same
    others = {
        of(model="n"),
        of(temperature=0),
        of(seed=1),
        of(votes=3),
        of(output="tagged"),
        of(pictures=1),
        of(base_url="http://localhost:2/v1"),
        of(Reworded),
    }
    assert len(others | {same}) == 9


def test_every_judge_is_known_by_what_it_is_sent() -> None:
    """Each grader that asks a model names its prompts and its forms of reply, for the fingerprint."""
    members = [member for _, member, _ in builtin_registry().members("grader")]
    asking = [member for member in members if issubclass(member, ModelGrader)]
    assert len(asking) > 5
    assert [member.__name__ for member in asking if not (member.prompts and member.replies)] == []


def chosen(grader: ModelGrader, run: JudgeConfig | None) -> JudgeConfig:
    (need,) = grader.needs(make_task()).models
    return need.choose_model(run)


class LookingGrader(AskingGrader):
    """Shows its judge pictures."""

    @property
    def sees_pictures(self) -> bool:
        return True


def test_only_graders_that_look_need_a_judge_that_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider without pictures is refused before the run, unless the grader reads texts only."""
    blind = PROVIDERS["openai-compatible"].__class__("blind", "http://127.0.0.1:1/v1", has_images=False)
    monkeypatch.setitem(PROVIDERS, "blind", blind)
    judge = JudgeConfig(provider="blind", model="m")
    assert chosen(AskingGrader(), judge) == judge
    with pytest.raises(ValueError, match="looks at pictures, which 'blind' does not take"):
        chosen(LookingGrader(), judge)
