"""The page_state grader."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.model.grades import GraderResult, Verdict
from tests.graders.support import Live, Site, make_recorded, make_task

SHOP = """<!doctype html><title>Cart</title><h1>Thank&nbsp;you,
 Ada</h1><p>Order 17</p><p id="total">$59.98</p><button>Pay</button><button>Pay</button>
<script>window.cart = {items: ['mug', 'plate']}; localStorage.cart = JSON.stringify(cart);
localStorage.note = 'Wrap it'; sessionStorage.step = '2';</script>"""


def grade_seen(seen: Any, *checks: dict[str, Any], **options: Any) -> GraderResult:
    grader, task = PageStateGrader(**options), make_task(checks=checks)
    grader.check(task, Path())
    recorded = make_recorded(task, evidence={} if seen is None else {grader.label: seen})
    return asyncio.run(grader.grade(recorded))


def attempt(live: Live, url: str, *checks: dict[str, Any], **options: Any) -> GraderResult:
    """Observe a real page, take the evidence through JSON as the run folder does, and grade it."""
    grader, task = PageStateGrader(**{"wait_s": 0, **options}), make_task(start_url=url, checks=checks)
    grader.check(task, Path())

    async def course(window: PlaywrightWindow) -> Any:
        return await grader.observe(window, task, {})

    evidence = json.loads(json.dumps({grader.label: live.run(url, course)}))
    return live.runner.run(grader.grade(make_recorded(task, evidence=evidence)))


def verdicts(result: GraderResult) -> list[bool]:
    return [criterion.verdict is Verdict.PASSED for criterion in result.criteria]


HOLD: list[dict[str, Any]] = [
    {"url": {"contains": "q=mug"}},
    {"url": {"regex": "[?&]q=mug$"}},
    {"title": "Cart"},
    {"text": "Thank you, Ada"},
    {"text": "Order 17"},
    {"text": {"regex": "^Order [0-9]+$|Order 17"}},
    {"role": "heading"},
    {"role": "heading", "name": "Thank you, Ada"},
    {"role": "button", "name": "Pay", "count": 2},
    {"role": "alert", "count": 0},
    {"js": "document.querySelector('#total').textContent", "number": 59.98},
    {"js": "cart.items", "set_equals": ["plate", "mug"]},
    {"js": "window.basket", "exists": False},
    {"js": "cart", "path": "items[1]", "equals": "plate"},
    {"storage": "local:cart", "path": "items[0]", "equals": "mug"},
    {"storage": "local:cart", "path": "length(items)", "min": 2},
    {"storage": "local:note", "equals": "Wrap it"},
    {"storage": "session:step", "equals": 2},
    {"storage": "session:none", "exists": False},
]
BREAK: list[tuple[dict[str, Any], Any, str]] = [
    # check, actual, reason
    ({"url": "http://elsewhere/"}, None, 'not "http://elsewhere/"'),
    ({"title": "cart"}, "Cart", 'it is "Cart", not "cart" (it would pass in lenient mode)'),
    (
        {"text": "Order 1"},
        None,
        'the text does not contain "Order 1" as whole words, only as a part of "Order 17"; the nearest line',
    ),
    ({"text": "never shown"}, None, 'the text does not contain "never shown"'),
    ({"role": "heading", "name": "Thank"}, 0, "the page shows 0 of the role 'heading' named 'Thank', not at"),
    ({"role": "button", "count": 1}, 2, "the page shows 2 of the role 'button', not 1"),
    ({"js": "basket.items.length", "min": 1}, None, "it threw ReferenceError: basket is not defined"),
    ({"js": "basket.items.length", "exists": False}, None, "it threw ReferenceError"),
    ({"js": "cart.items.length", "equals": "2"}, 2, 'it is 2, not "2" (it would pass in lenient'),
    ({"storage": "local:cart", "path": "items[5]", "equals": "mug"}, None, 'it is null, not "mug"'),
    ({"storage": "local:none", "equals": "x"}, None, 'it is null, not "x"'),
    ({"storage": "local:note", "path": "length(@)", "min": 99}, 7, "it is 7, less than 99"),
]


def test_a_right_page_passes(live: Live, site: Site) -> None:
    """Every kind of check holds on a page that is as it should be."""
    site.pages["/cart?q=mug"] = SHOP
    result = attempt(live, f"{site.url}/cart?q=mug", *HOLD)
    assert result.reasoning == f"{len(HOLD)} of {len(HOLD)} checks passed"
    assert (result.verdict, result.score) == (Verdict.PASSED, 1.0)
    assert result.details["title"] == "Cart"
    assert result.evidence == ("evidence.json",)


def test_a_wrong_page_fails_check_by_check(live: Live, site: Site) -> None:
    """Every kind of check can fail, with the actual value and a reason to act on."""
    site.pages["/"] = SHOP
    result = attempt(live, f"{site.url}/", *[check for check, _, _ in BREAK])
    assert (result.verdict, result.score) == (Verdict.FAILED, 0.0)
    for criterion, (check, actual, reason) in zip(result.criteria, BREAK, strict=True):
        assert reason in criterion.reason, check
        if actual is not None:
            assert criterion.actual == actual


def test_a_check_with_not_must_not_hold(live: Live, site: Site, subtests: pytest.Subtests) -> None:
    """What holds fails, what does not hold passes; what could not be read, cut or looked at does neither."""
    site.pages["/"] = site.pages["/?q=mug"] = SHOP
    held = attempt(live, f"{site.url}/?q=mug", *({**check, "not": True} for check in HOLD))
    assert verdicts(held) == [False] * len(HOLD)
    assert re.fullmatch("it holds, but must not: .*q=mug.*", held.criteria[1].reason)
    unmet = [check for check, _, _ in BREAK]
    opposite = attempt(live, site.url, *({**check, "not": True} for check in unmet))
    for check, criterion in zip(unmet, opposite.criteria, strict=True):
        with subtests.test(str(check)):
            has_value = criterion.reason == ""
            assert criterion.verdict is (Verdict.PASSED if has_value else Verdict.FAILED), criterion.reason
    seen = {"url": "http://x/", "title": "Cart", "text": {"value": "Thank you", "cut": True}, "roles": {}}
    for check in ({"text": "never"}, {"role": "button"}):
        with pytest.raises(Fault, match=r"cannot be decided|was not observed"):
            grade_seen(seen, {**check, "not": True})


def test_weights_make_the_score(live: Live, site: Site) -> None:
    """The score is the weighted share of the checks that hold; only all of them pass."""
    site.pages["/"] = SHOP
    result = attempt(live, site.url, {"title": "Cart", "weight": 3}, {"title": "Shop"})
    assert (result.verdict, result.score) == (Verdict.FAILED, 0.75)
    assert result.reasoning.startswith("1 of 2 checks passed; title equals")


def test_the_lenient_mode(live: Live, site: Site) -> None:
    """Lenient checks forgive case, blanks and numbers as text, and nothing more."""
    site.pages["/"] = SHOP
    checks: list[dict[str, Any]] = [
        {"title": " cart"},
        {"text": "thank YOU"},
        {"js": "'2'", "equals": 2},
        {"text": "hank"},
        {"title": "Car"},
    ]
    assert verdicts(attempt(live, site.url, *checks, mode="lenient")) == [True, True, True, False, False]
    assert verdicts(attempt(live, site.url, *checks)) == [False] * 5


def test_a_page_that_is_still_at_work_is_waited_for(live: Live, site: Site) -> None:
    """What the last click brings a moment later still counts; without waiting it would be missed."""
    site.pages["/"] = "<p>Wait</p><script>setTimeout(() => { document.body.append('Done') }, 400)</script>"
    assert attempt(live, site.url, {"text": "Done"}, wait_s=10).verdict is Verdict.PASSED
    site.pages["/"] = "<p>Wait</p>"
    assert attempt(live, site.url, {"text": "Done"}, wait_s=0.1).verdict is Verdict.FAILED


def test_a_page_that_navigates_while_it_is_read(live: Live, site: Site) -> None:
    """A navigation in the middle of a reading does not make the grade errored."""
    site.pages["/"] = "<script>setTimeout(() => { location = '/next' }, 100)</script>"
    site.pages["/next"] = "<script>setTimeout(() => { location = '/end' }, 100)</script>"
    site.pages["/end"] = "<h1>The end</h1>"
    result = attempt(live, site.url, {"role": "heading", "name": "The end"}, {"text": "The end"}, wait_s=10)
    assert result.verdict is Verdict.PASSED


def test_checks_of_the_block_come_first(live: Live, site: Site) -> None:
    """Checks of the block hold for every row, beside the row's own."""
    site.pages["/"] = SHOP
    result = attempt(live, site.url, {"text": "Order 17"}, checks=[{"title": "Cart"}])
    assert [criterion.name.split()[0] for criterion in result.criteria] == ["title", "text"]


