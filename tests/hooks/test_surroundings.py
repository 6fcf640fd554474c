"""Rows run beside each other where they have the same fixtures around them, in files of their own as well."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

AGENT = """
import asyncio, pathlib

async def solve(context):
    folder = pathlib.Path(str(context.base_dir)).parent
    (folder / f"{context.task.query_id}.begun").touch()
    for _ in range(PATIENCE if context.task.query_id == "first" else 0):
        if (folder / "second.begun").exists():
            return "right"
        await asyncio.sleep(0.1)
    return "alone" if context.task.query_id == "first" else "right"
"""

FIXTURE = """
import pytest

@pytest.fixture(scope="{scope}", autouse=True)
def shelf():
    yield
"""

TOGETHER = {"no fixture": {}, "one of the session": {"conftest.py": FIXTURE.format(scope="session")}}
APART = {
    "one of each file": {"conftest.py": FIXTURE.format(scope="module")},
    "one of each row": {"conftest.py": FIXTURE.format(scope="function")},
    "one of the second folder": {"b/conftest.py": FIXTURE.format(scope="session")},
}


def write_two(evals: Evals, conftests: dict[str, str], patience: int) -> None:
    """Write two evals of a row each, the first of which waits for the second."""
    for folder, query_id in (("a", "first"), ("b", "second")):
        evals.write_rows(row(query_id, says=None), name=f"{folder}/rows.jsonl")
        agent = {"type": "function", "function": f"agent_{folder}:solve"}
        evals.write_config(f"{folder}/{folder}.eval.yaml", agent=agent, lanes=2)
        (evals.path / folder / f"agent_{folder}.py").write_text(AGENT.replace("PATIENCE", str(patience)))
    for name, text in conftests.items():
        (evals.path / name).write_text(text)


@pytest.mark.parametrize("case", TOGETHER)
def test_rows_of_two_files_run_at_once(evals: Evals, case: str) -> None:
    """The second file's row begins while the first one's is up: both have what they need."""
    write_two(evals, TOGETHER[case], patience=600)
    evals.run("a/a.eval.yaml", "b/b.eval.yaml").assert_outcomes(passed=2)


@pytest.mark.parametrize("case", APART)
def test_a_row_with_other_fixtures_waits_for_them(evals: Evals, case: str) -> None:
    """It begins when the row before it is over, and its fixtures are up."""
    write_two(evals, APART[case], patience=10)
    evals.run("a/a.eval.yaml", "b/b.eval.yaml").assert_outcomes(passed=1, failed=1)
