"""Beside other plug-ins and options of pytest: each is really there and really does its work."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval.testing.evals import BLANK
from tests.hooks.launched import FUNCTION
from tests.hooks.small_evals import WORKERS, Evals, row
from tests.support import WITH_NEIGHBOURS, WITH_RERUNS

AGENT = """
import asyncio, json, os, pathlib, time

async def solve(context):
    name, here = context.task.query_id, pathlib.Path(context.base_dir)
    if name == "stuck":
        await asyncio.sleep(600)
    seen = here / f"{name}.seen"
    is_first = not seen.exists()
    seen.touch()
    if name.startswith("breaks") and is_first:
        raise RuntimeError("bad luck")
    began = time.time()
    if "-group-" in name:
        await asyncio.sleep(0.2)
    line = json.dumps({"row": name, "pid": os.getpid(), "from": began, "to": time.time()})
    with (here / "times.jsonl").open("a") as file:
        file.write(line + "\\n")
    if name.startswith("never") or (name.startswith("flaky") and is_first):
        return "wrong"
    return "right"
"""


@pytest.fixture
def own_agent(evals: Evals) -> Evals:
    (evals.path / "my_agent.py").write_text(AGENT)
    evals.write_config(agent=FUNCTION)
    return evals


def attempts_of(evals: Evals, query_id: str) -> int:
    return len(list(evals.run_folder().glob(f"tasks/{query_id}/default/1/attempt-*/metadata.json")))


def junit_counts(path: Path) -> dict[str, int]:
    suite = ET.parse(path).getroot()[0]  # noqa: S314 our own file
    return {key: int(suite.get(key, "-1")) for key in ("failures", "errors", "skipped")}


@pytest.mark.slow
def test_timeout_errs_the_row_that_is_stuck(own_agent: Evals) -> None:
    """pytest-timeout ends a row that takes too long as an error in setup, counted; its neighbours go on."""
    own_agent.pytester.makeconftest(
        """
        import pytest
        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name == "stuck":
                    item.add_marker(pytest.mark.timeout(3, method="signal"))
        """
    )
    own_agent.write_rows(row("a"), row("stuck"), row("b"))
    own_agent.options = WITH_NEIGHBOURS + BLANK
    own_agent.write_config(agent=FUNCTION, lanes=2)
    result = own_agent.run("shop.eval.yaml", "--junit-xml=junit.xml")
    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == 1
    summary = own_agent.summary()
    assert (summary["selected"], summary["passed"], summary["errored"]) == (3, 2, 1)
    (stuck,) = [r for r in summary["results"] if r["query_id"] == "stuck"]
    assert "Timeout" in stuck["reason"]
    assert junit_counts(own_agent.path / "junit.xml") == {"failures": 0, "errors": 1, "skipped": 0}


@WORKERS
def test_failed_rows_are_not_run_again(own_agent: Evals, workers: list[str]) -> None:
    """``--reruns`` of pytest-rerunfailures, in addopts say, runs tests again and no row; the header tells."""
    own_agent.write_rows(*map(row, ("good", "flaky", "breaks-once", "never")))
    own_agent.options = WITH_RERUNS + BLANK
    own_agent.pytester.makepyfile(test_own=OWN)
    result = own_agent.run("--reruns=2", *workers)
    assert result.parseoutcomes() == {"passed": 2, "failed": 2, "errors": 1, "rerun": 1}
    result.stdout.fnmatch_lines(["eval: --reruns reruns no row"])
    counted = {name: attempts_of(own_agent, name) for name in ("good", "flaky", "breaks-once", "never")}
    assert counted == {"good": 1, "flaky": 1, "breaks-once": 1, "never": 1}


OWN = """
tries = []

def test_own():
    tries.append(1)
    assert tries[1:]
"""


def test_split_covers_all_rows_once(evals: Evals) -> None:
    """pytest-split's groups hold every row exactly once, and a group runs and sums up its own rows only."""
    evals.options = WITH_NEIGHBOURS + BLANK
    evals.write([row(f"r{n}") for n in range(5)])
    groups = [
        {line for line in evals.run("--co", "-q", "--splits=2", f"--group={n}").outlines if "::" in line}
        for n in (1, 2)
    ]
    assert groups[0] | groups[1] == {f"shop.eval.yaml::r{n}" for n in range(5)}
    assert not groups[0] & groups[1]
    result = evals.run("--splits=2", "--group=2")
    result.assert_outcomes(passed=len(groups[1]))
    assert evals.summary()["selected"] == evals.summary()["passed"] == len(groups[1])


@pytest.mark.parametrize(
    "options",
    [pytest.param(["-n2", "--dist=loadgroup"], marks=pytest.mark.slow), ["--eval-lanes=4"]],
    ids=["loadgroup", "lanes"],
)
def test_rows_of_a_group_never_run_at_once(own_agent: Evals, options: list[str]) -> None:
    """Rows of one xdist_group run in one process, one after another, with workers and with lanes."""
    own_agent.pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(tryfirst=True)  # xdist reads the marks in the same hook
        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.xdist_group(item.name.partition("-")[0]))
        """
    )
    own_agent.write_rows(*(row(f"{group}-group-{n}") for n in range(3) for group in "xy"))
    own_agent.write_config(agent=FUNCTION, lanes=2)
    result = own_agent.run("shop.eval.yaml", *options)
    result.assert_outcomes(passed=6)
    assert result.ret == 0
    assert own_agent.summary()["selected"] == own_agent.summary()["passed"] == 6
    times = defaultdict(list)
    for line in (own_agent.path / "times.jsonl").read_text().splitlines():
        told = json.loads(line)
        times[told["row"][0]].append((told["from"], told["to"], told["pid"]))
    for spans in times.values():
        assert len({pid for _, _, pid in spans}) == 1
        assert all(first[1] <= second[0] for first, second in pairwise(sorted(spans)))


@pytest.mark.slow
def test_playwrights_page_works_beside_our_window(evals: Evals) -> None:
    """pytest-playwright's ``page`` and our ``browser_window`` serve one test, and rows run beside it."""
    evals.write([row("a")], browser="playwright")
    evals.pytester.makeconftest(
        """
        import pytest
        from pytest_browsereval.features.shared.browser_binary import find_binary
        import asyncio

        @pytest.fixture(scope="session")
        def browser_type_launch_args(browser_type_launch_args):
            binary = asyncio.run(find_binary())
            return {**browser_type_launch_args, "executable_path": binary.path, "args": ["--no-sandbox"]}
        """
    )
    evals.pytester.makepyfile(
        """
        def test_both(page, browser_window):
            page.set_content("<title>Theirs</title>")
            browser_window.wait(browser_window.page.set_content("<title>Ours</title>"))
            assert (page.title(), browser_window.wait(browser_window.page.title())) == ("Theirs", "Ours")
        """
    )
    result = evals.pytester.runpytest_subprocess("-p", "no:asyncio")
    result.assert_outcomes(passed=2)
