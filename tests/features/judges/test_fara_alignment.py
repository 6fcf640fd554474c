from __future__ import annotations

from pathlib import Path

from pytest_browsereval.features.judges.fara import FaraAlignmentGrader
from pytest_browsereval.model.grades import Verdict
from tests.features.shared.judging.asking import recorded_in
from tests.features.shared.judging.bench import Bench, aligned


def test_a_verdict(tmp_path: Path) -> None:
    """Task, actions and answer as texts; one question."""
    for word, verdict in (("PASS", Verdict.PASSED), ("FAIL", Verdict.FAILED)):
        bench = Bench(tmp_path / word, {"alignment": aligned(word)})
        attempt = bench.attempt(("click", {"target": "Buy"}, "ok"), pictures=2)
        result = bench.judged(FaraAlignmentGrader, attempt)
        assert (result.verdict, result.score) == (verdict, float(word == "PASS"))
        assert result.reasoning == "the actions fit"
        (request,) = bench.requests["alignment"]
        user = request.messages[1]["content"]
        assert isinstance(user, str)  # no pictures
        for told in ('1. click(target="Buy") | page "http://shop.test/"', "How much is it?", "42"):
            assert told in user


def test_doing_nothing_fails_without_a_question(tmp_path: Path) -> None:
    """No action and no answer; with one of them the judge is asked. No record at all is errored."""
    bench = Bench(tmp_path, {"alignment": aligned()})
    result = bench.judged(FaraAlignmentGrader, recorded_in(tmp_path))
    assert result.verdict is Verdict.ERRORED
    assert "messages.jsonl is missing" in result.reasoning
    result = bench.judged(FaraAlignmentGrader, bench.attempt(answer=" "))
    assert (result.verdict, result.score, bench.counts) == (Verdict.FAILED, 0.0, {})
    assert bench.judged(FaraAlignmentGrader, bench.attempt(answer="42")).verdict is Verdict.PASSED
