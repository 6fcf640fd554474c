"""Reads the state of an attempt's sites before its agent begins and when it has ended; keeps what differs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.trajectory import EFFECTS_FILE
from pytest_browsereval.errors import Fault
from pytest_browsereval.features.effects.diff import State
from pytest_browsereval.features.effects.reading import Source, read_schema
from pytest_browsereval.features.effects.row_effects import find_unseen, read_effects
from pytest_browsereval.graders.base import GraderFault, hash_json
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run_files import write_json
from pytest_browsereval.sites import SiteConfig

UNSAVED: dict[Path, dict[str, Any]] = {}
"""What differs after attempts at protected rows, which is not written: for their grade only."""


def hash_settings(site: SiteConfig) -> str:
    """Return what identifies the settings by which a state was read and compared."""
    state = site.state.model_dump(mode="json", exclude={"max_bytes"}) if site.state else None
    return hash_json([state, sorted(site.volatile)])


@contextlib.asynccontextmanager
async def keep_differences(
    task: Task, sources: Sequence[Source], folder: Path, redact: Callable[[str], str]
) -> AsyncIterator[None]:
    """Keep what an attempt changes between the two ends of a block.

    Args:
        task: what it is at; of a protected row nothing is written.
        sources: the states of its sites.
        folder: of the attempt.
        redact: takes secrets out of a text.

    Raises:
        Fault: source *site*: a state cannot be read, does not come to rest, or was not there to compare;
            source *grader*: an effect names what its database does not have.
    """
    before = await asyncio.gather(*(one.read(keeps_dialog=True) for one in sources))
    await asyncio.to_thread(_check_effects, task, sources, before)
    unopened = [one for one, state in zip(sources, before, strict=True) if not state and not one.is_open]

    def write(after: Sequence[State | bytes]) -> None:
        found = {
            one.name: {
                "settings": hash_settings(one.site),
                "differences": [
                    {**difference.redact(one.site.hide, redact).to_json(), "site": one.name}
                    for difference in one.compare(old, new)
                ],
            }
            for one, old, new in zip(sources, before, after, strict=True)
        }
        content: dict[str, Any] = {"sites": found}
        if task.protected:
            UNSAVED[folder] = content
            content = {"withheld": True}
        write_json(folder / EFFECTS_FILE, content)

    async def save() -> Sequence[State | bytes]:
        after = await asyncio.gather(*(one.read_settled() for one in sources))
        await asyncio.to_thread(write, after)
        return after

    try:
        yield
    except Fault:  # it counts nowhere, and a reader may want to know
        with contextlib.suppress(Fault):
            await save()
            UNSAVED.pop(folder, None)
        raise
    after = await save()
    for one, old, new in zip(sources, before, after, strict=True):
        if one in unopened and new:
            raise one.fault(
                "was written when the agent first opened it, so what it has changed is not known. Write its "
                "address as the `start_url` of the row"
            )
        await one.check_compared(old, new)


def _check_effects(task: Task, sources: Sequence[Source], before: Sequence[State | bytes]) -> None:
    """Refuse effects that databases cannot have, which were not there when the run began."""
    seen = {
        one.name: (one.site.volatile, read_schema(state) if isinstance(state, bytes) else None)
        for one, state in zip(sources, before, strict=True)
    }
    for effect in read_effects(task.effects):
        if why := find_unseen(effect, [seen[one] for one in seen if effect.site in ("", one)]):
            raise GraderFault(f"the row's `effects` cannot be judged: {why}")
