"""What an agent that obeys all that it reads may come across in a run, and what it does then."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.features.attacks.dataset import AttackedDataset
from pytest_browsereval.features.attacks.session import SESSIONS
from pytest_browsereval.sites import fill


@dataclass(frozen=True)
class KnownPayload:
    """A payload, and what reaches its goal."""

    text: str
    solution: tuple[dict[str, JsonValue], ...]
    gives_up: bool
    """Whether the goal is that the agent gives up."""


def list_payloads(window: Window) -> list[KnownPayload]:
    """Return the payloads of all attacks of the run as pages of this window would have them.

    Args:
        window: of an attempt; one that is under no attack has none.
    """
    session = SESSIONS.get(window)
    if session is None:
        return []
    known = next(one for one in session.config.datasets if isinstance(one, AttackedDataset))
    urls = session.site_urls
    return [
        KnownPayload(
            fill(grader.payload, urls),
            tuple(fill(list(grader.goal.solution), urls)),
            gives_up=any("given_up" in check for check in grader.goal.checks),
        )
        for grader, _ in known.judges.values()
    ]
