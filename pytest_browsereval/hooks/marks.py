"""Datasets and tags of rows as markers: names to select by, which never do what a marker of code does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import ini_markers_key

if TYPE_CHECKING:
    from pytest_browsereval.run.active import ActiveRun
    from pytest_browsereval.run.plan import Entry

ACTING = frozenset(
    {
        "anyio",
        "asyncio",
        "browsereval",
        "filterwarnings",
        "flaky",
        "parametrize",
        "skip",
        "skipif",
        "timeout",
        "usefixtures",
        "xdist_group",
        "xfail",
    }
)
"""Markers that someone acts upon, whether or not they are registered in this run."""

_rows_key = pytest.StashKey[set[str]]()
_acting_key = pytest.StashKey[set[str]]()


def take_mark(config: pytest.Config, name: str) -> bool:
    """Register a name of rows as a marker; returns whether it may be put on them as one.

    What code has registered may be acted upon: a row that someone else wrote would excuse itself by the
    tag ``xfail``. What only the user's ini file has is a name to select by.
    """
    known = config.stash.setdefault(_rows_key, set())
    acting = config.stash.setdefault(_acting_key, set(ACTING))
    if name not in known:
        of_user: tuple[str, ...] = config.stash.get(ini_markers_key, ())
        by_code = Counter[str](config.getini("markers")) - Counter(of_user)
        registered = {line.partition(":")[0].partition("(")[0].strip() for line in by_code}
        known.add(name)
        if name in registered:
            acting.add(name)
        else:
            config.addinivalue_line("markers", f"{name}: a dataset or tag of eval rows")
    return name not in acting


def describe_acting(config: pytest.Config, active_run: ActiveRun, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield a sentence for each tag or dataset of rows that is the name of a marker that acts."""
    found: dict[str, dict[str, None]] = {}
    for entry in entries:
        for name in active_run.plan.marks(entry):
            if not take_mark(config, name):
                found.setdefault(name, {})[f"{entry.ref.path.name}:{entry.ref.line}"] = None
    for name, places in found.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield (
            f"{next(iter(places))}{more}: the tag or dataset {name!r} is also a marker of pytest "
            "or of a plug-in. On rows it selects (-m, -k, select: tags) and does nothing else."
        )
