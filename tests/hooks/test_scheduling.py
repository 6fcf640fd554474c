"""Handing out rows to workers: no worker idles while rows wait, and what belongs together stays together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from pytest_browsereval.model.results import TaskMetadata
from tests.hooks.launched import FUNCTION, write_agent
from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.slow

AGENT = """
import os

async def wait_for(context, count, pattern):
    folder = pathlib.Path(str(context.base_dir))
    for _ in range(1200):
        if len(list(folder.glob(pattern))) >= count:
            return "right"
        await asyncio.sleep(0.1)
    return "alone"

async def solve(context):
    name = begins(context)
    folder = pathlib.Path(str(context.base_dir))
    own = folder / f"{name}.begun"
    with own.open("a") as file:
        file.write(f"{os.getpid()} ")
    for count, pattern in context.task.metadata.additional.get("waits_for", ()):
        if await wait_for(context, count, pattern) == "alone":
            return "alone"
    died = own.with_suffix(".died")
    if name.startswith("dies") and not died.exists():
        died.touch()
        while name == "dies_alone" and len(list(folder.glob("results/*/*/in-flight/*"))) > 1:
            await asyncio.sleep(0.01)
        os._exit(77)
    own.with_suffix(".ended").touch()
    return "wrong" if name.startswith("wrong") else "right"
"""
"""A row notes the process that it is in, and waits until so many other rows have begun or ended.

``dies_alone`` kills its process once no other attempt is in flight.
"""


def waiting(name: str, *waits_for: tuple[int, str], **more: Any) -> dict[str, Any]:
    return row(name, metadata={"additional": {"waits_for": waits_for}}, **more)


@pytest.fixture
def waits(evals: Evals) -> Evals:
    write_agent(evals, AGENT)
    return evals


def processes(evals: Evals, pattern: str) -> set[str]:
    """Return the processes in which rows were."""
    return {pid for path in evals.path.glob(f"{pattern}.begun") for pid in path.read_text().split()}


def test_a_row_that_takes_long_holds_no_other_up(waits: Evals) -> None:
    """The first row ends only once all others have: they run in the other worker, or in lanes of its own.

    Of one lane, the row behind it waits: a worker of pytest-xdist starts none before it knows the next one.
    """
    for lanes, count in ((1, 12), (4, 70)):
        rows = waiting("long", (count - (lanes == 1), "r*.ended")), *map(row, names(count))
        assert waits.play(rows, "-n2", agent=FUNCTION, lanes=lanes).ret == 0
        assert waits.summary()["passed"] == count + 1
        for path in (*waits.path.glob("*.ended"), *waits.path.glob("*.begun")):
            path.unlink()


def names(count: int) -> list[str]:
    return [f"r{number}" for number in range(count)]


def test_a_few_rows_are_divided(waits: Evals) -> None:
    """With as many rows as workers, or one more, all workers are at work at once."""
    waits.write_config(agent=FUNCTION)
    for count in (2, 3):
        waits.write_rows(*(waiting(name, (2, "*.begun")) for name in names(count)))
        assert waits.run("shop.eval.yaml", "-n2").ret == 0
        assert len(processes(waits, "*")) == 2
        for path in waits.path.glob("*.begun"):
            path.unlink()


def test_a_chain_goes_to_one_worker_and_the_rest_to_the_other(waits: Evals) -> None:
    """The chain's first row ends once all free rows have: none waits behind it. Its last is not held up."""
    chain = [waiting("c0", (8, "r*.ended")), *(row(f"c{n}", depends_on=[f"c{n - 1}"]) for n in range(1, 6))]
    assert waits.play([*chain, *map(row, names(8))], "-n2", agent=FUNCTION).ret == 0
    assert waits.summary()["passed"] == 14
    assert len(processes(waits, "c*")) == 1
    assert processes(waits, "c*") & processes(waits, "r*") == set()


def test_rows_that_depend_on_one_use_all_lanes_of_their_worker(waits: Evals) -> None:
    """Once the first has passed, three that need it are at work at once."""
    needing = (waiting(f"n{n}", (3, "n*.begun"), depends_on=["first"]) for n in range(3))
    assert waits.play([row("first"), *needing], "-n2", agent=FUNCTION, lanes=3).ret == 0
    assert len(processes(waits, "*")) == 1


def rounds(evals: Evals, count: int) -> list[list[datetime]]:
    """Return when the attempts of each round began, in order."""
    found = [
        [
            TaskMetadata.model_validate_json(path.read_bytes()).started_at
            for path in evals.run_folder().glob(f"tasks/*/*/{number}/attempt-*/metadata.json")
        ]
        for number in range(1, count + 1)
    ]
    return [sorted(map(datetime.fromisoformat, each)) for each in found]


@pytest.mark.parametrize("options", [(), ("--max-worker-restart=0",)], ids=["replaced", "lost"])
def test_a_worker_dies_in_the_last_row_of_a_round(waits: Evals, options: tuple[str, ...]) -> None:
    """No trial of the next round begins before; a run that no worker is left for ends and names its rows.

    What the worker had run ahead is not made again.
    """
    others = [f"r{number:02}" for number in range(11)]
    waits.write_rows(waiting("dies_alone", (11, "r*.ended")), *map(row, others))
    gate, trials = {"min_pass_rate": 0.7}, {"min": 1, "max": 4}
    waits.write_config(agent=FUNCTION, lanes=2, retries=1, gate=gate, trials=trials)
    result = waits.run_process("shop.eval.yaml", "-n2", *options, limit_s=240)
    first, second = rounds(waits, 2)
    if options:
        assert result.ret == 3, result.stdout.str()
        result.stdout.fnmatch_lines(["incomplete: *"])
        assert second == []
        return
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["rounds: decided after 2 of 4 trials of each row; 24 trials not needed"])
    assert len(first) == 13  # the row that has died has a second attempt
    assert first[-1] < second[0]


def test_a_failed_row_ends_all_workers(waits: Evals) -> None:
    """With ``-x`` nothing is handed out after it: what the other worker has ends, whatever its lanes."""
    conftest = """
        import pathlib

        def pytest_runtest_logreport(report):
            if report.failed:
                (pathlib.Path(__file__).with_name("reported")).touch()
        """
    waits.pytester.makeconftest(conftest)
    for lanes, most in ((1, 4), (4, 9)):
        folder = waits.path / "reported"
        waits.write_rows(row("wrong"), *(waiting(name, (1, "reported")) for name in names(30)))
        waits.write_config(agent=FUNCTION, lanes=lanes)
        result = waits.run_process("shop.eval.yaml", "-n2", "-x", limit_s=240)
        assert result.ret in (1, 2), result.stdout.str()
        result.stdout.fnmatch_lines(["*stopping after 1 failures*"])
        assert len([*waits.path.glob("*.begun")]) <= most
        for path in (folder, *waits.path.glob("*.begun")):
            path.unlink()
