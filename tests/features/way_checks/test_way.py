"""Checks of what happened on the way, from rows to verdicts, in a real browser and with a real server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_browsereval.features.progress import following
from pytest_browsereval.features.shared import page_reader
from tests.features.way_checks.conftest import TRUSTED, Shop

ORDER = {"method": "POST", "url": "{shop}/api/orders"}
MUG = {"path": "items[0].id", "equals": "mug"}
STEPS = ("Order a cup", "Order a mug", "Save", "Move", "Cart", "Work", "Beacon", "Open")

HOLD: tuple[dict[str, Any], ...] = (
    {"visited": "{shop}"},
    {"visited": "{shop}/cart/*"},
    {"visited": "{shop}/cart/new?x=1#top", "count": 1},
    {"visited": "{shop}/cart", "not": True},
    {"visited": "{shop}/api/**", "not": True},
    {"request": {**ORDER, "json": MUG, "count": 1}},
    {"request": {**ORDER, "json": [MUG, {"path": "items[0].quantity", "min": 2}], "status": 201}},
    {"request": {**ORDER, "status": 500}, "not": True},
    {"request": {"method": "post", "url": "{shop}/api/empty", "status": 204}},
    {"request": {"method": "POST", "url": "{shop}/api/moved", "status": 307}},
    {"request": {"method": "POST", "url": "{shop}/api/orders2", "json": {"path": "a", "equals": 1}}},
    {"request": {"method": "POST", "url": "{shop}/from-worker", "body": {"contains": "hello"}}},
    {"request": {"method": "POST", "url": "{shop}/beacon"}},
    {"request": {"url": "{shop}/frame", "count": 1}},
    {"request": {"url": "**", "sent": {"contains": "4111"}}},
    {"request": {"url": "**", "sent": {"contains": "4112"}}, "not": True},
    {"called": "click", "count": len(STEPS)},
    {"called": "navigate", "not": True},
)


def test_what_happened_is_found(shop: Shop, subtests: pytest.Subtests) -> None:
    """Addresses, requests of pages, frames, pop-ups and workers, and calls; each the other way with `not`."""
    opposite = [{**check, "not": not check.get("not")} for check in HOLD]
    run = shop.play(shop.row("held", *STEPS, checks=HOLD), shop.row("not", *STEPS, checks=opposite))
    run.assert_outcomes(passed=1, failed=1)
    assert run.ret == 1
    for query_id, expected in (("held", "passed"), ("not", "failed")):
        criteria = run.attempt(query_id).grader_results["page_state"].criteria
        for check, criterion in zip(HOLD, criteria, strict=True):
            with subtests.test(f"{query_id}: {check}"):
                assert (criterion.verdict, criterion.reason != "") == (expected, expected == "failed")
    met = run.attempt("held").grader_results["page_state"].criteria[6]
    assert re.fullmatch(r"POST http://[\d.:]+/api/orders -> 201 \(step 2\)", str(met.actual))


def test_a_failed_check_names_the_nearest(shop: Shop, subtests: pytest.Subtests) -> None:
    """Who reads the grade sees what was asked for instead, and when."""
    table: tuple[tuple[dict[str, Any], str], ...] = (
        (
            {"request": {**ORDER, "json": {"path": "items[0].id", "equals": "pot"}}},
            'was sent with items[0].id "mug", not "pot" (step 2)',
        ),
        ({"request": {**ORDER, "json": MUG, "count": 2}}, "1 time, not 2: POST http://"),
        ({"request": {**ORDER, "method": "PUT"}}, "the nearest is POST http://"),
        ({"request": {**ORDER, "status": 500}}, "the last one was answered with 201, not 500 (step 2)"),
        ({"request": {**ORDER, "form": {"id": "mug"}}}, 'the last one was sent with id nothing, not "mug"'),
        ({"visited": "{shop}/cart/old"}, "it was not shown; the nearest is http://"),
        ({"called": "click", "arguments": {"target": "x"}}, "2 calls; target: "),
        ({"called": "navigate"}, "navigate was not called"),
    )
    steps = ("Order a cup", "Order a mug")
    run = shop.play(shop.row("order", *steps, checks=[check for check, _ in table]))
    criteria = run.attempt("order").grader_results["page_state"].criteria
    for (check, why), criterion in zip(table, criteria, strict=True):
        with subtests.test(str(check)):
            assert why in criterion.reason
    assert "2 POSTs to http://" in criteria[0].reason
    assert criteria[0].reason.count("was sent with items[0].id ") == 1


def test_a_form_that_is_sent(shop: Shop) -> None:
    """Its fields are compared by name; the page that it leads to was shown, and what redirects was not."""
    fill = {"tool": "fill", "target": "label=Quantity", "text": "2 & 3"}
    away = {"tool": "navigate", "url": "{shop}/away"}
    buy = {"method": "POST", "url": "{shop}/buy", "form": {"quantity": "2 & 3"}}
    checks = [
        {"request": buy},
        {"visited": "{shop}/buy"},
        {"visited": "{shop}/landed"},
        {"visited": "{shop}/away", "not": True},
        {"request": {"url": "{shop}/away", "status": 302}},
    ]
    shop.play(shop.row("buy", fill, "Buy", away, checks=checks)).assert_outcomes(passed=1)


def test_what_is_not_known_errs(shop: Shop) -> None:
    """What a file holds is not recorded, and a value that decides nothing is not missed."""
    upload = {"method": "POST", "url": "{shop}/upload"}
    lost = {"request": {**upload, "body": {"contains": "secret"}}}
    leak = {"request": {"url": "**", "sent": {"contains": "secret"}}}
    rows = [
        shop.row("open", "Upload", checks=[lost]),
        shop.row("not", "Upload", checks=[{**lost, "not": True}]),
        shop.row("made", "Upload", checks=[{"request": {**upload, "count": 1}}]),
        shop.row("blob", "Blob", checks=[{**leak, "not": True}]),
        shop.row("empty", "Log out", checks=[{**leak, "not": True}, {"request": {"url": "{shop}/logout"}}]),
    ]
    run = shop.play(*rows)
    for query_id in ("open", "not", "blob"):
        attempt = run.attempt(query_id)
        assert (attempt.verdict, attempt.error_source) == ("errored", "grader"), attempt.reason
        assert "was not recorded: it has a file, is not text or exceeds 64 KB" in attempt.reason
    assert {run.attempt(query_id).verdict for query_id in ("made", "empty")} == {"passed"}


def test_secrets_decide_and_are_not_stored(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request with a secret is compared as it was sent; evidence, grades and a regrade do not have it."""
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2-and-more")
    typed = {"tool": "fill", "target": "label=Secret", "text": "${SHOP_PASSWORD}"}
    buy = {"method": "POST", "url": "{shop}/buy", "form": {"secret": "hunter2-and-more"}}
    rows = [
        shop.row("right", typed, "Buy", checks=[{"request": buy}]),
        shop.row("wrong", typed, "Buy", checks=[{"request": {**buy, "form": {"secret": "other-text"}}}]),
    ]
    run = shop.play(*rows, variables=["SHOP_PASSWORD"], dataset=TRUSTED)
    run.assert_outcomes(passed=1, failed=1)
    folder = shop.evals.run_folder()
    stored = [file.read_text(errors="replace") for file in folder.rglob("*.json*")]
    assert not any("hunter2-and-more" in text for text in stored)
    seen = json.loads(next(folder.glob("tasks/right/**/evidence.json")).read_text())
    assert "secret=[redacted]" in seen["page_state"]["request"]["entries"][-1]["body"]
    again = shop.evals.run("shop.eval.yaml", f"--eval-regrade={folder}")
    again.assert_outcomes(passed=1, failed=1)


