"""The causes of a run in its summary: counted, a line for each verdict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.causes.groups import BAD, Group, group_causes
from pytest_browsereval.model.display import join_first
from pytest_browsereval.runs.run import StoredRun

MOST_NAMED = 4


def count_causes(run: StoredRun) -> Iterator[str]:
    """Yield a line for each verdict whose attempts share a cause."""
    groups: tuple[Group, ...] = ()
    with suppress(UsageError):  # a record was changed meanwhile
        groups = group_causes([run]).groups
    for verdict in BAD:
        own = [one for one in groups if one.verdict is verdict]
        if any(len(one.members) > 1 for one in own):
            parts = join_first([f"{len(one.members):,} {one.label}" for one in own], MOST_NAMED)
            yield f"causes of {verdict}: {parts}; browsereval causes {run.folder.name}"
