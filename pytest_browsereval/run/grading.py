"""Grades a recorded attempt, during its run or later."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from pytest_browsereval.addresses import is_same_site
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.output import mask_output
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.grading import StandIn, grade_one
from pytest_browsereval.graders.protection import mask_grade, mask_of
from pytest_browsereval.graders.verdicts import PassWhen, combine
from pytest_browsereval.model.grades import GraderResult, Verdict, cost_of
from pytest_browsereval.model.probe import Probe
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.ending import Ending

AFTER_LIMIT = (
    "the page is right, but perhaps only because the agent continued after its limit. Let `LimitReached` and "
    "`asyncio.CancelledError` end it"
)


@dataclass
class Grading:
    """What the graders of an attempt have come to."""

    grades: dict[str, GraderResult] = field(default_factory=dict)
    """By the grader's name."""
    duration_ms: float = 0.0
    is_unanswered: bool = False
    """Whether a judge does not answer, as it did not answer an earlier row."""

    @property
    def stops_run(self) -> bool:
        """Whether a grader has met what every further attempt would meet: its judge's key is refused.

        One that is advisory decides nothing, and so does not end a run either.
        """
        refused = any(grade.stops_run and not grade.advisory for grade in self.grades.values())
        return refused or self.is_unanswered

    def is_vetoed(self, graders: Iterable[GraderConfig] | None = None) -> bool:
        """Whether a grader that vetoes fails the attempt; of one that broke, those count that judge such."""
        asked = self.grades if graders is None else {one.label for one in graders if one.judges_broken}
        failed = {name: one for name, one in self.grades.items() if one.verdict is Verdict.FAILED}
        return any(one.vetoes and name in asked for name, one in failed.items())

    def why_it_stops(self) -> str:
        """Return what the grader has met that stops the run."""
        deciding = (grade for grade in self.grades.values() if not grade.advisory)
        return next(grade.reasoning for grade in deciding if grade.stops_run or grade.unanswered)

    def add_details(self, found: Mapping[str, Mapping[str, JsonValue] | None], task: Task) -> None:
        """Add what was kept of graders that could not observe the page to their grades.

        Args:
            found: details by the grader's name.
            task: what of it is protected is masked.
        """
        for name, details in found.items():
            if details and name in self.grades:
                grade = self.grades[name]
                grade = grade.model_copy(update={"details": {**grade.details, **details}})
                self.grades[name] = mask_grade(grade, task)


async def grade_all(
    graders: Sequence[GraderConfig],
    recorded: Recorded,
    *,
    unobserved: Mapping[str, str],
    stand_in: StandIn | None = None,
    so_far: Grading | None = None,
) -> Grading:
    """Ask each grader in turn; one that cannot judge errs and never scores 0.

    Args:
        graders: with their placeholders filled in.
        recorded: the attempt.
        unobserved: graders that could not observe the page, and why.
        stand_in: asked before each grader.
        so_far: takes each grade as it comes, for who has to know what an interruption leaves.
    """
    grading, started = Grading() if so_far is None else so_far, time.perf_counter()
    with mask_output(mask_of(recorded.task)):
        for grader in graders:
            why = unobserved.get(grader.label, "")
            grading.grades[grader.label] = await grade_one(
                grader, recorded, unobserved=why, stand_in=stand_in
            )
    grading.duration_ms = (time.perf_counter() - started) * 1000
    return grading


def find_broken_page(window: Window, sites: Iterable[str | None]) -> str:
    """Return what a server that broke answered instead of the last page; "" if it was not a site's doing.

    Args:
        window: it is there. What the agent has composed the address of is its own doing.
        sites: addresses of the start page and of the eval's sites, which the agent has not composed; what
            others answer is not theirs.
    """
    error, known = window.page_error, [url for url in sites if url]
    if error is None or not error.is_of_server:
        return ""
    if error.is_own and error.url.rstrip("/") not in {url.rstrip("/") for url in known}:
        return ""
    return str(error) if any(is_same_site(url, error.url) for url in known) else ""


def decide(
    grading: Grading, pass_when: PassWhen, ending: Ending | TaskMetadata, probe: Probe | None
) -> tuple[Verdict, ErrorSource | None, str]:
    """Return the verdict of an attempt, what broke if it is *errored*, and why in one line.

    Args:
        grading: its grades.
        pass_when: how they become a verdict.
        ending: how the attempt ended. A failure names the limit first. Who has met a broken page of a site
            does not fail, unless a grader vetoes. What an agent reached that went on after its limit, nobody
            knows.
        probe: what the known way of the row came to: where it breaks, the attempt does not fail either.
    """
    verdict, source, reason = combine(grading.grades, pass_when)
    if verdict is Verdict.FAILED and not grading.is_vetoed():
        if ending.broken_page:
            return Verdict.ERRORED, ErrorSource.SITE, f"the last page is broken: {ending.broken_page}"
        if probe and probe.is_broken:
            return Verdict.ERRORED, ErrorSource.SITE, probe.reason
    if ending.went_on_s and verdict is Verdict.PASSED:
        return Verdict.ERRORED, ErrorSource.AGENT, f"{AFTER_LIMIT} ({ending.limit})"
    if ending.limit and verdict is Verdict.FAILED:
        reason = f"stopped ({ending.limit}): {reason}"
    return verdict, source, reason


def total_cost(usage: Usage, grades: Iterable[GraderResult]) -> float | None:
    """Return what agent and graders cost together; None if a part of it is unknown.

    Args:
        usage: of the agent.
        grades: of the graders.
    """
    of_agent, of_grades = usage.cost_usd if usage.requests else 0.0, cost_of(grades)
    return None if of_agent is None or of_grades is None else of_agent + of_grades
