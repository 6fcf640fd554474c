"""What a grade keeps of a model that did not answer, so that the run can stop."""

from __future__ import annotations

from pytest_browsereval.errors import Outage
from pytest_browsereval.model.grades import Unanswered


def find_unanswered(error: object) -> Unanswered | None:
    """Return which model did not answer; None if an error says nothing of the kind."""
    if not isinstance(error, Outage):
        return None
    return Unanswered(what=error.what, answered_at=error.answered_at)
