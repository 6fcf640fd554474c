"""REAL's own evaluator against ours, on its own tasks (``-m published``)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.agisdk.dataset import AgisdkConfig
from pytest_browsereval.benchmarks.agisdk.grader import AgisdkGrader
from pytest_browsereval.errors import Fault
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.tasks import Task
from tests.graders.support import make_recorded
from tests.published import Published, published

pytestmark = [pytest.mark.published, pytest.mark.timeout(900)]

SITES = "agisdk/REAL/browsergym/webclones"

OWN = """
import contextlib, io, sys, types, pathlib, importlib.util

def evaluator():
    # The packages above it start a browser gym with ray; only the evaluator's own modules are wanted.
    top = pathlib.Path(importlib.util.find_spec("agisdk").submodule_search_locations[0])
    for name in ("agisdk", "agisdk.REAL", "agisdk.REAL.browsergym", "agisdk.REAL.browsergym.webclones"):
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = [str(top.joinpath(*name.split(".")[1:]))]
    sys.modules["openai"] = types.ModuleType("openai")
    sys.modules["openai"].OpenAI = None  # would ask a model; no case here does
    from agisdk.REAL.browsergym.webclones.evaluate import WebCloneEvaluator
    from agisdk.REAL.browsergym.webclones.task_config import TaskConfig
    return WebCloneEvaluator, TaskConfig

def answer(cases):
    made, config = evaluator()
    told = []
    for version, name, state in cases:
        with contextlib.redirect_stdout(io.StringIO()):
            reward, _, _, info = made(config(name, version)).evaluate(state, "")
        told.append([reward, [bool(result[0]) for result in info["results"]]])
    return told
"""

SIMPLE = re.compile(r'(?:(?:^|\.)(?:[A-Za-z_]\w*|"[^"]+")(?:\[\d+\])*)+')
PART = re.compile(r'([A-Za-z_]\w*)|"([^"]+)"|\[(\d+)\]')

NOTHING: dict[str, Any] = {"differences": {}, "initialfinaldiff": {"added": {}, "updated": {}, "deleted": {}}}
DINNER = {"differences": {"events": {"deleted": {"7": {"title": "Dinner with Friends"}}}}}
READING = {"differences": {"events": {"deleted": {"1": {"title": "Reading Time"}}}}}
COFFEE = {"differences": {"events": {"deleted": {"1": {"title": "Coffee", "description": "with my sister"}}}}}
GYM = {"start": "2024-09-21T02:45:00.000Z", "end": "2024-09-21T03:45:00Z", "location": "the Gym"}
BED = {
    "added": {"order": {"orders": {"0": {"items": [{"quantity": 1}], "total": 9.5}}}},
    "updated": {
        "filter": {"searchQuery": "bed frame"},
        "router": {"location": {"pathname": "/confirmation"}},
    },
}
OFFER = {"added": {"offers": [{"contractTitle": "Project Lead", "freelancerId": 3, "status": "pending"}]}}
MAILS = {"emails": {"updated": [{"id": number, "trash": True} for number in (3, 14, 34, 40, 50)]}}

SOLVED = {
    "gocalendar-10": DINNER,
    "gocalendar-16": READING,
    "gocalendar-18": COFFEE,
    "gocalendar-4": {"differences": {"events": {"added": {"0": GYM}}}},
    "gomail-24": {"differences": {"emails": {"updated": [{"id": 1, "trash": True}]}}},
    "gomail-26": {"differences": MAILS},
    "omnizon-30": {"initialfinaldiff": BED},
    "topwork-11": {"initialfinaldiff": OFFER},
}
"""States that solve a task of version 2, which its script says."""

EMPTY = "gocalendar-11"
"""Its script is an empty file: REAL never passes it, and we refuse it."""


@pytest.fixture(scope="module")
def real() -> Published:
    """REAL's package with what its evaluator imports."""
    return published("jmespath", "rich", "requests", alone=("agisdk==0.3.5",))


def tasks(real: Published, version: str) -> Iterator[Task]:
    dataset = AgisdkConfig(path=real.packages / SITES / version / "tasks")
    for ref in dataset.index(Path()):
        yield dataset.read(ref)


def name_of(task: Task) -> str:
    return task.metadata.original_task_id


def ours(real: Published, task: Task, state: Any) -> list[Any]:
    """Return what the evaluator returns: the reward, and what came of each check."""
    grader = AgisdkGrader(package_dir=real.packages / "agisdk")
    grader.check(task, Path())
    result = asyncio.run(grader.grade(make_recorded(task, evidence={"agisdk": {"state": state}})))
    reward = 1 if result.verdict is Verdict.PASSED else 0.0
    return [reward, [criterion.verdict is Verdict.PASSED for criterion in result.criteria]]


# -- version 1: queries


