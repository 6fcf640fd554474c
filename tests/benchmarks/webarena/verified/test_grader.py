"""The webarena_verified grader: typed answers, recorded requests, what it refuses, a whole run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.webarena.verified.grader import WebArenaVerifiedGrader
from pytest_browsereval.benchmarks.webarena.verified.traffic import value_at
from pytest_browsereval.capture.har import HAR_FILE
from pytest_browsereval.errors import Fault
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.traffic import Traffic
from tests.benchmarks.webarena.verified.cases import HTML, entry, entry_of
from tests.features.shared.judging.asking import graded
from tests.graders.support import make_recorded, make_task
from tests.hooks.small_evals import Evals, row

SHOP = "http://shop.test:7770"
NEW = f"{SHOP}/new"
DONE = {"task_type": "mutate", "status": "SUCCESS", "retrieved_data": None}
SENT = {"name": "fall", "note": None}
SAVE: dict[str, Any] = {"url": f"{SHOP}/save", "http_method": "POST", "post_data": SENT}


def response(schema: dict[str, Any], *data: Any, **fields: Any) -> dict[str, Any]:
    """Return the evaluator of an answer."""
    expected = {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": list(data) or None}
    expected |= fields.pop("expected", {})
    schema = {"type": "array", "items": schema} if data else {"type": "null"}
    return {"evaluator": "AgentResponseEvaluator", "results_schema": schema, "expected": expected, **fields}


def request(expected: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the evaluator of a request."""
    return {"evaluator": "NetworkEventEvaluator", "expected": expected, **fields}


def answer(data: Any = None, **fields: Any) -> str:
    return json.dumps({"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": data, **fields})


def judged(
    folder: Path, *evals: dict[str, Any], answer: str | None, entries: list[dict[str, Any]] | None = None
) -> GraderResult:
    task, grader = make_task(evals=evals), WebArenaVerifiedGrader()
    grader.check(task, Path())
    if entries is not None:
        (folder / HAR_FILE).write_text(json.dumps({"log": {"entries": entries}}))
    return graded(grader, make_recorded(task, final_answer=answer, folder=folder))


ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"format": "currency"}}}
MUG, CUP = {"name": "Blue mug", "price": 12.5}, {"name": "Cup", "price": 3}

TEXT, X = {"type": "string"}, response({"type": "string"}, "x")
ANSWERS: list[tuple[dict[str, Any], str | None, str]] = [
    # the evaluator, an answer, and why it fails
    (response(ITEM, MUG, CUP), answer([CUP, {"name": "blue MUG.", "price": "$12.50"}]), ""),
    (response(ITEM, MUG, CUP, ordered=True), answer([CUP, MUG]), "has 0 of the 2 expected values in order"),
    (response(ITEM, MUG), answer([{**MUG, "size": "m"}]), "has 0 of the 1"),
    (response(ITEM, MUG), answer([{"name": "Blue mug"}]), "has 0 of the 1"),
    (response(ITEM, MUG, CUP), answer([MUG, CUP, CUP]), "has 2 of the 2 expected values and 1 others"),
    (response(TEXT, ["yes", "of course"]), answer("Of course!"), ""),
    (response(TEXT, "yes"), answer([["yes", "no"]]), "has 0 of the 1"),
    (response(TEXT, "^#?17$"), answer(["#17"]), ""),
    (response(TEXT, "seventeen"), answer(["^.*$"]), "has 0 of the 1"),
    (response(TEXT), answer(None), ""),
    (response(TEXT), answer([]), ""),
    (response(TEXT), answer(["x"]), 'retrieved_data is ["x"], not null'),
    (X, answer(None), "retrieved_data is null"),
    (X, answer(["x"], status="NOT_FOUND_ERROR"), "status is 'NOT_FOUND"),
    (X, answer(["x"], status=None), "status is None"),
    (X, answer(["x"], status="^.*$"), "status is '^.*$'"),
    (X, answer(["x"], task_type="MUTATE"), "task_type is 'MUTATE'"),
    (X, f"Done.\n```json\n{answer(['x'])}\n```", ""),
    (X, "x", "the answer is not a JSON object"),
    (X, None, "no answer was given"),
    (response({}, expected=DONE), answer(["ignored"], task_type="mutate"), ""),
    (response(TEXT, "^blue .*$"), answer(["BLUE MUG"]), ""),
    (response(TEXT, "^blue$"), answer(["blue mug"]), "has 0 of the 1"),
    (response({"format": "string_list"}, "pens, ink"), answer(["ink,,pens "]), ""),
    (response({"format": "json"}, '{"b": 1, "a": [2,3]}'), answer(['{"a":[2, 3],"b":1}']), ""),
    (response({"format": "markdown"}, "# A\n\n- b\n- c"), answer(["#  A  \r\n\n\n\n* b\n+ c"]), ""),
    (response({"format": "markdown"}, "[a b](http://x.test/)"), answer(["[a  \n b](  http://x.test/ )"]), ""),
    (response({"format": "location-name"}, "Ann Lee"), answer(["lee, ANN"]), ""),
    (response({"format": "location-name"}, "Ann Lee"), answer(["!?"]), "has 0 of the 1"),
]


