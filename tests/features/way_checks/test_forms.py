"""Checks of the way that are not well formed, or that a run cannot observe: refused before it begins."""

from __future__ import annotations

from typing import Any

import pytest

from tests.features.way_checks.conftest import SITE, Shop

URL = {"url": "{shop}/api"}
WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {"visited": "/cart*"},
        '\'visited\' is "/cart*", which names no site and no host. Write one, such as "{shop}/c',
    ),
    ({"visited": "{shopp}/cart"}, "'shopp' is not a site of the config. Did you mean 'shop'?"),
    ({"visited": "{shop}/", "cuont": 2}, "unknown key 'cuont'. Did you mean 'count'?"),
    ({"visited": "{shop}/", "count": -1}, "'count' is -1; write a whole number"),
    ({"request": "{shop}/api"}, "without a `url`. Write a block such as"),
    (
        {"request": {"url": "/api"}},
        '\'url\' is "/api", which names no site and no host. Write one, such as "{shop}/api"',
    ),
    ({"request": {**URL, "methd": "POST"}}, "unknown key 'methd' in `request`. Did you mean 'method'?"),
    ({"request": {**URL, "method": "PSOT"}}, "'method' is \"PSOT\"; write one of: GET, POST"),
    ({"request": {**URL, "status": "201"}}, "'status' is \"201\"; write an HTTP status, such as 201"),
    ({"request": {**URL, "json": {"path": "a[", "equals": 1}}}, "is not a JMESPath expression"),
    (
        {"request": {**URL, "form": {"path": "sku", "equals": "mug"}}, "not": True},
        '`form` compares fields by their names, without a `path`; write {"sku": "mug"}',
    ),
    ({"request": {**URL, "body": "mug"}}, "'body' is \"mug\"; write a block with a comparison"),
    ({"request": URL, "count": 1}, "unknown key 'count'"),
    ({"called": "clic"}, "names the tool 'clic', which does not exist. Did you mean 'click'?"),
    (
        {"called": "navigate", "arguments": {"ulr": {"contains": "/admin"}}, "not": True},
        "names the argument 'ulr', which does not exist. Did you mean 'url'? Known: ",
    ),
    ({"field": "Name"}, "has 0 comparisons"),
    ({"field": "", "equals": 1}, "'field' is \"\"; write the label"),
)


def test_what_is_wrong_is_refused(shop: Shop, subtests: pytest.Subtests) -> None:
    """With file and line, what was given and what to write; a milestone as well."""
    for first in range(0, len(WRONG), 5):  # as many as a run tells
        part = WRONG[first : first + 5]
        run = shop.play(*(shop.row(f"row-{place}", checks=[check]) for place, (check, _) in enumerate(part)))
        assert run.ret == 4
        said = "\n".join([*run.errlines, *run.outlines])
        for place, (check, told) in enumerate(part, start=1):
            with subtests.test(str(check)):
                line = next(one for one in said.splitlines() if f"rows.jsonl:{place}:" in one)
                assert told in line
    stone = {"name": "a", "check": WRONG[0][0]}
    run = shop.play(shop.row("mug", checks=[{"title": "x"}], milestones=[stone]))
    assert run.ret == 4
    run.stderr.fnmatch_lines(["*rows.jsonl:1: row 'mug': the milestone 'a': 'visited' is*"])


def test_a_browser_without_pages_is_refused(shop: Shop, subtests: pytest.Subtests) -> None:
    """No address, request or field can be observed there; calls can."""
    rows = {
        "visited": {"visited": "{shop}/"},
        "request": {"request": {"url": "{shop}/api"}},
        "field": {"field": "Name", "equals": "Ada"},
    }
    shop.evals.write_config(browser="blank", sites={"shop": SITE})
    for query_id, check in rows.items():
        with subtests.test(query_id):
            shop.evals.write_rows(shop.row(query_id, checks=[check]))
            run = shop.evals.run("shop.eval.yaml")
            assert run.ret == 4
            assert any("browser: {type: blank}` has no Playwright page" in one for one in run.errlines)
    called = [{"called": "done"}, {"called": "click", "not": True}]
    shop.evals.write_rows(shop.row("called", checks=called, start_url=None))
    shop.evals.run("shop.eval.yaml").assert_outcomes(passed=1)
