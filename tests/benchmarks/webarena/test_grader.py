"""The webarena grader: its rules on known evidence, real pages, a judge where only that can say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_browsereval.benchmarks.webarena import grader as webarena
from pytest_browsereval.benchmarks.webarena import programs
from pytest_browsereval.benchmarks.webarena.grader import WebArenaGrader
from pytest_browsereval.benchmarks.webarena.programs import address_of, read_program
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import Fault
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel
from tests.features.shared.judging.asking import graded, in_form, judge_at
from tests.graders.support import Live, Site, make_recorded, make_task

CART = """<title>Cart</title><table><tr>
<td class="name">Blue &amp; white mug</td><td>2</td></tr></table>
<p class="total">$25.00</p><p class="stock">7</p><p class="late"></p><a class="open" href="/more">more</a>
<div class="photo"><img src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='60'
height='40'%3E%3Crect width='60' height='40' fill='red'/%3E%3C/svg%3E" width=60 height=40></div>
<script>setTimeout(() => document.querySelector('.late').textContent = 'Ready', 400)</script>"""


def block(**fields: Any) -> dict[str, Any]:
    """Return a block as rows have it: what is not used is empty."""
    given = [kind for kind, key in KINDS.items() if fields.get(key)]
    empty: dict[str, Any] = {"reference_answers": None, "reference_url": "", "program_html": []}
    notes = {"string_note": "", "reference_answer_raw_annotation": "as annotated"}
    return {"eval_types": given, **empty, **notes, **fields}


def target(locator: str, required: dict[str, Any], url: str = "last", **more: Any) -> dict[str, Any]:
    return {"url": url, "locator": locator, "required_contents": required, **more}


def part_at(url: str, locator: str = "") -> dict[str, Any]:
    """Return a block about the page at an address."""
    return block(program_html=[target(locator, {"exact_match": "x"}, url)])


KINDS = {
    "string_match": "reference_answers",
    "url_match": "reference_url",
    "program_html": "program_html",
    "page_image_query": "page_image_query",
}


def judged(
    *blocks: dict[str, Any], answer: str | None = None, url: str | None = None, **more: Any
) -> GraderResult:
    task = make_task(evals=blocks)
    grader = WebArenaGrader()
    grader.check(task, Path())
    return graded(grader, make_recorded(task, final_answer=answer, final_url=url, **more))


ANSWERS: list[tuple[dict[str, Any], str | None, bool]] = [
    ({"exact_match": "Blue Mug"}, " 'blue mug' ", True),
    ({"exact_match": "Blue Mug"}, "a blue mug", False),
    ({"exact_match": "0"}, "10", False),
    ({"must_include": ["mug", "$5"]}, "The MUG costs $5.", True),
    ({"must_include": ["mug", "$5"]}, "The mug costs 5 dollars.", False),
    ({"must_include": ["5"]}, "There are 15.", False),
    ({"must_include": ["5"]}, "There are 5, I think.", True),
    ({"must_include": ["5", "1"]}, "There are 15.", True),
    ({"must_include": ["$5 |OR| 5 USD"]}, "It is 5 USD.", True),
    ({"must_exclude": ["red"]}, "It is blue.", True),
    ({"must_exclude": ["red"]}, "It is red.", False),
    ({"required_values": [">= 1,000".replace(",", "")]}, "1,200", True),
    ({"required_values": ["< 5 |OR| > 10"]}, "7", False),
    ({"required_values": ["< 5"]}, "5", False),
    ({"required_values": ["== 5"]}, "five", False),
    ({"one_of": ["red", "blue"]}, "It is blue.", True),
    ({"one_of": ["red", "blue"]}, "It is green.", False),
    ({"fuzzy_match": "N/A"}, "n/a", True),
    ({"exact_match": "x"}, None, False),
    ({"must_exclude": ["red"]}, "  ", False),
]


def test_answers_are_matched(subtests: pytest.Subtests) -> None:
    """By every rule that rows have, each with a criterion and a reason."""
    for references, answer, passes in ANSWERS:
        with subtests.test(references=references, answer=answer, passes=passes):
            result = judged(block(reference_answers=references), answer=answer)
            assert (result.verdict is Verdict.PASSED) is passes, result.reasoning
            assert result.score == float(passes)
            assert all(bool(one.reason) is (one.verdict is Verdict.FAILED) for one in result.criteria)


ADDRESSES: list[tuple[dict[str, Any], str | None, bool]] = [
    ({"reference_url": "http://a.test/x"}, "http://a.test/x/", True),
    ({"reference_url": "http://a.test/x"}, "http://a.test/xyz?q=1", True),
    ({"reference_url": "http://a.test/x?q=1&r=2"}, "http://a.test/x?r=2&q=1&s=3", True),
    ({"reference_url": "http://a.test/x?q=1"}, "http://a.test/x?q=2", False),
    ({"reference_url": "http://a.test/x |OR| http://a.test/y"}, "http://a.test/y", True),
    ({"reference_url": "http://a.test/x"}, None, False),
    ({"reference_url": "http://a.test/x", "url_note": "EXACT"}, "http://a.test/xyz", False),
    ({"reference_url": "http://localhost:1/x", "edition": "visual"}, "http://127.0.0.1:1/x/", True),
    ({"reference_url": "http://a.test/x", "edition": "visual"}, "http://a.test/x?q=1", False),
    ({"reference_url": "http://a/x", "edition": "visual", "url_note": "GOLD in PRED"}, "http://a/x?q", True),
]


def test_addresses_are_matched(subtests: pytest.Subtests) -> None:
    """Contained or equal, by one of several, whatever the order of parameters."""
    for fields, url, passes in ADDRESSES:
        with subtests.test(fields=fields, url=url, passes=passes):
            assert (judged(block(**fields), url=url).verdict is Verdict.PASSED) is passes


def test_all_of_a_row_has_to_hold() -> None:
    """The score is the product: a right answer at a wrong address is a failure that says which."""
    both = block(reference_answers={"exact_match": "5"}, reference_url="http://a.test/x")
    result = judged(both, answer="5", url="http://a.test/y")
    assert [one.verdict.value for one in result.criteria] == ["passed", "failed"]
    assert result.score == 0
    assert result.reasoning.startswith("1 of 2 checks passed; url_match")


def test_rules_that_cannot_be_judged_are_refused(subtests: pytest.Subtests) -> None:
    """Before anything is spent, with what is wrong."""
    cases: list[tuple[dict[str, Any], str]] = [
        (block(reference_answers={"exakt": "5"}), "'exakt' is unknown"),
        (block(eval_types=["string_match"]), "names 'string_match', but the block has nothing for it"),
        (block(eval_types=["dom_match"]), "eval_types.0"),
        (block(reference_answers={"must_include": [{"a": 1}]}), "expected a string or a list of strings"),
        (block(reference_answers={"required_values": ["about 5"]}), "is not a comparison"),
        (block(reference_url="http://a", url_note="PRED in GOLD"), "url_note"),
        (block(reference_url="http://a.test/ |OR| http://[x"), "is not an address: Invalid IPv6"),
        (block(program_html=[target("", {})]), "required_contents"),
        (part_at("last", "alert()"), "is not understood"),
        (part_at("func:shopping_get_latest_order_url()"), "'shopping_get_latest_order_url' is not supported"),
        (part_at("func:reddit_get_post_url('http://a/', 'http://b/')"), "no address"),
        (part_at("func:reddit_get_post_url(__page__)"), "gives no address"),
        (part_at("func:reddit_get_post_url('file:///etc/passwd')"), "is not an address"),
        (part_at("file:///etc/passwd"), "is not an address"),
        (part_at("http://[x"), "is not an address"),
    ]
    for evals, message in cases:
        with subtests.test(evals=evals, message=message), pytest.raises(ValueError, match=message):
            WebArenaGrader().check(make_task(evals=[evals]), Path())
    with pytest.raises(ValueError, match="needs `evals`"):
        WebArenaGrader().check(make_task(evals=[]), Path())


def test_programs_are_read_and_never_run(subtests: pytest.Subtests) -> None:
    """Whatever is not a plain call with texts is refused."""
    for text in (
        "func:__import__('os').system('touch x')",
        "func:get_query_text(open('x'))",
        "func:get_query_text(__page__, f'{1}')",
        "func:get_query_text(__page__, 'a') or 1",
        "func:(",
    ):
        with subtests.test(text=text), pytest.raises(ValueError, match="evals:"):
            read_program(text)


def test_the_address_of_a_post_is_that_of_the_post() -> None:
    """Whatever comment of it was open when the agent stopped."""
    program = "func:reddit_get_post_url('__last_url__')"
    assert address_of(program, "http://r.test/f/books/12/title/-/comment/9") == "http://r.test/f/books/12/"
    assert address_of(program, "http://r.test/about") == "http://r.test/about"


# -- real pages


def attempt(live: Live, site: Site, *targets: dict[str, Any], **fields: Any) -> GraderResult:
    """Look at a real page, take the evidence through JSON as the run folder does, and grade it."""
    grader = WebArenaGrader(wait_s=fields.pop("wait_s", 10))
    task = make_task(evals=[block(program_html=list(targets), **fields)])
    grader.check(task, Path())

    async def course(window: PlaywrightWindow) -> Any:
        seen = await grader.observe(window, task, {})
        assert window.url == f"{site.url}/cart"
        assert len(await window.tabs()) == 1
        return seen

    evidence = json.loads(json.dumps({grader.label: live.run(f"{site.url}/cart", course)}))
    return live.runner.run(grader.grade(make_recorded(task, evidence=evidence)))


def text_of(css: str) -> str:
    return f"document.querySelector('{css}').outerText"


def test_parts_of_real_pages_are_read(live: Live, site: Site) -> None:
    """Of the last page and of others, in a tab beside it; what loads late is waited for."""
    site.pages["/cart"] = CART
    site.pages["/order/1"] = "<h1>Order 1</h1><p class=who>Ada Lovelace</p>"
    cells = "[...document.querySelectorAll('td')].map(e => e.outerText)"
    opens = "document.querySelector('.open').outerHTML = '<b class=opened>yes</b>'"
    result = attempt(
        live,
        site,
        target("", {"must_include": ["Blue & white mug"]}),
        target(text_of(".total"), {"exact_match": "$25.00"}),
        target(cells, {"must_include": ["white mug", "2"]}),
        target(text_of(".late"), {"exact_match": "ready"}),
        target("func:get_query_text(__page__, '.name')", {"exact_match": "Blue & white mug"}),
        target(text_of(".stock"), {"required_values": ["< 8"]}),
        target(text_of(".who"), {"must_include": ["ada |OR| eve"]}, f"{site.url}/order/1"),
        target(text_of(".opened"), {"exact_match": "yes"}, prep_actions=[opens, "nothing.here()"]),
    )
    assert result.verdict is Verdict.PASSED, result.reasoning
    assert len(result.criteria) == 9


FORUM = """<main id=main><a class=fg-inherit>Op</a>
<div class=comment><div class=comment__main><header><h1><a class=fg-inherit>Eve</a><span>
<time datetime="2023-01-01T00:00:00Z"></time></span></h1></header><div class=comment__content>Nice</div></div>
<div class=comment><div class=comment__main><header><h1><a class=fg-inherit>Ada</a><span>
<time datetime="2023-03-01T00:00:00Z"></time></span></h1></header><div class=comment__content>Late</div></div>
</div></div>
<div class=comment><div class=comment__main><header><h1><a class=fg-inherit>Ada</a><span>
<time datetime="2023-02-01T00:00:00Z"></time></span></h1></header><div class=comment__content>Early</div>
</div></div></main>
<table><tr><td data-label=Account><span class=gl-avatar-labeled-sublabel>@ada</span></td>
<td class=col-max-role><span>Guest</span></td></tr></table>
<div class=product-info-main><div class=product-info-price><div class=price-final_price><span>
<span>$12.50</span></span></div></div></div><b id=tab-label-reviews-title>Reviews 4</b>
<div class=rating-result title="80%"></div><table id=productDetails_detailBullets_sections1><tbody>
<tr><th>Color</th><td>Blue</td></tr></tbody></table>"""

PROGRAMS = {
    "reddit_get_latest_comment_content_by_username(__page__, 'Ada')": "Late",
    "reddit_get_parent_comment_username_of_latest_comment_by_username(__page__, 'Ada')": "Eve",
    "reddit_get_parent_comment_username_of_latest_comment_by_username(__page__, 'Eve')": "Op",
    "gitlab_get_project_memeber_role(__page__, 'ada')": "Guest",
    "shopping_get_product_price(__page__)": "12.5",
    "shopping_get_num_reviews(__page__)": "4",
    "shopping_get_rating_as_percentage(__page__)": "80",
    "shopping_get_product_attributes(__page__, 'Colour |OR| Color')": "Blue",
    "get_query_text_lowercase(__page__, '.fg-inherit')": "op",
}


def test_helper_programs_give_what_the_page_shows(live: Live, site: Site) -> None:
    """All that need the page only, on a page as those sites have them."""
    site.pages["/cart"] = FORUM
    targets = [target(f"func:{call}", {"exact_match": text}) for call, text in PROGRAMS.items()]
    result = attempt(live, site, *targets, wait_s=0)
    assert result.verdict is Verdict.PASSED, result.reasoning
    called = {call.partition("(")[0] for call in PROGRAMS} | {"get_query_text", "reddit_get_post_url"}
    assert called == set(programs.PROGRAMS)


def test_what_is_not_on_the_page_fails(live: Live, site: Site) -> None:
    """A part that is not there is the agent's doing, and so is a page that does not exist."""
    site.pages["/cart"] = CART
    result = attempt(
        live,
        site,
        target(text_of(".gone"), {"must_include": ["x"]}),
        target(text_of(".total"), {"must_include": ["$12"]}),
        target("", {"must_include": ["Order"]}, f"{site.url}/order/404"),
        wait_s=0,
    )
    assert [one.verdict for one in result.criteria] == [Verdict.FAILED] * 3
    assert 'does not include "$12": "$25.00"' in result.reasoning


