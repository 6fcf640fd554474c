"""The answer grader."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.graders.answer import AnswerGrader
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.nested import fill_sites
from pytest_browsereval.model.grades import GraderResult, Verdict
from tests.graders.support import make_recorded, make_task

pytestmark = pytest.mark.quick


def grade(expected: Any, answer: str | None, /, **options: Any) -> GraderResult:
    # As a run does it: what the block leaves to its default stays so.
    grader, task = fill_sites(AnswerGrader(**options), {}), make_task(answer=expected)
    grader.check(task, Path())
    return asyncio.run(grader.grade(make_recorded(task, final_answer=answer)))


THREE = ["Travel Mug", "Seagrass Basket", "Garden Trowel"]


def test_right_answers(subtests: pytest.Subtests) -> None:
    """A right answer passes with score 1, however it is spelt within the rules of the match."""
    cases: list[tuple[str, Any, str]] = [
        ("exact", "Blue Mug", "  blue\u00a0 mug\n"),
        ("exact", 64, "64.00"),
        ("exact", ["Rome", "Roma"], "roma"),
        ("includes", "Piotr", "Piotr wrote it: the handle gets hot."),
        ("includes", "5", "There are 5."),
        ("includes", 64, "It costs $64.00"),
        ("includes", ["red", "crimson"], "a crimson one"),
        ("regex", "^order [0-9]+$", "Order 17"),
        ("number", 64, "It costs $64.00."),
        ("number", 5, "It is 5, not 6."),
        ("number", 5, "5, which is more than 3"),
        ("number", 5, "No more than 5 items"),
        ("number", 179.94, str(59.98 * 3)),
        ("date", "2024-03-05", "2024. március 5."),
        ("date", "2024-03-05T14:30", "5 March 2024, 14.30 Uhr"),
        ("date", "2024-03-05T14:30", "5. mars 2024 kl. 14.30"),
        ("date", "2024-03-05", "It is March 5, 2024, not March 6, 2024."),
        ("number", "1,234.50", "1234.5"),
        ("number", 50, "The Bird Feeder, by 50 g"),
        ("date", "2025-03-04", "It was on March 4, 2025."),
        ("date", "2025-03-04", "4 Mar 2025"),
        ("set", ["a", "b"], "B and A"),
        ("set", "red, green", "green\nred"),
        ("set", [["a", "b"], ["c", "d"]], "d, c"),
        ("set", [1, 2], "[2, 1]"),
        ("exact", "Trader Joe's", "\u200bTrader Joe\u2019s\u00ad"),
        ("includes", "Trader Joe's", "It is at Trader Joe\u2019s."),
        ("includes", "state-of-the-art", "a \u201cstate\u2011of\u2011the\u2013art\u201d lamp"),
        ("number", 1500, "価格は1500円です。"),
        ("number", 123456, "The price is ₹1,23,456."),
        ("number", 12500, "Le prix est de 12\u202f500 €."),
        ("number", 1.5, "Es sind 1,5 Liter."),
        ("number", 5_000_000, "about 5 million"),
        ("includes", "blue mug", "The *blue* mug"),
        ("includes", "O'Brien", "O`Brien"),
        ("number", 12.5, "The price is _12€50_ (https://shop.test/item/17)."),
        ("number", -5, "Minus 5 °C"),
        ("number", 2.5, "2½ cups[1]"),
        ("number", 3e8, "3\u00d710⁸ m/s"),
        ("number", 1234.5, "1 234,50 zł"),
        ("number", 3_000_000, "3 miljoner kronor"),
        ("number", 799, "The iPhone-15 costs US-$799, not $899."),
        ("date", "2024-05-03 14:30", "Am 3. Mai 2024 um 14:30 Uhr."),
        ("date", "2024-05-03 14:30", "le 3 mai 2024 à 14h30"),
        ("date", "2024-05-03 14:30", "2024年5月3日午後2時30分"),
        ("date", "2024-05-03T14:30Z", "Released at 2024-05-03 16:30 CEST."),
        ("date", "2024-05", "Mai 2024"),
        ("date", "2024-05-03", "mayo 3, 2024"),
        ("date", "1998", "It was founded in 1998."),
        ("date", "2024-05-03", "Am 3. Mai 2024 um 10 Uhr."),
        ("date", "2024-05-03", "2024年5月3日です"),
        ("date", "2024-05-03", "3 мая 2024"),
        ("date", "2024-05-03", "03.05.24"),
        ("date", "2024-05-03", "It was on 03-May-2024."),
        ("regex", "^Trader Joe's$", "Trader Joe\u2019s"),
        ("regex", "^Trader Joe\u2019s$", "Trader\u00a0Joe's"),
        ("set", ["red", "green"], "The colours are **red** and green."),
        ("set", ["red", "green"], 'Here they are:\n```json\n["red", "green"]\n```'),
        ("set", ["red", "green"], "- [x] red\n- [x] green"),
        ("set", ["東京", "大阪"], "答え\uff1a東京と大阪"),
        ("set", THREE, "Travel Mug, Seagrass Basket, and Garden Trowel."),
        ("set", THREE, "- **Travel Mug**\n- **Seagrass Basket**\n- *Garden Trowel*"),
        ("set", THREE, "The products are: Garden Trowel; `Travel Mug`; Seagrass Basket!"),
        ("set", THREE, "Travel Mug, Seagrass Basket und Garden Trowel"),
        ("set", [100, 200, 300], "100,200,300"),
        ("set", ["Salt and Pepper", "Lyon, France"], "Lyon, France and Salt and Pepper"),
        ("set", ["東京", "大阪"], "東京、大阪"),
        *(("number", 5, text) for text in ("5, five, and 5.0", "\uff15")),
        ("number", 1234.5, "1.234,50 € oder 1\u2019234.50 Fr."),
        *(("number", 15000, "1万5000円"), ("number", 7.5, "7,5 km"), ("number", 3, "up by 3%")),
        *(("number", 5000, "5 duizend euro"), ("number", 3500, "3千5百円"), ("number", 5, "**5**百货")),
        ("number", 7.25, "\u0667\u066b\u0662\u0665"),
        *(("date", "2025-03-04", text) for text in ("4th of March 2025", "Tue, 4 Mar 2025", "03/04/2025")),
        *(("date", "March 4", text) for text in ("2025-03-04", "2025-03-04T23:59:59-08:00")),
        *(("date", "2025-03-14", "14/03/2025"), ("date", "2025-03", "March 4, 2025")),
        *(("date", "2024-02-29", "29 Feb 2024"), ("date", "2025-03-04 17:00", "4 March 2025 5pm")),
        ("date", "2025-03-04T17:00Z", "2025-03-04 18:00:00+01:00"),
        ("date", "2025-03-04", "2025-03-04, that is March 4, 2025"),
        *(("set", ["red", "green", "5"], text) for text in ("red, green, and 5", "- red\n- green\n\n* 5")),
        *(("set", ["red", "green"], "1. red\n2) green"), ("set", ["sand", "wind"], "sand, wind")),
        *(("set", ["Paris, France", "Oslo"], "Paris, France; Oslo"), ("set", [1234, 5], "1,234, 5")),
    ]
    for match, reference, answer in cases:
        with subtests.test(match=match, reference=reference, answer=answer):
            result = grade(reference, answer, match=match)
            assert (result.verdict, result.score) == (Verdict.PASSED, 1.0)
            assert result.criteria[0].verdict is Verdict.PASSED


OTHERS_THAN_5 = ["not exactly 5", "no es 5", "不是5", "5ではない", "5가 아닙니다", "nem 5", "5 değil"]
OTHERS_THAN_5 += ["<5", "It costs >5.", "ليس 5", "more than 5", "It costs less than $5."]
OTHERS_THAN_5 += ["mehr als 5", "plus de 5"]
OTHER_DAYS = ["not March 5, 2024", "NOT on 2024-03-05", "nicht am 5. März 2024", "It isn't March 5, 2024."]
OTHER_DAYS += ["no es el 5 de marzo de 2024", "2024年3月5日ではない", "the day before March 5, 2024"]


def test_wrong_answers(subtests: pytest.Subtests) -> None:
    """A wrong answer fails with score 0 and says why; a guess at several values is wrong."""
    cases: list[tuple[str, Any, str, str]] = [
        ("exact", "5", "15", 'the answer is "15", not "5"'),
        ("exact", "mug", "the mug", "not"),
        ("exact", 5, "5 or 6", "not 5"),
        ("includes", "5", "15", "does not include"),
        ("includes", 5, "15, 5.5, -5", "does not include"),
        ("includes", "mug", "smug", "does not include"),
        ("includes", 5, "5 million", "does not include"),
        ("includes", "100", "100'000", "does not include"),
        ("regex", "^5$", "15", "does not match"),
        ("number", 5, "minus 5", "number is -5, not 5"),
        ("number", 6.02, "6.02 \u00d7 10²³", "number is 6.02E"),
        ("number", 3, "3 ribu", "no unambiguous number"),
        ("number", 3, "$3 M", "no unambiguous number"),
        ("number", 5, "It is not 5; see https://shop.test/5.", "no unambiguous number"),
        ("number", 1080, "1920 \u00d7 1080", "several numbers"),
        ("number", 1234567890, "1234567891", "number is 1234567891, not 1234567890"),
        ("number", 12345678901234567890, "12345678901234567891", "number is 12345678901234567891, not"),
        ("number", 10**32, str(10**32 + 1), "not 1000"),
        ("number", 123456789.25, "123456789.26", "not 123456789.25"),
        *(("number", 5, text, "no unambiguous number") for text in OTHERS_THAN_5),
        *(("date", "2024-03-05", text, "no date that can be read") for text in OTHER_DAYS),
        ("date", "2024", "not 2024", "no date that can be read"),
        *(
            ("date", "2025-03-04", text, "no date that can be read")
            for text in ("soon", "May", "Sunday", "1741046400000", "2025-02-30", "Order 2025/17 of May")
        ),
        *(("number", 5, text, "several numbers") for text in ("2\u20135", "-5 degrees, then 5")),
        ("number", 5, "192.168.0.1, 5'11, 1,2,5", "no unambiguous number"),
        ("date", "2025-03-04", "From 2025-03-04 until 2025-03-06", "contains 2 dates"),
        ("date", "2025-03-04", "March 2025", "it names no day"),
        ("date", "2025-03-04 17:00", "2025-03-04", "it names no hour"),
        ("date", "2025-03-04T17:00Z", "2025-03-04T17:00+01:00", "the hour is 16, not 17"),
        ("date", "2024-05-05", "3 to 5 May 2024", "contains 2 dates"),
        ("date", "2024-05-03", "2024年5月3日〜5日", "contains 2 dates"),
        ("date", "2024-05-03", "2024-05-03/05", "no date that can be read"),
        ("date", "2005-05-03", "May 3\u20135, 2024", "the year is 2024, not 2005"),
        ("date", "2024-05-03 14:30", "2024-05-03 14:30\u201315:30", "it names no hour"),
        ("date", "2024-05-03 10:00", "On May 3, 2024, 10:00 AM - 11:00 AM.", "it names no hour"),
        ("date", "2024-05-03T16:30Z", "2024-05-03 16:30 CEST", "the hour is 14, not 16"),
        ("number", 5, "15", "the answer's number is 15, not 5"),
        *(("number", 5, f"5{word}", "the answer's number is 5E?") for word in (" tusen", " тисяч", "百円")),
        ("number", 5, "5 or 6", r"several numbers \(5, 6\); expected 5"),
        ("number", 5, "five", "no unambiguous number"),
        ("number", 5, "about 5 million", "the answer's number is"),
        ("number", 5, "It is \u20135 degrees.", "the answer's number is -5, not 5"),
        ("number", 5, "3rd, E5 and 1.2.3", "no unambiguous number"),
        ("date", "2024-05-03", "05.03.2024", "the month is 3, not 5"),
        ("date", "2024-05-03", "5. März 2024", "the month is 3, not 5"),
        ("date", "2025-03-04", "March 4", "it names no year"),
        ("date", "2025-03-04", "4 or 5 March, I am not sure", "not"),
        ("date", "2025-03-04", "2025-03-04 or 2025-03-05", "contains 2 dates"),
        ("date", "2025-03-04", "tomorrow", "no date that can be read"),
    ]
    for match, reference, answer, reason in cases:
        with subtests.test(match=match, reference=reference, answer=answer):
            result = grade(reference, answer, match=match)
            assert (result.verdict, result.score) == (Verdict.FAILED, 0.0)
            with pytest.raises(AssertionError, match=reason):
                raise AssertionError(result.criteria[0].reason)


def test_answers_that_may_mean_two_things(subtests: pytest.Subtests) -> None:
    """An answer that is right in another convention alone cannot be judged."""
    cases: list[tuple[str, Any, str]] = [
        ("number", 12500, "Der Preis ist 12.500 €."),
        ("number", 12500, "Le prix est de 12 500 €."),
        ("number", 1200, "about 1.2k"),
        ("number", 4.5, "Rated 4.5/5"),
        ("number", 0.75, "3/4 of them"),
        ("number", -1234.5, "The balance is ($1,234.50)."),
        ("number", 3, "the 3rd"),
        ("number", 12, "12pcs"),
        ("number", 17, "Order ORD-17"),
        ("number", 5, "item-5, ±5"),
        ("number", 3000, "3 ribu"),
        ("date", "2024-05-13", "24/05/13"),
        ("date", "2024-11-03", "3. marraskuuta 2024"),
        ("includes", 12500, "12.500 €"),
        ("date", "2024-05-03", "It was on 03/05/2024."),
        ("date", "2024-05-03", "3 Toukokuuta 2024"),
        ("date", "2024-03-05", "5 मार्च 2024"),
        ("date", "2024-03-05", "2024 m. kovo 5 d."),
        ("date", "2024-05-03", "في \u0663 مايو \u0662\u0660\u0662\u0664"),
    ]
    for match, reference, answer in cases:
        with subtests.test(match=match, reference=reference, answer=answer):
            with pytest.raises(
                GraderFault, match=r"cannot tell whether the answer .*: it can be read in more than one way"
            ):
                grade(reference, answer, match=match)
            other = "2024-06-04" if match == "date" else 13
            assert grade(other, answer, match=match).verdict is Verdict.FAILED


def test_no_answer(subtests: pytest.Subtests) -> None:
    """An attempt that gave no answer fails, whatever the reference."""
    cases: list[str | None] = [None, "", "  \n"]
    for answer in cases:
        for match in ["exact", "includes", "regex", "set"]:
            with subtests.test(answer=answer, match=match):
                result = grade(".*", answer, match=match)
                assert (result.verdict, result.score) == (Verdict.FAILED, 0.0)
                assert result.reasoning == "no answer was given"
                assert result.details["is_answered"] is False


def test_a_block_with_all_its_keys_judges_the_same() -> None:
    """A regrade reads one: a date in two orders is no failure there."""
    whole = AnswerGrader(match="date").model_dump(mode="json", exclude={"type", "name", "advisory"})
    with pytest.raises(GraderFault, match="cannot tell"):
        grade("2024-05-03", "03-05-2024", **whole)


def test_case_sensitive() -> None:
    """Letters in upper and lower case differ where the block says so."""
    for match in ("exact", "includes", "regex", "set"):
        assert grade("Mug", "mug", match=match).verdict is Verdict.PASSED
        assert grade("Mug", "mug", match=match, case_sensitive=True).verdict is Verdict.FAILED
        assert grade("Mug", "Mug", match=match, case_sensitive=True).verdict is Verdict.PASSED


def test_tolerance_and_day_first() -> None:
    """A number may be off by the tolerance; the day of a date comes first where the block says so."""
    assert grade(60, "59.98", match="number", tolerance=0.02).verdict is Verdict.PASSED
    assert grade(60, "59.98", match="number", tolerance=0.01).verdict is Verdict.FAILED
    assert grade("2025-04-03", "03/04/2025", match="date", day_first=False).verdict is Verdict.FAILED
    assert grade("2025-04-03", "on 03/04/2025", match="date", day_first=True).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("answer", "score", "reason"),
    [
        ("a, b", 0.8, 'lacks ["c"]'),
        ("a, b, c, d", 6 / 7, 'also has ["d"]'),
        ("a, x", 0.4, 'lacks ["b", "c"] and also has ["x"]'),
        ("a; x, y; b", 2 / 3, 'also has ["x, y"]'),
        ("x", 0.0, "lacks"),
    ],
)
def test_a_set_gives_partial_credit(answer: str, score: float, reason: str) -> None:
    """The score of a set is F1 over its items; only the whole set passes."""
    result = grade(["a", "b", "c"], answer, match="set")
    assert result.verdict is Verdict.FAILED
    assert result.score == pytest.approx(score)
    assert reason in result.reasoning


def test_words_that_belong_to_no_item_are_more_than_the_set() -> None:
    """The reference says what the parts are, and what is left over counts."""
    for reference, answer, extra in (
        (THREE, "None of: Travel Mug, Seagrass Basket, Garden Trowel", "None of"),
        (THREE, "Not Travel Mug, Seagrass Basket and Garden Trowel", '"Not"'),
        (["Mug"], "Travel Mug", '"Travel'),
        ([100, 200], "100,200,300", '"300"'),
        (["a", "b"], "Other than: a, b", "Other than"),
        (["a", "b"], "Nessuno: a, b", "Nessuno"),
        (["a", "b"], "Incorrect: a, b", "Incorrect"),
        (["a", "b"], "I failed to find: a, b", "failed"),
        (["a", "b"], "One of these: a, b", "One of"),
        (["a", "b"], "blue is a, b", "blue is"),
        (["a", "b"], "✗ a, b", "✗"),
        (["a", "b"], "a, b, …", "…"),
        (["a", "b"], "- ~~a~~\n- b", 'lacks ["a"]'),
        (["a", "b"], "- [x] a\n- [ ] b", "[ ]"),
    ):
        result = grade(reference, answer, match="set")
        assert result.verdict is Verdict.FAILED
        assert extra in result.reasoning


def test_what_the_task_denies_itself_is_no_denial() -> None:
    """An introduction may repeat the negation of the task."""
    for query, answer in (
        ("Which mugs are not in stock?", "Not in stock: a, b"),
        ("List the failing builds.", "Failed builds: a, b"),
    ):
        recorded = make_recorded(make_task(query=query, answer=["a", "b"]), final_answer=answer)
        assert asyncio.run(AnswerGrader(match="set").grade(recorded)).verdict is Verdict.PASSED


def test_a_zone_that_is_one_of_several() -> None:
    """A time in such a zone cannot be compared with one of another."""
    with pytest.raises(GraderFault, match="its zone is one of several"):
        grade("2024-05-03T10:15Z", "Released at 2024-05-03 12:15 IST.", match="date")
    assert grade("2024-05-03 12:15", "2024-05-03 12:15 IST", match="date").verdict is Verdict.PASSED


def test_the_blocks_reference_stands_in_for_the_rows() -> None:
    """A reference in the block is used in place of the row's answer."""
    assert grade("row", "block", reference="block").verdict is Verdict.PASSED
    assert grade("row", "row", reference="block").verdict is Verdict.FAILED