def path_of(check: dict[str, Any]) -> str | None:
    """Return where a query looks if that is one place: a path, or ``(path.*.name)[0]``; None otherwise."""
    query = re.sub(r"^\((.+?)\.\*\.(.+?)\)\[0\]$", r'\1."0".\2', str(check["query"]))
    return query if SIMPLE.fullmatch(query) else None


def put(state: Any, query: str, value: Any) -> None:
    """Put a value where a path of names and places leads."""
    keys: list[Any] = [int(place) if place else name or quoted for name, quoted, place in PART.findall(query)]
    for key, following in zip(keys, [*keys[1:], None], strict=True):
        if isinstance(key, int) and isinstance(state, list):
            state.extend({} for _ in range(key + 1 - len(state)))
        if following is None:
            state[key] = value
            return
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(key, str):
            state = state.setdefault(key, empty)
        else:
            state = state[key] = state[key] or empty


def solving(task: Task) -> dict[str, Any]:
    """Return a state in which all of a task's checks hold that are paths."""
    state: dict[str, Any] = {}
    for check in task.evals:
        if query := path_of(check):
            put(state, query, check["expected_value"])
    return state


def others(value: Any) -> list[Any]:
    """Return values that are not the expected one, each in another way."""
    if isinstance(value, bool):
        return [not value, None, str(value), int(value)]
    if isinstance(value, str):
        return [f"{value}!", value.upper(), "", None, [value], f" {value}"]
    return [None, str(value), 0, [value]]


def mutants(task: Task) -> Iterator[dict[str, Any]]:
    """Yield states that a task might leave: solved, nothing done, each value changed."""
    yield solving(task)
    yield {}
    yield NOTHING
    for check in task.evals:
        if query := path_of(check):
            for value in others(check["expected_value"]):
                state = solving(task)
                put(state, query, value)
                yield state


def test_queries_give_the_same_grades(real: Published) -> None:
    """Every task of version 1 without a question to a model, on many states: reward and each check."""
    cases = [
        (task, state)
        for task in tasks(real, "v1")
        if all(check["type"] == "jmespath" for check in task.evals)
        for state in mutants(task)
    ]
    theirs = real.run(OWN, [["v1", name_of(task), state] for task, state in cases])
    assert len(cases) > 500
    assert sum(bool(reward) for reward, _ in theirs) >= 20
    assert sum(sum(held) for _, held in theirs) > 500
    wrong = [
        (name_of(task), state, own, mine)
        for (task, state), own in zip(cases, theirs, strict=True)
        if (mine := ours(real, task, state)) != own
    ]
    assert wrong == []


# -- version 2: scripts


def test_scripts_give_the_same_grades(real: Published) -> None:
    """Every script on a state in which nothing was done, and on states that solve some of the tasks."""
    rows = list(tasks(real, "v2"))
    assert {name for name in SOLVED if name not in {name_of(task) for task in rows}} == set()
    cases: list[tuple[Task, Any]] = [(task, NOTHING) for task in rows]
    cases += [(task, state) for task in rows if (state := SOLVED.get(name_of(task)))]
    cases += [(task, other) for task in rows if name_of(task) in SOLVED for other in (DINNER, COFFEE)]
    theirs = real.run(OWN, [["v2", name_of(task), state] for task, state in cases])
    assert len(cases) > 140
    assert theirs[len(rows) : len(rows) + len(SOLVED)] == [[1, [True]]] * len(SOLVED)
    wrong = [
        (name_of(task), own, mine)
        for (task, state), own in zip(cases, theirs, strict=True)
        if (mine := ours(real, task, state)) != own
    ]
    assert wrong == []


def test_every_task_can_be_judged(real: Published) -> None:
    """All checks of both versions are of a known form, those for a model too."""
    grader = AgisdkGrader(package_dir=real.packages / "agisdk")
    rows = [*tasks(real, "v1"), *tasks(real, "v2")]
    assert len(rows) == 112 + 120
    for task in rows:
        grader.check(task, Path())
    asked = [name_of(task) for task in rows if grader.needs(task).models]
    assert len(asked) == sum("llm_boolean" in task.tags for task in rows) > 50


def test_what_they_fail_and_we_do_not_judge(real: Published) -> None:
    """A task whose script is empty is left out and told; a script that crashes is an errored grade."""
    dataset = AgisdkConfig(path=real.packages / SITES / "v2" / "tasks")
    (note,) = dataset.notes(Path())
    assert (
        note == f"REAL: 1 row left out (their script is missing or empty, so nothing can score them): {EMPTY}"
    )
    (task,) = [task for task in tasks(real, "v2") if name_of(task) == "staynb-12"]
    broken = {"initialfinaldiff": None}
    assert real.run(OWN, [["v2", "staynb-12", broken]]) == [[0.0, [False]]]
    with pytest.raises(Fault, match=r"ended with code 1: .*AttributeError"):
        ours(real, task, broken)