def test_milestones_have_clocks(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is reached at the step at which it first held."""
    monkeypatch.setattr(following, "SLOW_S", 1e9)
    monkeypatch.setattr(following, "LIMIT_S", 60.0)
    monkeypatch.setattr(page_reader, "LIMIT_S", 60.0)
    stones = [
        {"name": "asked", "check": {"request": {**ORDER, "json": MUG}}},
        {"name": "cart", "check": {"visited": "{shop}/cart/*"}},
        {"name": "called", "check": {"called": "press_key"}},
        {"name": "typed", "check": {"field": "Quantity", "equals": "7"}},
    ]
    steps = (
        *("Order a cup", "Order a mug", "Cart"),
        {"tool": "press_key", "key": "Tab"},
        {"tool": "fill", "target": "label=Quantity", "text": "7"},
    )
    row = shop.row("mug", *steps, checks=[{"title": "Shop"}], milestones=stones)
    run = shop.play(row, capture={"checks": "each"})
    run.assert_outcomes(passed=1)
    lines = next(shop.evals.run_folder().glob("tasks/mug/**/progress.jsonl")).read_text().splitlines()
    names = [one["name"] for one in json.loads(lines[0])["checks"]]
    moments = [json.loads(line) for line in lines[1:]]
    first = {
        name: next(one["step"] for one in moments if one["held"][place]) for place, name in enumerate(names)
    }
    assert first == {'title equals "Shop"': 0, "asked": 2, "cart": 3, "called": 4, "typed": 5}
