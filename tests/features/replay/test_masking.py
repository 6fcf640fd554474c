"""Reference answers kept out of recorded calls of judges: gone from the file, and back in a replay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.features.replay.masking import AnswerMask, make_mask
from tests.graders.support import make_task


def mask_of(answer: Any, **row: Any) -> AnswerMask:
    task = make_task(query="Which city?", answer=answer, protected=True, **row)
    found = make_mask(task, task)
    assert found is not None
    return found


def test_a_reply_comes_back_as_it_was(subtests: pytest.Subtests) -> None:
    """To the letter: it has to stay JSON, and the words of its form to be those of the form."""
    cases: list[tuple[Any, str]] = [
        ("Plastic Man, 1988", "the reference answer:\nPlastic Man, 1988\n; PLASTIC or plastic, 1988"),
        ("pass", '{"reasoning": "Pass it is", "verdict": "pass"}'),
        (12.5, '{"points": 12.5, "of": 12.50}'),
        ("1,234,567", '{"points": 1234567, "said": "1,234,567"}'),
        (["red", {"size": "XL"}], '["red", {"size": "XL"}]'),
        ("Université de Montréal", "Université de Montréal"),
        ("3", "[withheld 3] of 3"),
    ]
    for answer, said in cases:
        with subtests.test(answer=answer, said=said):
            kept = mask_of(answer)
            masked = kept.mask({"role": "judge", "content": [{"text": said}]})
            assert masked["role"] == "judge"
            for text in json.dumps(answer, ensure_ascii=False).strip('"'), said:
                assert text not in json.dumps(masked, ensure_ascii=False)
            assert kept.unmask(masked) == {"role": "judge", "content": [{"text": said}]}


def test_another_spelling_is_gone_for_good() -> None:
    """As it is in grades: nobody could tell what it was."""
    kept = mask_of("Plastic Man")
    masked = kept.mask("pLaStIc--mAn")
    assert masked == kept.unmask(masked) == "[withheld]"


def test_letters_that_json_escapes_are_found() -> None:
    """Some providers write every letter beyond ASCII so."""
    said = json.dumps({"reasoning": 'It is Université, 北京, a quote " and \n'})
    for answer in ("Université", "北京"):
        kept = mask_of(answer)
        masked = kept.mask(said)
        assert json.dumps(answer).strip('"') not in masked
        assert json.loads(kept.unmask(masked)) == json.loads(said)


def test_a_number_within_a_date_or_an_address_is_none_of_the_answer() -> None:
    """They are others in each run, and a request would not be met again."""
    text = "Date of the attempt: 2026-11-23, at http://127.0.0.1:23/; 23 in all"
    assert mask_of("23").mask(text).endswith("2026-11-23, at http://127.0.0.1:23/; [withheld 0] in all")


def test_only_protected_tasks_have_one() -> None:
    """Cassettes of all others are as they were."""
    assert make_mask(make_task(answer="42"), make_task(answer="42")) is None
    none = make_task(protected=True)
    assert make_mask(none, none) is None


def test_another_reference_has_another_digest() -> None:
    """Else the old verdict would be replayed for a row whose answer was put right."""
    assert mask_of("12").digest != mask_of("13").digest
    assert len(mask_of("12").digest) < 16
