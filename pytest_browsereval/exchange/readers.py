"""Which systems' runs can be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_browsereval.errors import UsageError, nearest
from pytest_browsereval.exchange import browseros, online_mind2web, webvoyager
from pytest_browsereval.exchange.attempts import Imported
from pytest_browsereval.exchange.files import check_tree

READERS: dict[str, Callable[[Path], list[Imported]]] = {
    browseros.KIND: browseros.read_run,
    online_mind2web.KIND: online_mind2web.read_run,
    webvoyager.KIND: webvoyager.read_run,
}


def read_run(kind: str, folder: Path) -> list[Imported]:
    """Return the attempts of another system's run.

    Args:
        kind: which system's.
        folder: the run, or one task of it.

    Raises:
        UsageError: the kind is not known, or a file is missing or wrong; the message names it.
    """
    if kind not in READERS:
        raise UsageError(f"unknown kind {kind!r}.{nearest(kind, READERS)} Kinds: {', '.join(READERS)}.")
    check_tree(folder)
    return READERS[kind](folder)
