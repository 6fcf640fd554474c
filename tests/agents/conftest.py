"""Desks that are cleared away after the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.desk import Desk, MakeDesk

__all__ = ["desk", "make_desk"]


@pytest.fixture
def make_desk(tmp_path: Path) -> Iterator[MakeDesk]:
    """Return a maker of desks in the test's folder."""
    desks: list[Desk] = []

    def make(**settings: Any) -> Desk:
        folder = tmp_path / f"attempt-{len(desks)}"
        folder.mkdir()
        desks.append(Desk(folder, **{"base_dir": tmp_path, **settings}))
        return desks[-1]

    yield make
    for each in desks:
        if hasattr(each, "capture"):
            each.capture.close()


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    """Return a desk as it comes."""
    return make_desk()
