"""Designed failures in a real browser: the cause is named, and no sentence says what is not recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.features.causes.rules import find_cause
from pytest_browsereval.model.causes import Cause
from tests.features.causes.designs import CART, DESIGNS, NAV, PAGES
from tests.hooks.small_evals import Evals
from tests.support import PageServer

AGENT = """
async def play(context):
    base = context.task.start_url.rstrip("/")
    for step in context.task.metadata.additional["steps"]:
        given = {name: str(value).replace("{s}", base) if isinstance(value, str) else value
                 for name, value in step.items() if name not in ("tool", "record")}
        if "say" in step:
            return step["say"]
        if "record" in step:
            if "address" in given:
                await context.window.goto(given["address"])
            await context.tools.record(step["record"], given, "done")
        else:
            await context.tools.call(step["tool"], given)
    return context.tools.answer
"""


def serve(pages: PageServer) -> None:
    for path, body in PAGES.items():
        pages.page(path, f"<!doctype html><title>{path}</title>{CART}{NAV}<main>{body}</main>")
    pages.page("/boom", "<h1>Something went wrong</h1>", status=500)
    pages.page("/private", "<h1>Not for you</h1>", status=403)


def play(evals: Evals, pages: PageServer) -> dict[str, Cause | None]:
    """Play all designs with their solution and without it; return the causes by row."""
    serve(pages)
    evals.path.joinpath("designed.py").write_text(AGENT)
    rows = [
        _row(number, pages.url, is_known=known) for number in range(len(DESIGNS)) for known in (True, False)
    ]
    evals.write_rows(*rows)
    evals.write_config(
        agent={"type": "function", "function": "designed:play"},
        browser={"type": "playwright", "action_timeout_ms": 1500},
        limits={"timeout_ms": 60_000, "max_steps": 12},
        capture={"screenshots": "off"},
        lanes=4,
    )
    evals.run("shop.eval.yaml", "-q")
    run = open_run(evals.run_folder())
    found = {one.query_id: find_cause(one.metadata, one.folder) for one in run.attempts}
    assert len(found) == len(rows)
    return found


def _row(number: int, url: str, *, is_known: bool) -> dict[str, Any]:
    design = DESIGNS[number]

    def place(steps: Any) -> Any:
        return json.loads(json.dumps(steps).replace("{s}", url))

    return {
        "query_id": f"{number}-{'known' if is_known else 'alone'}",
        "query": design.query,
        "dataset": "designs",
        "start_url": f"{url}/",
        "metadata": {"additional": {"steps": list(design.steps)}},
        **({"solution": place(list(design.solution))} if is_known else {}),
        **design.grade,
    }


def _complain(found: dict[str, Cause | None], *, is_known: bool) -> Iterator[str]:
    for number, design in enumerate(DESIGNS):
        cause = found[f"{number}-{'known' if is_known else 'alone'}"]
        names = design.cause if is_known else (design.alone or design.cause)
        if cause is None or cause.name not in names.split("|"):
            yield f"{design.name}: {cause} instead of {names}"
        elif is_known and cause.step != design.step:
            yield f"{design.name}: step {cause.step} instead of {design.step}: {cause}"


@pytest.mark.slow
def test_designed_failures(evals: Evals, pages: PageServer) -> None:
    """The cause and the first wrong step of each, with a solution and with nothing known."""
    found = play(evals, pages)
    wrong = [*_complain(found, is_known=True), "", *_complain(found, is_known=False)]
    assert wrong == [""], "\n".join(wrong)
