"""Reads the state of an attempt's sites before its agent begins and when it has ended; keeps what differs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.trajectory import EFFECTS_FILE
from pytest_browsereval.errors import Fault
from pytest_browsereval.features.effects.diff import State, compare_states
from pytest_browsereval.features.effects.reading import Source
from pytest_browsereval.graders.base import hash_json
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
    sources: Sequence[Source], folder: Path, redact: Callable[[str], str], *, is_protected: bool
) -> AsyncIterator[None]:
    """Keep what an attempt changes between the two ends of a block.

    Args:
        sources: the states of its sites.
        folder: of the attempt.
        redact: takes secrets out of a text.
        is_protected: whether nothing of it may be written.

    Raises:
        Fault: source *site*: a state cannot be read, or does not come to rest.
    """
    before = await asyncio.gather(*(one.read(keeps_dialog=True) for one in sources))
    unopened = [one for one, state in zip(sources, before, strict=True) if not state and not one.is_open]
    try:
        yield
    except Fault:  # it counts nowhere, and a reader may want to know
        with contextlib.suppress(Fault):
            await _save(sources, before, folder, redact, is_protected=is_protected)
            UNSAVED.pop(folder, None)
        raise
    await _save(sources, before, folder, redact, is_protected=is_protected)
    for one in unopened:
        if await one.read():
            raise one.fault(
                "was written when the agent first opened it, so what it has changed is not known. Write its "
                "address as the `start_url` of the row"
            )


async def _save(
    sources: Sequence[Source],
    before: Sequence[State],
    folder: Path,
    redact: Callable[[str], str],
    *,
    is_protected: bool,
) -> None:
    after = await asyncio.gather(*(one.read_settled() for one in sources))

    def save() -> None:
        found = {
            source.name: {
                "settings": hash_settings(source.site),
                "differences": [
                    {**one.redact(source.site.hide, redact).to_json(), "site": source.name}
                    for one in compare_states(old, new, source.site.volatile)
                ],
            }
            for source, old, new in zip(sources, before, after, strict=True)
        }
        content: dict[str, Any] = {"sites": found}
        if is_protected:
            UNSAVED[folder] = content
            content = {"withheld": True}
        write_json(folder / EFFECTS_FILE, content)

    await asyncio.to_thread(save)