def test_grading_is_pure() -> None:
    """The same evidence gives the same grade, without any browser; missing evidence is a fault."""
    seen = {"url": "http://x/", "title": "Cart", "text": {"value": "Thank\nyou", "cut": False}}
    assert grade_seen(seen, {"text": "Thank you"}) == grade_seen(seen, {"text": "Thank you"})
    assert grade_seen(seen, {"text": "Thank you"}).verdict is Verdict.PASSED
    for check in ({"role": "button"}, {"js": "1", "equals": 1}, {"storage": "local:a", "equals": 1}):
        with pytest.raises(Fault, match=r"was not observed; run the task again") as fault:
            grade_seen({**seen, "roles": {}, "js": {}, "storage": {}}, check)
        assert fault.value.source is ErrorSource.GRADER
    with pytest.raises(Fault, match="the final page was not observed"):
        grade_seen(None, {"title": "Cart"})


def test_texts_and_addresses_are_compared_as_people_see_them() -> None:
    """What nobody sees is not in a text, and an address may be spelt in several ways."""
    url, title = "http://x.test/h.html?ort=K%c3%b6ln&q=%7Ea", "Ver\u00adsand\u200b"
    seen = {"url": url, "title": title, "text": {"value": "Ver\u00adsand\u200b frei\ufeff", "cut": False}}
    for check in (
        {"text": "Versand frei"},
        {"text": {"regex": "^Versand frei$"}},
        {"title": "Versand"},
        {"title": "Ver\u00adsand"},
        {"url": "http://x.test:80/h.html?ort=Köln&q=~a"},
        {"url": {"contains": "ort=Köln"}},
        {"url": {"regex": "ort=K(ö|o)ln"}},
        {"url": {"one_of": ["http://y.test", "HTTP://X.test/h.html?ort=K%C3%B6ln&q=~a"]}},
    ):
        assert verdicts(grade_seen(seen, check)) == [True], check
    for check in ({"url": {"not_equals": "http://x.test/h.html?ort=Köln&q=~a"}}, {"url": {"contains": "Kö"}}):
        assert verdicts(grade_seen(seen, check)) == [False], check
    assert verdicts(grade_seen({**seen, "url": "http://x.test/"}, {"url": "http://x.test"})) == [True]
    seen["url"] = "http://localhost:80/a"
    assert (
        verdicts(grade_seen(seen, {"url": "http://[::1]/a"}, {"url": {"contains": "localhost"}}))
        == [True] * 2
    )
    for url, part, holds in (
        ("http://x.test/a%2Fb", "a/b", False),
        ("http://x.test/?q=a%26b=1", "a&b=1", False),
        ("http://x.test/?next=%2Fcart", "next=/cart", True),
        ("http://x.test/a%20b", "a b", True),
    ):
        assert verdicts(grade_seen({**seen, "url": url}, {"url": {"contains": part}})) == [holds], url
    assert verdicts(grade_seen({**seen, "url": "http://x.test/a/"}, {"url": "http://x.test/a"})) == [False]