def test_what_a_report_shows() -> None:
    """The criterion has reference and answer as they were given; the fingerprint changes with the rules."""
    result = grade(["Rome", "Roma"], "Paris", name="city")
    assert result.grader == "city"
    assert result.criteria[0].expected == ["Rome", "Roma"]
    assert result.criteria[0].actual == "Paris"
    other = grade("Rome", "Paris", match="includes").fingerprint
    assert result.fingerprint == grade("Rome", "Paris").fingerprint != other


def test_rows_that_cannot_be_judged_are_refused(subtests: pytest.Subtests) -> None:
    """A row without a usable reference is refused before anything is spent."""
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {}, r"'answer' has no reference. Give the row one \(\"answer\": \"...\"\)"),
        ({"answer": []}, {}, "has no reference"),
        ({"answer": {"a": 1}}, {}, "is not a string or number"),
        ({"answer": True}, {}, "is not a string or number"),
        ({"answer": "many"}, {"match": "number"}, "is not a number; write one such as 59.98"),
        ({"answer": [5, "many"]}, {"match": "number"}, '"many" of the grader'),
        ({"answer": "soon"}, {"match": "date"}, "cannot be read as a date"),
        ({"answer": "("}, {"match": "regex"}, "is not a regular expression"),
        ({"answer": [{"a": 1}]}, {"match": "set"}, "is not a list of strings or numbers"),
        ({"answer": [["a"], []]}, {"match": "set"}, "is not a list of strings or numbers"),
    ]
    for fields, options, message in cases:
        with (
            subtests.test(fields=fields, options=options, message=message),
            pytest.raises(ValueError, match=message),
        ):
            AnswerGrader(**options).check(make_task(**fields), Path())


def test_possible_answers_are_refused() -> None:
    """An answer that is one of many possible ones is not matched, unless the block allows it."""
    possible = make_task(answer="a hotel", metadata={"additional": {"answer_type": "possible"}})
    with pytest.raises(ValueError, match=r"Use a model judge for this row, or write allow_possible: true"):
        AnswerGrader().check(possible, Path())
    AnswerGrader(allow_possible=True).check(possible, Path())
    AnswerGrader().check(make_task(answer="42", metadata={"additional": {"answer_type": "golden"}}), Path())


@pytest.mark.parametrize("match", ["exact", "includes", "regex", "number", "date"])
def test_an_answer_of_any_length_is_counted_whole(match: str) -> None:
    """Only its beginning is compared, and shown."""
    reference = "2025-03-04" if match == "date" else 7 if match == "number" else "mug"
    result = grade(reference, "x y " * 50_000 + "mug 7 2025-03-04", match=match)
    assert result.verdict is Verdict.FAILED
    assert "… (200016 characters)" in str(result.reasoning)
