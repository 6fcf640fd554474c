"""Designed failures in a real browser: the cause is named, and no sentence says what is not recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.features.causes.rules import find_cause
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.testing import Call, ModelRequest, Reply, ScriptedModel, call, calls, says
from tests.features.causes.designs import CART, DESIGNS, LIBRARY, MODEL_DESIGNS, NAV, PAGES, Design
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
    for path, body in {**PAGES, **LIBRARY}.items():
        pages.page(path, f"<!doctype html><title>{path}</title>{CART}{NAV}<main>{body}</main>")
    pages.page("/boom", "<h1>Something went wrong</h1>", status=500)
    pages.page("/private", "<h1>Not for you</h1>", status=403)


def play(evals: Evals, pages: PageServer, designs: Sequence[Design], start: str, agent: Any) -> list[str]:
    """Play designs with their solution and without it; return what a sceptic would complain of."""
    serve(pages)
    rows = [
        _row(number, one, pages.url + start, is_known=known)
        for number, one in enumerate(designs)
        for known in (True, False)
    ]
    evals.write_rows(*rows)
    evals.write_config(
        agent=agent,
        browser={"type": "playwright", "action_timeout_ms": 4000},
        limits={"timeout_ms": 60_000, "max_steps": 12},
        capture={"screenshots": "off"},
        lanes=4,
    )
    evals.run("shop.eval.yaml", "-q")
    run = open_run(evals.run_folder())
    found = {one.query_id: find_cause(one.metadata, one.folder) for one in run.attempts}
    assert len(found) == len(rows)
    return [*_complain(designs, found, "known"), *_complain(designs, found, "alone")]


def _row(number: int, design: Design, start: str, *, is_known: bool) -> dict[str, Any]:
    url = start.rpartition("/")[0]
    solution = json.loads(json.dumps(design.solution).replace("{s}", url))
    return {
        "query_id": f"{number}-{'known' if is_known else 'alone'}",
        "query": design.query,
        "dataset": "designs",
        "start_url": start,
        "metadata": {"additional": {"steps": list(design.steps)}},
        **({"solution": solution} if is_known else {}),
        **design.grade,
    }


def _complain(designs: Sequence[Design], found: dict[str, Cause | None], how: str) -> Iterator[str]:
    for number, design in enumerate(designs):
        cause = found[f"{number}-{how}"]
        names = design.cause if how == "known" else (design.alone or design.cause)
        if cause is None or cause.name not in names.split("|"):
            yield f"{how}, {design.name}: {cause} instead of {names}"
        elif how == "known" and cause.step != design.step:
            yield f"{how}, {design.name}: step {cause.step} instead of {design.step}: {cause}"


class Model:
    """A model that replies what a design has, row by row; of an element in a snapshot it gives the ref."""

    def __call__(self, request: ModelRequest) -> Reply:
        design = next(one for one in MODEL_DESIGNS if f"{one.name}: " in request.text)
        step = design.steps[min(self._count(request), len(design.steps) - 1)]
        if "say" in step:
            return says(step["say"])
        if "raw" in step:
            return calls(Call(step["tool"], step["raw"]))
        given = {name: value for name, value in step.items() if name != "tool"}
        if str(given.get("target", "")).startswith("@"):
            number, _, name = given["target"][1:].partition(" ")
            given["target"] = re.findall(rf"{re.escape(name)}[^\n]*?\[ref=(\w+)\]", request.last_text)[
                int(number) - 1
            ]
        return calls(call(step["tool"], **given))

    @staticmethod
    def _count(request: ModelRequest) -> int:
        return sum(one.get("role") == "assistant" for one in request.messages)


@pytest.mark.slow
def test_designed_failures(evals: Evals, pages: PageServer) -> None:
    """The cause and the first wrong step of each, with a solution and with nothing known."""
    evals.path.joinpath("designed.py").write_text(AGENT)
    wrong = play(evals, pages, DESIGNS, "/", {"type": "function", "function": "designed:play"})
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_designed_failures_of_a_model(evals: Evals, pages: PageServer) -> None:
    """The same of an agent with a model, which names elements by refs and may reply what is not a call."""
    designs = [replace(one, query=f"{one.name}: {one.query}") for one in MODEL_DESIGNS]
    with ScriptedModel(Model()) as model:
        agent = {"type": "single", "model": "m", "base_url": model.base_url, "api_key": "none"}
        wrong = play(evals, pages, designs, "/library", agent)
    assert not wrong, "\n".join(wrong)