def test_answers_are_compared(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """By type, in any order unless the row says otherwise; never by a pattern or guesses of the agent's."""
    for evaluator, given, reason in ANSWERS:
        with subtests.test(evaluator=evaluator, given=given):
            result = judged(tmp_path, evaluator, answer=given)
            assert (result.verdict is Verdict.FAILED) is bool(reason), result.reasoning
            assert result.score == float(not reason)
            assert reason in result.reasoning


HOSTILE = [
    '{"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": ' + "[" * 900 + "]" * 900 + "}",
    *(answer([text]) for text in ("9" * 400 + " years", "1e999", "9" * 9_000, "\ud800", "NaN", "0" * 90_000)),
    answer([{"a": {"b": [None]}}, float("inf"), True, None]),
    answer({"a": 1}),
]


def test_hostile_answers_fail_and_break_nothing(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """An attempt that could make its grade errored would leave the pass rate."""
    cases: list[tuple[str, Any]] = [
        *(("duration", "5 min"), ("currency", "5"), ("month", "May"), ("date", "2023-05-05"), ("number", 5)),
        *(("distance", "5 km"), ("coordinates", "5, 5"), ("string", "^five(ish)*$")),
        *(("url", "http://five.test"), ("location-name", "Five")),
    ]
    for kind, expected in cases:
        with subtests.test(kind=kind, expected=expected):
            for given in HOSTILE:
                result = judged(tmp_path, response({"format": kind}, expected), answer=given)
                assert result.verdict is Verdict.FAILED


OTHER = entry("POST", f"{SHOP}/save", sent={"name": "spring"}, status=302)
DRAFT = entry_of(SAVE, url=f"{SHOP}/save?draft=1")
PRICED = {"type": "object", "properties": {"price": {"format": "currency"}}}
NAMED, NOTE = {"response_content": {"$.items[0].name": "Mug"}}, {"post_data": {"$.note.text": "lgtm"}}
REQUESTS: list[tuple[dict[str, Any], list[dict[str, Any]], bool]] = [
    (request(SAVE), [entry_of(SAVE)], True),
    (request(SAVE), [], False),
    (request(SAVE), [entry_of(SAVE, response_status=500)], False),
    (request(SAVE), [entry_of(SAVE, http_method="PUT")], False),
    (request(SAVE), [entry_of(SAVE, post_data={"name": "fall", "note": "x"})], False),
    (request(SAVE), [entry_of(SAVE), OTHER], False),
    (request(SAVE, last_event_only=False), [entry_of(SAVE), OTHER], True),
    (request(SAVE, should_not_exist=True), [entry_of(SAVE)], False),
    (request(SAVE, should_not_exist=True), [], True),
    (request(SAVE), [DRAFT], False),
    (request(SAVE, ignored_query_params=["draft"]), [DRAFT], True),
    (request(SAVE, ignored_query_params_patterns=["^dr"]), [DRAFT], True),
    (request({**SAVE, "url": [f"{SHOP}/a", f"{SHOP}/save"]}), [entry_of(SAVE)], True),
    (request({**SAVE, "url": "^.*/(save|store)$"}), [entry_of(SAVE)], True),
    (request({**SAVE, "headers": {"X-A": "one"}}), [entry_of(SAVE, headers={"x-a": "two"})], False),
    (request({**SAVE, **NAMED}), [entry_of(SAVE, **NAMED)], True),
    (request({**SAVE, **NOTE}), [entry_of(SAVE, post_data={"$.note.text": "LGTM"})], True),
    (request({**SAVE, "headers": {"referer": f"{NEW}/"}}), [entry_of(SAVE, headers={"Referer": NEW})], True),
    (
        request({**SAVE, "response_cookies": {"note": "^.*added.*$"}}),
        [entry_of(SAVE, response_cookies={"note": "Mug%20added"})],
        True,
    ),
    (
        request({**SAVE, "post_data": {"price": 12.5}}, post_data_schema=PRICED),
        [entry_of(SAVE, post_data={"price": "$12.50"})],
        True,
    ),
    (
        request({**SAVE, "post_data": {"name": "fall"}}, ignored_post_data_params_patterns=["^form_key$"]),
        [entry_of(SAVE, post_data={"name": "fall", "form_key": "abc"})],
        True,
    ),
]


def test_requests_are_compared(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """By address, method, headers, what was sent, status, cookies and what was replied."""
    told, done = answer(task_type="MUTATE"), response({}, expected=DONE)
    home = entry("GET", SHOP, headers={"accept": HTML})
    for evaluator, entries, passes in REQUESTS:
        with subtests.test(evaluator=evaluator, entries=entries):
            result = judged(tmp_path, done, evaluator, answer=told, entries=[home, *entries])
            assert (result.verdict is Verdict.PASSED) is passes, result.reasoning
            assert result.evidence == (HAR_FILE,)


def test_the_last_page_counts_where_a_page_was_to_be_shown(tmp_path: Path) -> None:
    """Not the requests that it made itself, and no earlier page."""
    shown = response({}, expected={**DONE, "task_type": "navigate"})
    page = request({"url": f"{SHOP}/mugs", "query_params": {"sort": ["Price"]}})
    mugs = entry("GET", f"{SHOP}/mugs?sort=price", headers={"accept": HTML})
    other = entry("GET", f"{SHOP}/cups", headers={"accept": HTML})
    part = entry("GET", f"{SHOP}/api", headers={"accept": "*/*"})
    told = answer(task_type="NAVIGATE")
    assert judged(tmp_path, shown, page, answer=told, entries=[other, mugs, part]).score == 1
    assert judged(tmp_path, shown, page, answer=told, entries=[mugs, other]).score == 0


def test_an_attempt_without_its_traffic_is_errored(tmp_path: Path) -> None:
    """A recording that is missing or broken says nothing of the agent."""
    with pytest.raises(Fault, match="was not recorded"):
        judged(tmp_path, response({}, expected=DONE), request(SAVE), answer=answer())
    (tmp_path / HAR_FILE).write_text('{"log": {}}')
    with pytest.raises(Fault, match="cannot be read"):
        judged(tmp_path, response({}, expected=DONE), request(SAVE), answer=answer())


def test_it_says_what_it_looks_at_in_the_traffic() -> None:
    """So that only that is kept."""
    grader = WebArenaVerifiedGrader()
    assert grader.needs(make_task(evals=[response({"type": "string"}, "x")])).traffic is None
    engine = request({"url": SHOP, "headers": {"Cookie": "^(?!.*_engine=foot).*$"}})
    cart = request({"url": SHOP, "response_cookies": {"note": "x"}, "response_content": {"n": 1}})
    needs = grader.needs(make_task(evals=[response({}, expected=DONE), engine, cart]))
    assert needs.traffic == Traffic(replies=True, cookies=frozenset({"_engine", "note"}))


def test_rows_that_cannot_be_judged_are_refused(subtests: pytest.Subtests) -> None:
    """Before anything is spent."""
    done, needs = response({}, expected=DONE), "needs `evals` with an AgentResponseEvaluator"
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([], needs),
        ([request(SAVE)], needs),
        ([{"evaluator": "DomEvaluator"}], "'DomEvaluator' .* expected tags: 'AgentResponseEvaluator'"),
        ([response({"format": "full_address"}, "x")], "type 'full_address' of a value is unknown"),
        ([response({"format": "date"}, "soon")], "soon"),
        ([response({"format": "string_list"}, " , ")], "an empty list"),
        ([response({"format": "markdown"}, "")], "no text"),
        ([done, request({**SAVE, "verb": "GET"})], "expected.verb: Extra inputs"),
        ([done, request({**SAVE, "post_data": {"ids": [1]}})], "not a choice of several"),
        ([done, request({**SAVE, "post_data": {"$.a[?(@.b=~1)]": 1}})], "not understood"),
        ([done, request({**SAVE, "url": "^(save$"})], "not a regular expression"),
    ]
    for evals, message in cases:
        with subtests.test(evals=evals, message=message), pytest.raises(ValueError, match=message):
            WebArenaVerifiedGrader().check(make_task(evals=evals), Path())


def test_paths_lead_into_what_was_sent() -> None:
    """Also into texts that are JSON, and to keys by a pattern."""
    sent = {"a": {"b": [{"n": 1, "v": "x"}, {"n": 2, "v": "y"}]}, "text": '{"c": 3}', "re_7[t]": "hi"}
    assert value_at(sent, "$.a.b[1].v") == "y"
    assert value_at(sent, "$['a']['b'][?(@.n == 2)].v") == ["y"]
    assert value_at(sent, "$.text.c") == 3
    assert value_at(sent, "$.^re_\\d+\\[t\\]$") == "hi"
    assert value_at(sent, "$.a.none") is None


@pytest.mark.slow
def test_a_whole_run_records_and_grades_the_traffic(pytester: pytest.Pytester) -> None:
    """A real Chromium, a real site; the traffic is recorded since the row needs it."""
    evals = Evals(pytester.path)
    site = evals.path / "site"
    site.mkdir()
    (site / "index.html").write_text("<a href='mugs.html'>Mugs</a>")
    (site / "mugs.html").write_text("<title>Mugs</title>")
    told = json.dumps({"task_type": "NAVIGATE", "status": "SUCCESS", "retrieved_data": None})
    moves = [{"tool": "navigate", "url": "{shop}/mugs.html"}, {"tool": "done", "answer": told}]
    rules = [response({}, expected={**DONE, "task_type": "navigate"}), request({"url": "{shop}/mugs.html"})]
    given: dict[str, Any] = {"start_url": "{shop}/", "graders": ["webarena_verified"], "evals": rules}
    given["answer"] = None
    evals.write_rows(row("goes", **given, solution=moves), row("stays", **given, solution=moves[1:]))
    keys: dict[str, Any] = {"sites": {"shop": {"static": "site"}}, "gate": {"min_pass_rate": 0.5}}
    evals.write_config(browser="playwright", **keys)
    result = evals.run("shop.eval.yaml")
    assert result.ret == 0, result.stdout.str()
    folders = sorted(file.parent for file in evals.run_folder().glob(f"tasks/**/{HAR_FILE}"))
    verdicts = [json.loads((folder / "metadata.json").read_text())["verdict"] for folder in folders]
    assert verdicts == ["passed", "failed"]