def test_what_cannot_be_read_is_no_failure(live: Live, site: Site) -> None:
    """Of a page that is too large, broken, or was not observed, nothing can be said."""
    site.pages["/cart"] = f"<p>{'x' * 2_100_000}</p>"
    with pytest.raises(Fault, match="at most 2000000 are read"):
        attempt(live, site, target("", {"must_include": ["mug"]}), wait_s=0)
    site.pages |= {"/cart": CART, "/order/1": (500, "text/html", "busy")}
    with pytest.raises(Fault, match=r"cannot be opened: .* answered HTTP 500"):
        attempt(live, site, target("", {"must_include": ["Order"]}, f"{site.url}/order/1"), wait_s=0)
    task = make_task(evals=[block(program_html=[target("", {"exact_match": "x"})])])
    with pytest.raises(Fault, match="what the pages show was not read"):
        graded(WebArenaGrader(), make_recorded(task))


# -- a judge

RULES = {"same": webarena.SAME, "reason": webarena.REASON, "picture": webarena.PICTURE}


class Bench:
    """A judge that says yes or no to each kind of question, and remembers what it was asked."""

    reasoning = "so it is"

    def __init__(self, **says: bool) -> None:
        self.asked: list[tuple[str, ModelRequest]] = []
        self.says = says

    def __call__(self, request: ModelRequest) -> Reply:
        system = request.messages[0]["content"]
        kind = next(name for name, rules in RULES.items() if system.startswith(rules))
        self.asked.append((kind, request))
        key = {"same": "says_the_same", "reason": "gives_the_reason", "picture": "is_right"}[kind]
        return in_form(request, {"reasoning": self.reasoning, key: self.says.get(kind, True)})


