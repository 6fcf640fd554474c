"""The MiniWoB example as users run it: real task pages, scored by their own reward."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.examples.patience import run_example
from tests.hooks.small_evals import Evals

MINIWOB = Path(__file__).parents[2] / "examples" / "miniwob"
SEEDS = 5
BLIND = ("--eval-set=capture.screenshots=off", "--tb=no")

if find_spec("miniwob") is None:  # to import it takes a tenth of a second
    pytest.skip("its pages are what is tested: pip install miniwob", allow_module_level=True)


@pytest.mark.slow
def test_the_policies_solve_every_kind_of_page(evals: Evals) -> None:
    """Each page with a policy gives its full reward for the first seed; the grader reads it."""
    rows = (MINIWOB / "rows.jsonl").read_text().splitlines()
    pages = len(rows) // SEEDS
    assert pages >= 20
    result = run_example(evals, MINIWOB / "eval.yaml", *BLIND, f"--eval-limit={pages}")
    assert result.ret == 0, result.stdout.str()
    assert result.summary["trials"] == result.summary["passed"] == pages


@pytest.mark.slow
def test_doing_nothing_finishes_no_episode(evals: Evals) -> None:
    """The noop agent fails every task because its episode is not finished, and none is errored."""
    result = run_example(evals, MINIWOB / "noop.yaml", *BLIND, "--eval-limit=6")
    assert result.ret == 1
    assert result.summary["trials"] == result.summary["failed"] == 6
    grades = [json.loads(path.read_text())["miniwob"] for path in evals.path.rglob("grades.json")]
    assert [grade["reasoning"] for grade in grades] == 6 * ["the episode was not finished"]


def test_the_rows_are_what_the_script_makes(tmp_path: Path) -> None:
    """``rows.jsonl`` is up to date: the script writes the same again, and each page exists."""
    for name in ("make_rows.py", "policies.py"):
        (tmp_path / name).write_text((MINIWOB / name).read_text())
    subprocess.run([sys.executable, "make_rows.py"], cwd=tmp_path, check=True)
    rows = (MINIWOB / "rows.jsonl").read_text()
    assert (tmp_path / "rows.jsonl").read_text() == rows
    import miniwob

    pages = Path(next(iter(miniwob.__path__))) / "html"
    starts = set(re.findall(r"\{miniwob\}/(miniwob/[\w-]+\.html)", rows))
    assert {page for page in starts if not (pages / page).is_file()} == set()
