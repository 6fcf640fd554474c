"""Workers: shares, deaths, lost items, one stop for all."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

AGENT = """
import asyncio, os, pathlib, time

async def solve(context):
    name = context.task.query_id
    flag = pathlib.Path(context.base_dir) / f"{name}.died"
    if name.startswith("dies-once") and not flag.exists():
        flag.touch()
        await asyncio.sleep(0.5)
        os._exit(77)
    if name.startswith("dies-always"):
        await asyncio.sleep(0.5)
        os._exit(77)
    if name.startswith("slow"):
        await asyncio.sleep(0.5)
    return "right"
"""


OWN = {"type": "function", "function": "my_agent:solve"}


@pytest.fixture
def own_agent(evals: Evals) -> Evals:
    (evals.path / "my_agent.py").write_text(AGENT)
    evals.config(agent=OWN, lanes=4)
    return evals


def test_each_row_runs_once_over_all_workers(own_agent: Evals) -> None:
    """Two workers with lanes run every row exactly once, and the controller sums up one run folder."""
    own_agent.rows(*(row(f"r{n}") for n in range(21)))
    result = own_agent.run("shop.eval.yaml", "-n2")
    result.assert_outcomes(passed=21)
    assert result.ret == 0
    folder = own_agent.run_folder()
    assert len(list(folder.glob("tasks/*/default/1/attempt-*"))) == 21
    assert own_agent.summary()["passed"] == 21
    assert len(list((own_agent.path / "results/shop").iterdir())) == 1


def test_evals_found_in_folders_work_with_workers(own_agent: Evals) -> None:
    """A bare ``pytest -n 2`` finds eval files and gates them."""
    own_agent.rows(*(row(f"r{n}") for n in range(4)))
    result = own_agent.run("-n2", "--eval-min-pass-rate=1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*pass rate 100.0% (4 of 4 judged)*"])


def test_a_row_that_kills_its_worker_once_is_run_again(own_agent: Evals) -> None:
    """After a death the attempts in flight run again, and everything passes."""
    own_agent.config(agent=OWN, lanes=4, retries=1)
    own_agent.rows(*(row(f"slow{n}") for n in range(8)), row("dies-once"), *(row(f"r{n}") for n in range(5)))
    result = own_agent.run("shop.eval.yaml", "-n2")
    assert result.ret == 0
    assert own_agent.summary()["passed"] == 14


def test_only_the_row_that_kills_is_blamed(own_agent: Evals) -> None:
    """A row that always kills its process is errored; its neighbours in the lanes pass."""
    own_agent.rows(
        *(row(f"slow{n}") for n in range(6)), row("dies-always"), *(row(f"r{n}") for n in range(6))
    )
    result = own_agent.run("shop.eval.yaml", "-n2", "--junit-xml=junit.xml")
    assert result.ret == 1
    summary = own_agent.summary()
    assert (summary["passed"], summary["errored"]) == (12, 1)
    assert [r["query_id"] for r in summary["results"] if r["verdict"] == "errored"] == ["dies-always"]


def test_a_lost_item_is_never_green(own_agent: Evals) -> None:
    """A value that cannot be sent kills the worker, and xdist alone would end with 0; here it is 3."""
    own_agent.rows(row("a"), row("b"))
    own_agent.pytester.makeconftest(
        """
        import pathlib, pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if call.when == "call":
                report.user_properties.append(("path", pathlib.Path("x")))
            return report
        """
    )
    result = own_agent.run("shop.eval.yaml", "-n2")
    assert result.ret == 3
    result.stdout.fnmatch_lines(["*incomplete: * of 2 items have no result*"])


def test_the_users_own_distribution_is_kept(own_agent: Evals) -> None:
    """``--dist loadgroup`` stays the user's: every row runs once, two lanes at most, said in the header."""
    own_agent.rows(*(row(f"r{n}") for n in range(8)))
    result = own_agent.run("shop.eval.yaml", "-n2", "--dist=loadgroup")
    result.assert_outcomes(passed=8)
    assert own_agent.summary()["passed"] == 8
    own_agent.run("--eval-config=shop.eval.yaml", "-n2", "--dist=loadgroup").stdout.fnmatch_lines(
        ["*--dist loadgroup: at most 2 lanes*"]
    )


def test_num_workers_is_divided_among_processes(evals: Evals) -> None:
    """``num_workers: 3`` with ``-n 2`` gives each process two lanes."""
    evals.rows(row("a"))
    evals.config(num_workers=3)
    result = evals.run("--eval-config=shop.eval.yaml", "-n2")
    result.stdout.fnmatch_lines(["eval shop: *2 lanes, in each of 2 processes*"])
