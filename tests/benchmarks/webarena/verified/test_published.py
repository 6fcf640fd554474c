"""``webarena_verified`` beside the evaluators that the benchmark publishes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.webarena.verified.grader import WebArenaVerifiedGrader
from pytest_browsereval.capture.har import HAR_FILE
from pytest_browsereval.model.grades import Verdict
from tests.benchmarks.webarena.verified.cases import SITES, Case, cases_of, entry, filled
from tests.graders.support import make_recorded, make_task
from tests.published import Published, published

pytestmark = [pytest.mark.published, pytest.mark.timeout(900)]

OWN = """
import functools, logging

def answer(given):
    logging.disable(logging.CRITICAL)
    from webarena_verified.api.internal import evaluator as module
    # A result names the checksum of the file of all rows, which would be read again for each.
    module.compute_data_file_checksum = functools.cache(module.compute_data_file_checksum)
    from webarena_verified.api.webarena_verified import WebArenaVerified
    from webarena_verified.types.config import EnvironmentConfig, WebArenaVerifiedConfig
    from webarena_verified.types.eval import TaskEvalContext
    from webarena_verified.types.task import WebArenaSite, WebArenaVerifiedTask
    from webarena_verified.types.tracing import NetworkTrace
    urls = given["sites"].items()
    sites = {WebArenaSite(name.lower()): EnvironmentConfig(urls=[url]) for name, url in urls}
    config = WebArenaVerifiedConfig(environments=sites)
    evaluator = WebArenaVerified(config=config)._evaluator
    told = []
    for case in given["cases"]:
        context = TaskEvalContext(
            task=WebArenaVerifiedTask.model_validate(case["task"]),
            agent_response_raw=case["answer"],
            network_trace=NetworkTrace.from_content(case["entries"]),
            config=config,
        )
        told.append(evaluator.evaluate_task(context=context).score == 1.0)
    return told
"""


def ours(case: Case, folder: Path, runner: asyncio.Runner) -> bool | str:
    task = make_task(evals=filled(case["task"]["eval"]))
    grader = WebArenaVerifiedGrader()
    (folder / HAR_FILE).write_text(json.dumps({"log": {"entries": case["entries"]}}))
    try:
        grader.check(task, Path())
    except ValueError as error:
        return str(error)
    recorded = make_recorded(task, final_answer=case["answer"], folder=folder)
    return runner.run(grader.grade(recorded)).verdict is Verdict.PASSED


def both(own: Published, cases: list[Case], folder: Path) -> list[tuple[Case, bool, bool | str]]:
    """Return every case with the published verdict and ours."""
    told = own.run(OWN, {"sites": SITES, "cases": cases})
    with asyncio.Runner() as runner:
        return [(case, theirs, ours(case, folder, runner)) for case, theirs in zip(cases, told, strict=True)]


@pytest.fixture(scope="module")
def own() -> Published:
    """The benchmark's own package."""
    return published("webarena-verified==1.2.3")


# -- its own rows

UNREADABLE = {699: "[1] is not a choice", 700: "[1] is not a choice", 811: "[2330] is not a choice"}
"""The package cannot read what these rows expect, so that no attempt can pass; ours refuses the row."""
NEVER_PASSES = 319
"""It expects no data and does not say so: the package looks for the key, and finds it in no answer."""


def test_attempts_at_the_benchmarks_own_rows_have_the_published_verdicts(
    own: Published, tmp_path: Path
) -> None:
    """Right and wrong answers and requests of all 812 rows; the four rows that differ are named above."""
    (file,) = own.packages.glob("webarena_verified/assets/dataset/webarena-verified.json")
    rows = json.loads(file.read_text(encoding="utf-8"))
    cases = [case for row in rows for case in cases_of(row)]
    compared = both(own, cases, tmp_path)
    assert len(compared) > 7_000
    assert sum(theirs for _, theirs, _ in compared) > 2_000
    for case, theirs, mine in compared:
        number, where = case["task"]["task_id"], (case["task"]["task_id"], case["name"], case["answer"])
        if number in UNREADABLE:
            assert str(mine).startswith(UNREADABLE[number]), where
        elif number == NEVER_PASSES:
            assert (theirs, mine) == (False, case["name"] in ("right", "fenced")), where
        else:
            assert mine == theirs, where


# -- values of every type

