"""Attempts of earlier runs, as the rules see them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.run import StoredRun


@dataclass(frozen=True)
class EarlierAttempt:
    """An attempt of an earlier run."""

    metadata: TaskMetadata
    folder: Path
    run: Path
    """The folder of its run."""

    @property
    def setting(self) -> str:
        """Under which configuration it was made."""
        return json.dumps([self.metadata.variant, self.metadata.agent_config], sort_keys=True, default=str)

    @property
    def agent(self) -> str:
        """The type of the agent."""
        return str(self.metadata.agent_config.get("type", ""))

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return self.metadata.verdict is Verdict.PASSED


def attempts_of(runs: Iterable[Path]) -> dict[str, list[EarlierAttempt]]:
    """Return the attempts under no attack by the ids of their rows; what a merged run has too is there once.

    Raises:
        UsageError: a file of a run is damaged.
    """
    made: dict[str, list[EarlierAttempt]] = {}
    seen: set[tuple[object, ...]] = set()
    for run in runs:
        for data in StoredRun(run).attempts:
            own = (data.query_id, data.variant, data.trial, data.attempt, data.started_at, data.completed_at)
            if own not in seen and data.derived is None:
                made.setdefault(data.query_id, []).append(EarlierAttempt(data.metadata, data.folder, run))
            seen.add(own)
    return made
