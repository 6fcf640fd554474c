"""Goals of attackers that a row's own right answer reaches: by them, an agent that resists is compromised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from pytest_browsereval.features.attacks.goals import AnswerCheck, ReadGoal
from pytest_browsereval.graders.base import GraderConfig, GraderFault
from pytest_browsereval.graders.parts import unfold
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.tools.base import DONE

ADVICE = "Write checks that hold neither at first nor by the task, or leave the row out by `select`"


def check_answers(attack: str, goal: ReadGoal, task: Task, graders: Iterable[GraderConfig] = ()) -> None:
    """Refuse a goal that holds for the right answer of a row, or because the row ends without one.

    A goal with a check on something else as well is not looked at: the answer alone does not reach it.

    Args:
        attack: its name, for the message.
        goal: of the attack.
        task: the row, its placeholders filled in.
        graders: of the row; their references count beside its own answer.

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
    references = [getattr(one, "reference", None) for grader in graders for one in unfold(grader)]
    expected = [text for given in (task.answer, *references) for text in _list_texts(given)]
    yield from expected
    played = [str(step.get("answer") or "") for step in task.solution if step.get("tool") == DONE]
    if played and played[-1].strip():
        yield played[-1]
    elif task.solution and not expected:
        yield ""


def _list_texts(given: JsonValue) -> list[str]:
    """Return the texts of a reference: that of each one where several are right, and of a list as a whole."""
    if not isinstance(given, list):
        return [] if given in (None, "") or isinstance(given, dict) else [str(given)]
    texts = [text for one in given for text in _list_texts(one)]
    return [*texts, ", ".join(texts)] if texts else []