def test_cut_text_is_only_believed_where_it_decides() -> None:
    """What is found in cut text holds; what is not found there cannot be decided."""
    seen = {"url": "u", "title": "t", "text": {"value": "begin", "cut": True}}
    assert grade_seen(seen, {"text": "begin"}).verdict is Verdict.PASSED
    with pytest.raises(Fault, match="cannot be decided: the page has more text than is read"):
        grade_seen(seen, {"text": "end"})


def test_wrong_checks_are_refused(subtests: pytest.Subtests) -> None:
    """A check that is not well formed is refused before anything is spent."""
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([], 'has nothing to check. Give the row checks, such as "checks": '),
        ([{"path": "a", "equals": 1}], "has nothing to check"),
        ([{"txt": "a"}], r"has 0 of the keys url, title, .* Did you mean 'text'\?"),
        ([{"url": "a", "title": "b"}], "has 2 of the keys"),
        ([{"title": 5}], r"'title' is 5; write a string or \{\"contains\""),
        ([{"title": ""}], "'title' is \"\"; write a string"),
        ([{"text": {"contain": "a"}}], r"unknown key 'contain'. Did you mean 'contains'\?"),
        ([{"text": "a", "contains": "b"}], "has the unknown key 'contains'. Next to 'text' it may have: "),
        ([{"role": "button", "nam": "Pay"}], r"unknown key 'nam'. Did you mean 'name'\?"),
        ([{"role": ""}], "'role' is \"\"; write an ARIA role"),
        ([{"role": "buton", "not": True}], "'role' is \"buton\"; write an .* Did you mean 'button'"),
        ([{"role": "button", "name": 5}], "'name' is 5; write the accessible name"),
        ([{"role": "button", "count": -1}], "'count' is -1; write a whole number"),
        ([{"role": "button", "count": True}], "'count' is true; write a whole number"),
        ([{"js": "", "equals": 1}], "'js' is \"\"; write a string"),
        ([{"js": "a"}], "has 0 comparisons"),
        ([{"js": "a", "title": "b", "path": "c", "equals": 1}], "has 2 of the keys"),
        ([{"storage": "cart", "exists": True}], "the storage 'cart' is unknown; write local:KEY or session:"),
        ([{"storage": "local:", "exists": True}], "write local:KEY"),
        ([{"storage": "local:a", "path": "a[", "exists": True}], "is not a JMESPath expression"),
        ([{"storage": "local:a", "path": 5, "exists": True}], "'path' is 5; write a JMESPath"),
        ([{"title": "a", "weight": 0}], "'weight' is 0; write a number above 0"),
    ]
    for checks, message in cases:
        with subtests.test(checks=checks, message=message), pytest.raises(ValueError, match=message):
            PageStateGrader().check(make_task(checks=checks), Path())
