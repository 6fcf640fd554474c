"""Checks and sites of a row that a run cannot look at are refused before it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row


def test_a_check_of_a_feature_that_is_left_out_is_refused(evals: Evals, subtests: pytest.Subtests) -> None:
    """The feature is named before anything is spent, for checks and milestones."""
    for feature, check in (
        ("way_checks", {"visited": "**/admin", "not": True}),
        ("way_checks", {"field": "Name", "equals": "Ada"}),
        ("files", {"download": "*.csv"}),
    ):
        for keys in ({"checks": [check]}, {"milestones": [{"name": "m", "check": check}]}):
            with subtests.test(str(keys)):
                rest: dict[str, Any] = {"graders": ["page_state"], "checks": [{"text": "x"}], **keys}
                evals.write([row("a", **rest)], browser="playwright")
                told = f"*`{next(iter(check))}`*is left out (-p no:browsereval.{feature})*"
                run = evals.run("shop.eval.yaml", "-p", f"no:browsereval.{feature}")
                assert run.ret == 4
                run.stderr.fnmatch_lines([told])


def test_a_check_is_not_a_grader(evals: Evals, subtests: pytest.Subtests) -> None:
    """Its name among the graders is answered with what to write; so is a site with a letter too many."""
    table: tuple[tuple[dict[str, Any], str], ...] = (
        (
            {"graders": ["request"]},
            "*'request': it is a check. Write `graders: [[]\"page_state\"[]]` and `checks: *",
        ),
        ({"graders": ["text"]}, "*'text': it is a check. Write *"),
        ({"sites": ["shopp"]}, "*`sites` has 'shopp'*Did you mean 'shop'? Sites: shop."),
    )
    plain: dict[str, Any] = {"graders": ["answer"], "answer": "x"}
    for given, told in table:
        with subtests.test(str(given)):
            run = evals.play([row("a", **{**plain, **given})], sites={"shop": {"static": "."}})
            assert run.ret == 4
            run.stderr.fnmatch_lines([told])