GITLAB, PLACE = SITES["GITLAB"], {"latitude": "40.4424191", "longitude": "-79.9397388"}
SPOKEN = "Wyndham Pittsburgh University Center"
FORMATS: list[tuple[str, Any, list[Any]]] = [
    # the type or format, what is expected, answers
    ("string", "Blue Mug", ["blue mug", "'BLUE  mug.'", "blue-mug", "Blüe mug", "mug", 7, None, ""]),
    ("string", "Café “Zoë”", ['cafe "zoe"', "Cafe Zoe", "café 'zoë'", "Quest™ cafe"]),
    ("string", "^#?\\s*0*170$", ["#170", "000170", "# 170", "1170", "170 "]),
    ("string", ["yes", "of course"], ["Yes", "OF COURSE!", "no"]),
    ("number", 1200, ["1,200", 1200.0, "1200", "one thousand two hundred", "12", "about", True]),
    ("number", 0, [0, "0", "zero", None, ""]),
    ("integer", 5, ["five", "five stars", 5.0, "5.2"]),
    ("boolean", True, [True, "yes", "Y", 1, "no", "maybe", None]),
    ("currency", 1234.5, ["$1,234.50", "1234.5 USD", "USD 1,234.45", 1234.7, "€1.234,50", "-1234.5", "free"]),
    ("currency", 1234.5, ["$1,234"]),
    ("currency", 0, ["$0.00", 0, "0.09", "-0.05"]),
    ("date", "2023-04-05", ["04/05/2023", "April 5th, 2023", "5 Apr 2023", "2023/4/5", "05/04/2023", "soon"]),
    ("date", "2023-04-05", ["Apr 5,2023"]),
    ("month", "Jan", ["january", "1", 1, "01", "Jan 2023", "13", "Feb", 1.5]),
    ("duration", "1h 30min", ["90 minutes", "1:30:00", "1.5 hours", "1 hour, 30 minutes", "5400s", "1h40m"]),
    ("duration", "1h 30min", ["90", "1:30 hours"]),
    ("duration", "10min", ["12 min", "14 min", "10:30", "600 sec", "ten"]),
    ("distance", "2km", ["2 km", "2000 m", "1.97 kilometers", "1.25 miles", "2,030 m"]),
    ("distance", "2km", ["2", "2k", "2500m", "far"]),
    ("coordinates", PLACE, ["40.4424191, -79.9397388", "somewhere", "40.4424191 -79.9397388"]),
    ("coordinates", PLACE, [{"lat": 40.4424191, "lng": -79.9397388}, {"lat": 40.4424, "lon": -79.9397388}]),
    ("coordinates", PLACE, [[40.4424191, -79.9397388], {"latitude": 40.4424191}]),
    ("location-name", SPOKEN, ["Wyndham University Center Pittsburgh", "Hilton", ""]),
    ("location-name", SPOKEN, ["the wyndham pittsburgh university centre"]),
    (
        "url",
        f"{GITLAB}/a/b?x=1&y=2",
        [f"{GITLAB}/a/b?y=2&x=1", f"{GITLAB}/A/b/?x=1&y=2", f"{GITLAB}/a/b?x=1"],
    ),
    ("url", f"{GITLAB}/a/b?x=1&y=2", [f"{GITLAB}/a/./c/../b?x=1&y=2", f"{GITLAB}/a//b?x=1&y=2", ""]),
    ("url", f"{GITLAB}/a/b?x=1&y=2", ["http://elsewhere.test/a/b?x=1&y=2"]),
    ("url", "git@__SSH_HOST__:a/b.git", ["git@gitlab.test:a/b.git", "ssh://git@gitlab.test:2222/a/b.git"]),
    ("url", "git@__SSH_HOST__:a/b.git", ["GIT@gitlab.test:A/b.git", "git@gitlab.test:2222/a/b.git"]),
    ("url", "git@__SSH_HOST__:a/b.git", ["ssh://gitlab.test/a/b.git", "git@gitlab.test:a/c.git"]),
    ("string_list", "b, a", ["a,b", "a, b,", "a", "a b"]),
    ("json", '{"a": 1, "b": [2]}', ['{"b":[2],"a":1}', '{"a":1}', "{"]),
    ("markdown", "# A\n* b", ["#  A \r\n- b", "# A\n- c", "# a\n- b"]),
]
TYPES = ("string", "number", "integer", "boolean")


def schema_of(kind: str) -> dict[str, str]:
    if kind in TYPES:
        return {"type": kind}
    return {"format": kind} | (
        {} if kind == "coordinates" else {"type": "number" if kind == "currency" else "string"}
    )


STRICTER = {
    ("string", '["blue mug", "guess"]'): "a list of guesses is not an answer",
    ("string", '"^.*$"'): "a pattern in an answer is a text as any other",
    ("date", '"April 2023"'): "a date that lacks its day would pass on one day of the month",
}
"""Answers that pass, or may pass, in the package and fail here, with the reason."""


def synthetic(kind: str, expected: Any, answer: Any) -> Case:
    """Return an attempt at a row that expects one value."""
    schema = schema_of(kind)
    rules = {
        "evaluator": "AgentResponseEvaluator",
        "results_schema": {"type": "array", "items": schema},
        "expected": {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": [expected]},
    }
    texts: dict[str, Any] = {"intent": "Find it.", "intent_template": "Find it.", "instantiation_dict": {}}
    numbers = {"task_id": 1, "intent_template_id": 1, "revision": 1}
    task = {"sites": ["gitlab"], "start_urls": ["__GITLAB__"], "eval": [rules], **texts, **numbers}
    told = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [answer]}
    home = entry("GET", SITES["GITLAB"])
    return {"name": str(schema), "task": task, "answer": json.dumps(told), "entries": [home]}


def test_values_of_every_type_have_the_published_verdicts(own: Published, tmp_path: Path) -> None:
    """Spellings that people and models use, right and wrong ones."""
    rows = [(kind, expected, answer) for kind, expected, answers in FORMATS for answer in answers]
    compared = both(own, [synthetic(*row) for row in rows], tmp_path)
    told = [(row, theirs, mine) for row, (_, theirs, mine) in zip(rows, compared, strict=True)]
    assert len(told) >= 100
    assert {theirs for _, theirs, _ in told} == {True, False}
    assert [one for one in told if one[1] != one[2]] == []


def test_what_is_stricter_here_fails(own: Published, tmp_path: Path) -> None:
    """The package takes an answer for a pattern, a list for alternatives, today's day for a missing one."""
    cases = []
    for kind, answer in STRICTER:
        expected = {"string": "Blue mug", "date": "2023-04-05"}[kind]
        cases.append(synthetic(kind, expected, json.loads(answer)))
    compared = both(own, cases, tmp_path)
    for ((kind, _), reason), (_, theirs, mine) in zip(STRICTER.items(), compared, strict=True):
        assert mine is False, reason
        assert theirs or kind == "date", reason
