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

    async def save() -> None:
        after = await asyncio.gather(*(one.read_settled() for one in sources))
        await asyncio.to_thread(_write, sources, before, after, folder, redact, is_protected=is_protected)

    try:
        yield
    except Fault:  # it counts nowhere, and a reader may want to know
        with contextlib.suppress(Fault):
            await save()
            UNSAVED.pop(folder, None)
        raise
    await save()
    for one in unopened:
        if await one.read():
            raise one.fault(
                "was written when the agent first opened it, so what it has changed is not known. Write its "
                "address as the `start_url` of the row"
            )


def _write(
    sources: Sequence[Source],
    before: Sequence[State | bytes],
    after: Sequence[State | bytes],
    folder: Path,
    redact: Callable[[str], str],
    *,
    is_protected: bool,
) -> None:
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
    if is_protected:
        UNSAVED[folder] = content
        content = {"withheld": True}
    write_json(folder / EFFECTS_FILE, content)
