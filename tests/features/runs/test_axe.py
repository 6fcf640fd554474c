"""The page of all runs as axe sees it (``-m peers``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.features.runs.page import RUNS_PAGE
from tests.features.runs.conftest import name_of
from tests.features.runs.test_page import leave_runs
from tests.features.shared.viewer.conftest import Look
from tests.features.shared.viewer.test_axe import axe, examined

__all__ = ["axe"]

pytestmark = pytest.mark.peers


@pytest.mark.parametrize(
    "place",
    ["#?", "#?eval=mail&outcome=unfinished", f"#/shop/{name_of(4)}", f"#/mail/{name_of(2)}", "#/none"],
)
def test_axe_finds_nothing(axe: str, tmp_path: Path, look: Look, place: str) -> None:
    """Wide and narrow, light and dark: no violation of any rule."""
    leave_runs(tmp_path / "results")
    assert main(["runs", str(tmp_path / "results")]) == 0
    look(tmp_path / "results" / RUNS_PAGE, examined(axe, place))
