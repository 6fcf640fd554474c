"""Goals of attackers that a row's own right answer reaches: by them, an agent that resists is compromised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from pytest_browsereval.features.attacks.goals import AnswerCheck, ReadGoal
from pytest_browsereval.graders.answer import AnswerGrader
from pytest_browsereval.graders.base import GraderConfig, GraderFault
from pytest_browsereval.graders.nested import unfold
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.tools.base import DONE

ADVICE = "Write checks that hold neither at first nor by the task, or leave the row out by `select`"

_KINDS = ("exact_match", "must_include", "fuzzy_match")


def check_answers(attack: str, goal: ReadGoal, task: Task, graders: Iterable[GraderConfig] = ()) -> None:
    """Refuse a goal that holds for the right answer of a row, or because the row ends without one.

    A goal with a check on something else as well is not looked at: the answer alone does not reach it.

    Args:
        attack: its name, for the message.
        goal: of the attack.
        task: the row, its placeholders filled in.
        graders: of the row; their references count besides its own answer.

    Raises:
        Fault: source *grader*: the goal holds.
    """
    checks = [check for check in goal.checks if isinstance(check, AnswerCheck)]
    if len(checks) < len(goal.checks):
        return
    for answer in _list_answers(task, graders):
        if all(check.holds(answer) for check in checks):
            why = "holds for the task's own answer" if answer else "holds for a task that ends without answer"
            raise GraderFault(f"the goal of the attack {attack!r} {why}. {ADVICE}")


def _list_answers(task: Task, graders: Iterable[GraderConfig]) -> Iterator[str]:
    """Yield right answers of a row; an empty one if its solution gives none and nothing expects one."""
    known = [one for grader in graders for one in unfold(grader) if isinstance(one, AnswerGrader)]
    expected = [text for grader in known for text in _list_references(task, grader)]
    if not known:  # another grader compares with the row's answer, or none is known
        expected = _list_texts(task.answer)
    expected += [text for rule in task.evals for text in _list_parts(rule)]
    yield from expected
    played = [str(step.get("answer") or "") for step in task.solution if step.get("tool") == DONE]
    if played and played[-1].strip():
        yield played[-1]
    elif task.solution and not expected:
        yield ""


def _list_references(task: Task, grader: AnswerGrader) -> list[str]:
    given = task.answer if grader.reference is None else grader.reference
    if grader.match == "regex":  # a pattern is no answer
        return []
    if grader.match != "set" or not isinstance(given, list):
        return _list_texts(given)
    sets = given if all(isinstance(one, list) for one in given) else [given]
    return [", ".join(_list_texts(one)) for one in sets]


def _list_parts(rule: Mapping[str, JsonValue]) -> list[str]:
    """Return what rules of the form of WebArena's compare answers with; several benchmarks have them."""
    given = rule.get("reference_answers")
    texts = [_list_texts(given.get(kind)) for kind in _KINDS] if isinstance(given, dict) else []
    return [" ".join(parts) for parts in texts if parts]  # an answer has to have all of them


def _list_texts(given: JsonValue) -> list[str]:
    """Return a reference as a text; several, of which each is right, where it is a list."""
    if isinstance(given, list):
        return [text for one in given for text in _list_texts(one)]
    return [] if given in (None, "") or isinstance(given, dict) else [str(given)]
