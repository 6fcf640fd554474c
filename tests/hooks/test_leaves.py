"""Folders of `benchmarks` and `features` can be left out: the quickstart does not need them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import pytest_browsereval
from tests.hooks.small_evals import Evals

PACKAGE = Path(pytest_browsereval.__file__).parent
QUICKSTART = PACKAGE.parent / "examples" / "quickstart"
LEAVES = sorted(
    path.parent.relative_to(PACKAGE).as_posix()
    for room in ("benchmarks", "features")
    for path in PACKAGE.glob(f"{room}/*/__init__.py")
)


@pytest.fixture
def without(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have processes use a copy of the package that lacks some folders."""
    copy = tmp_path / "less" / PACKAGE.name
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, copy, ignore=ignored)
    for leaf in request.param:
        shutil.rmtree(copy / leaf)
    monkeypatch.setenv("PYTHONPATH", str(copy.parent))
    return copy


EACH = [pytest.param([leaf], id=leaf, marks=pytest.mark.slow) for leaf in LEAVES]


@pytest.mark.parametrize(
    "without", [pytest.param(LEAVES, id="all", marks=pytest.mark.slow), *EACH], indirect=True
)
def test_a_folder_can_be_left_out(without: Path, evals: Evals) -> None:
    """Without its folder the quickstart passes."""
    out = f"--eval-output={evals.path / 'out'}"
    result = evals.run_process(f"--eval-config={QUICKSTART / 'eval.yaml'}", out, "--eval-limit=4")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    result.assert_outcomes(passed=4)


@pytest.mark.slow
@pytest.mark.parametrize("without", [["benchmarks/gaia", "features/doctor"]], indirect=True)
def test_what_was_left_out_is_refused(without: Path, evals: Evals) -> None:
    """A config that asks for it is refused, and so is its subcommand."""
    del without
    evals.write_config(dataset={"type": "gaia", "path": "gaia.jsonl"})
    told = evals.run_process("shop.eval.yaml")
    assert told.ret == pytest.ExitCode.USAGE_ERROR
    assert "unknown dataset 'gaia'" in told.stdout.str() + told.stderr.str()
    command = evals.pytester.run(sys.executable, "-m", "pytest_browsereval", "doctor")
    assert command.ret == 2
    assert "invalid choice: 'doctor'" in command.stderr.str()
