"""Windows that are to be shown, on a machine that has only a headless shell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_browsereval.browsers.binary import VARIABLE
from pytest_browsereval.testing.evals import EvalDriver
from tests.hooks.small_evals import Evals, row

NOTE = "*browseros.headless is not used: --eval-headed shows windows.*"


@pytest.fixture(autouse=True)
def only_a_headless_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave only the headless shell to be found, and no display."""
    shell = shutil.which("chromium-headless-shell")
    if shell is None:
        pytest.skip("there is no headless shell on PATH")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "chromium-headless-shell").symlink_to(shell)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "none"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow
def test_a_file_of_browseros_runs_without_windows(evals: Evals) -> None:
    """`headless: false`, which is BrowserOS's default, does not stop the run: its head says what happens."""
    evals.write_rows(row("a"))
    EvalDriver.write_config(evals, agent={"type": "scripted"}, browseros={"headless": False})
    run = evals.run("--eval-config=shop.eval.yaml")
    run.assert_outcomes(passed=1)
    run.stdout.fnmatch_lines([NOTE])
    assert run.ret == 0
