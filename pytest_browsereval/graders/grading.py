"""Asks one grader about an attempt, within its time limit. If anything breaks, the grade is *errored*."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

from pydantic import ValidationError

from pytest_browsereval.capture.tracebacks import details_of
from pytest_browsereval.errors import PLUGIN_ERRORS, StopRun, describe_error, is_given_up
from pytest_browsereval.graders.base import GraderConfig, GraderFault, Recorded, find_unanswered
from pytest_browsereval.graders.expression import limit_evaluations
from pytest_browsereval.graders.protection import mask_grade
from pytest_browsereval.model.grades import GraderResult, Verdict

StandIn = Callable[[GraderConfig, Recorded], GraderResult | None]
"""Asked before a grader is; its answer, unless None, stands in for the grader's."""


async def grade_one(
    grader: GraderConfig, recorded: Recorded, *, unobserved: str = "", stand_in: StandIn | None = None
) -> GraderResult:
    """Return the grade of one grader, without the reference answer of a protected task.

    Args:
        grader: with its placeholders filled in.
        recorded: the attempt, with the grader's own evidence.
        unobserved: why it could not observe the page.
        stand_in: asked before the grader.
    """
    started = time.perf_counter()
    try:
        if unobserved:
            raise GraderFault(f"the final page could not be read: {unobserved}")
        given: object = stand_in(grader, recorded) if stand_in else None
        if given is None:
            given = await _grade_in_time(grader, recorded)
        if not isinstance(given, GraderResult):
            raise GraderFault(f"it returned {given!r:.80}, which is not a GraderResult")
        result = _check_grade(given)
    except PLUGIN_ERRORS as error:  # a grader that cannot judge errs, never scores 0
        if is_given_up(error):
            raise
        result = GraderResult(
            grader=grader.label,
            verdict=Verdict.ERRORED,
            reasoning=describe_error(error),
            details=details_of(error) or {},
            stops_run=isinstance(error, StopRun),
            unanswered=find_unanswered(error),
        )
    duration_ms = round((time.perf_counter() - started) * 1000, 3)
    # A grade is its grader's, no matter what name it gives itself: reports show the two next to each other.
    known = {"grader": grader.label, "duration_ms": duration_ms, "advisory": grader.advisory}
    known["vetoes"] = grader.vetoes  # also of a grade that erred
    return mask_grade(result, recorded.task).model_copy(update=known)


def _check_grade(result: GraderResult) -> GraderResult:
    """Return a grade that can be read again from its record: ``model_copy`` checks nothing.

    Raises:
        Fault: it has a value that a grade cannot have, or one that JSON cannot have.
    """
    try:
        plain = result.model_dump(mode="json", warnings=False)
        json.dumps(plain, allow_nan=False)
        kept_of_the_attempt = {"stops_run": result.stops_run, "unanswered": result.unanswered}
        return GraderResult.model_validate({**plain, **kept_of_the_attempt})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}; it is {first['input']!r:.80}"
    except (ValueError, TypeError, AttributeError) as error:
        why = str(error).partition("\n")[0]
    raise GraderFault(f"it returned a grade that cannot be recorded: {why}")


async def _grade_in_time(grader: GraderConfig, recorded: Recorded) -> GraderResult:
    limit_s = grader.needs(recorded.task).time_limit_s(recorded.judge)
    try:
        async with asyncio.timeout(limit_s) as clock:
            # Cancelling a coroutine does not end a regular expression in a thread, so its process gets the
            # same limit.
            with limit_evaluations(limit_s):
                return await grader.grade(recorded)
    except TimeoutError:
        # A TimeoutError of the grader itself is its own fault and has its own message.
        if not clock.expired():
            raise
        raise GraderFault(f"the grader did not finish within {limit_s:g} s") from None
