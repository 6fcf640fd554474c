"""Which checks of a row a page can answer while the agent works, and which it cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.comparators import Reading
from pytest_browsereval.graders.nested import parts_of, unfold
from pytest_browsereval.graders.page_checks import PageCheck, read_page_check
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.graders.protection import mask_of
from pytest_browsereval.graders.state_diff import StateDiffGrader, read_state_check
from pytest_browsereval.model.progress import FollowedCheck
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.known import beginning

NAME_LENGTH = 160

OF_THE_SITE = "its state comes from the site, not from the page"
NOT_OF_A_PAGE = "a page cannot answer it"


@dataclass(frozen=True)
class PageQuestion:
    """A check that a page can answer."""

    check: PageCheck
    reading: Reading
    name: str
    is_milestone: bool = False


def list_questions(
    task: Task, graders: Iterable[GraderConfig], redact: Callable[[str], str]
) -> tuple[list[PageQuestion], list[FollowedCheck]]:
    """Return what a page can answer, checks before milestones, and what it cannot.

    Names of a protected row tell the kind of a check and not what it expects.

    Args:
        task: the row, its placeholders filled in.
        graders: of the row, filled in as well.
        redact: takes secrets out of names.
    """
    questions: list[PageQuestion] = []
    left_out: list[FollowedCheck] = []
    for grader in (one for outer in graders for one in unfold(outer) if not parts_of(one)):
        for asked in _of_grader(grader, task):
            if isinstance(asked, FollowedCheck):
                left_out.append(asked)
            elif not any((one.check, one.reading) == (asked.check, asked.reading) for one in questions):
                questions.append(asked)
    for milestone in task.milestones:
        check = read_page_check(milestone.check)
        questions.append(PageQuestion(check, "strict", milestone.name, is_milestone=True))
    hide = mask_of(task)

    def name_safely(name: str) -> str:
        return beginning(redact(hide(name)), NAME_LENGTH)

    if task.protected:
        questions = [
            one if one.is_milestone else replace(one, name=f"check {place} ({one.check.kind})")
            for place, one in enumerate(questions, start=1)
        ]
        left_out = [
            one.model_copy(update={"name": f"left out {place}"})
            for place, one in enumerate(left_out, start=1)
        ]
    return (
        [replace(one, name=name_safely(one.name)) for one in questions],
        [one.model_copy(update={"name": name_safely(one.name)}) for one in left_out],
    )


def _of_grader(grader: GraderConfig, task: Task) -> Iterator[PageQuestion | FollowedCheck]:
    own = [check for check in task.checks if grader.reads.include(check)]
    if isinstance(grader, PageStateGrader):
        for block in (*grader.checks, *own):
            check = read_page_check(block)
            yield PageQuestion(check, grader.mode, check.title)
    elif isinstance(grader, StateDiffGrader):
        source = grader.source
        for block in (*grader.checks, *own):
            state = read_state_check(block)
            kind, subject = ("js", source.js) if source.js is not None else ("storage", source.storage)
            if subject is None:
                yield FollowedCheck(name=state.path, left_out=OF_THE_SITE)
            else:
                check = PageCheck(kind, state.comparator, subject, path=state.path)
                yield PageQuestion(check, grader.mode, state.path)
    else:
        yield FollowedCheck(name=grader.label, left_out=NOT_OF_A_PAGE)