def asked(
    evals: dict[str, Any], answer: str | None, folder: Path, evidence: Any = None, **says: bool
) -> tuple[GraderResult, Bench]:
    bench = Bench(**says)
    with ScriptedModel(bench) as model:
        task = make_task(evals=[evals])
        grader = WebArenaGrader(judge=judge_at(model))
        grader.check(task, Path())
        assert grader.needs(task).models
        seen = {} if evidence is None else {grader.label: evidence}
        recorded = make_recorded(task, final_answer=answer, folder=folder, evidence=seen)
        return graded(grader, recorded), bench


def test_a_judge_says_whether_texts_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One question for each reference; all have to hold. A no without a reason fails all the same."""
    evals = block(reference_answers={"must_include": ["mug"], "fuzzy_match": ["two mugs", "$25"]})
    result, bench = asked(evals, "Two mugs for $25", tmp_path)
    assert result.verdict is Verdict.PASSED
    assert [kind for kind, _ in bench.asked] == ["same", "same"]
    assert "$25" in bench.asked[1][1].text
    assert [one.name for one in result.criteria] == ["answer must_include", *["answer fuzzy_match"] * 2]
    assert result.details["calls"] == 2
    monkeypatch.setattr(Bench, "reasoning", "")
    result, _ = asked(evals, "One mug", tmp_path, same=False)
    assert (result.verdict, result.criteria[1].reason) == (Verdict.FAILED, "the judge gave no reason")


def test_a_judge_is_not_asked_where_it_cannot_change_the_verdict(tmp_path: Path) -> None:
    """Something else failed already, or nothing was answered."""
    evals = block(reference_answers={"must_include": ["cup"], "fuzzy_match": ["two mugs"]})
    result, bench = asked(evals, "Two mugs", tmp_path)
    assert (result.verdict, bench.asked) == (Verdict.FAILED, [])
    assert "a model was not asked about 1 more" in result.reasoning
    assert result.cost_usd == 0.0
    assert result.fingerprint.startswith("webarena/1/scripted/")  # as that of attempts it was asked about
    result, bench = asked(block(reference_answers={"fuzzy_match": ["x"]}), None, tmp_path)
    assert (result.verdict, bench.asked) == (Verdict.FAILED, [])


def test_every_text_of_a_list_about_a_page_is_asked_about(tmp_path: Path) -> None:
    """One that was passed over would hold."""
    contents = {"fuzzy_match": ["a mug", "a cup |OR| a glass"]}
    evals = block(program_html=[{"url": "last", "locator": "", "required_contents": contents}])
    seen: Any = {"rules": [{"targets": [{"value": "A shop."}], "pictures": []}]}
    items = WebArenaGrader()._items(make_recorded(make_task(evals=(evals,)), evidence={"webarena": seen}))
    assert [getattr(item, "expected", None) for item in items] == ["a mug", "a cup", "a glass"]


def test_the_reason_of_a_task_that_cannot_be_achieved_is_compared(tmp_path: Path) -> None:
    """With the one that the row knows."""
    evals = block(reference_answers={"fuzzy_match": "N/A"}, string_note="There is no such shop.")
    for yes, verdict in ((True, Verdict.PASSED), (False, Verdict.FAILED)):
        result, bench = asked(evals, "I could not find the shop.", tmp_path, reason=yes)
        ((kind, request),) = bench.asked
        assert (result.verdict, kind) == (verdict, "reason")
        assert "There is no such shop." in request.text


QUESTION = {"question": "Is it red? (yes/no)", "answer": "yes"}
PICTURES = block(
    page_image_query=[{"eval_image_url": "last", "eval_image_class": ".photo", "eval_vqa": [QUESTION]}],
    edition="visual",
)


def test_a_judge_is_shown_the_pictures_of_the_page(live: Live, site: Site, tmp_path: Path) -> None:
    """Those of a real page, as they are drawn; the files stay with the attempt."""
    site.pages["/cart"] = CART
    task = make_task(evals=[PICTURES])

    async def course(window: PlaywrightWindow) -> Any:
        return await WebArenaGrader().observe(window, task, {})

    seen = json.loads(json.dumps(live.run(f"{site.url}/cart", course)))
    assert asked(PICTURES, None, tmp_path, seen, picture=False)[0].verdict is Verdict.FAILED
    result, bench = asked(PICTURES, None, tmp_path, seen)
    assert result.verdict is Verdict.PASSED
    content = bench.asked[0][1].messages[1]["content"]
    assert [part["type"] for part in content].count("image_url") == 1
    with Image.open(tmp_path / "pictures" / "webarena-1-1.jpeg") as drawn:
        assert drawn.size == (60, 40)
        red, green, _ = drawn.convert("RGB").getpixel((30, 20))  # type: ignore[misc]
        assert red > 200
        assert green < 60


def test_a_page_without_pictures_fails_without_a_judge(tmp_path: Path) -> None:
    """There is nothing that it could be shown."""
    seen = {"url": "http://a.test/", "rules": [{"targets": [], "pictures": [[]]}]}
    result, bench = asked(PICTURES, None, tmp_path, seen)
    assert (result.verdict, bench.asked) == (Verdict.FAILED, [])
    assert "the page shows no such picture" in result.reasoning
