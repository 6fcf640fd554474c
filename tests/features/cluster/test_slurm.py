"""A real Slurm runs the template: an array, a task that is killed and requeued, the verdict."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import psutil
import pytest

from pytest_browsereval.features.shard.hooks import shards_of
from pytest_browsereval.testing.evals import BLANK
from tests.features.cluster.engine import PATIENCE_S, Slurm, running_slurm
from tests.hooks.small_evals import Evals, row
from tests.support import LEFT_OUT, has_ended, until

pytestmark = pytest.mark.cluster

SOLVE = {"type": "function", "function": "my_agent:solve"}
ROWS = ("a", "b", "c", "d", "e", "f")
TEMPLATE = Path(__file__).parents[3] / "examples/cluster/slurm.sh"

AGENT = """
import asyncio, os
from pathlib import Path

HERE = Path(__file__).parent

async def solve(context):
    with (HERE / "calls").open("a") as file:
        print(context.task.query_id, file=file)
    if context.task.query_id == "HELD" and (HERE / "hold").exists():
        (HERE / "held").touch()
        await asyncio.sleep(3600)
    return "right" if context.task.query_id != "WRONG" else "wrong"
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    with running_slurm() as slurm:
        # As after `source .venv/bin/activate`: jobs take over the environment in which they are submitted.
        path = f"{Path(sys.executable).parent}:{slurm.environment['PATH']}"
        options = " ".join((*BLANK, *LEFT_OUT))
        yield Slurm({**slurm.environment, "PATH": path, "PYTEST_ADDOPTS": options})


@pytest.fixture
def script(evals: Evals) -> tuple[str, str]:
    """Return the template and a run of an eval with a browser, in two parts that each have rows."""
    evals.write((row(name) for name in ROWS), browser="playwright", agent=SOLVE, gate={"min_pass_rate": 0.8})
    (evals.path / "my_agent.py").write_text(AGENT.replace("HELD", ROWS[0]).replace("WRONG", ROWS[1]))
    return str(TEMPLATE), "nightly"


def part_of(query_id: str) -> int:
    return shards_of([[name] for name in ROWS], 2)[ROWS.index(query_id)]


def whole(evals: Evals) -> dict[str, Any]:
    """Return the summary of the run that the newest verdict has merged."""
    folders = (evals.path / "results/shop").glob("nightly-*/summary.json")
    newest = max(folders, key=lambda file: file.stat().st_mtime_ns)
    return dict(json.loads(newest.read_text()))


def calls(evals: Evals) -> Counter[str]:
    return Counter((evals.path / "calls").read_text().split())


def outputs(evals: Evals) -> str:
    return "\n".join(file.read_text() for file in sorted(evals.path.glob("*.out")))


def test_an_array_becomes_one_run_and_a_verdict(slurm: Slurm, evals: Evals, script: tuple[str, str]) -> None:
    """Each row is run once; `--wait` ends with the exit code of the gate, and CI finds a JUnit file."""
    assert len({part_of(name) for name in ROWS}) == 2
    evals.write_config(agent=SOLVE, gate={"min_pass_rate": 0.8})  # in blank windows
    run(slurm, evals, *script, "1-2", "--wait")
    assert calls(evals) == Counter(ROWS)
    summary = whole(evals)
    assert (summary["trials"], summary["passed"], summary["failed"]) == (6, 5, 1)
    suite = ET.parse(evals.path / "results/shop/nightly.xml").getroot()[0]  # noqa: S314 ours
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("8", "1", "0")
    # Submitted again, it would be green by what is there; without the verdict another gate decides.
    assert run(slurm, evals, *script, code=4) == ""
    (evals.path / "results/shop/nightly.xml").unlink()
    evals.write_config(agent=SOLVE, gate={"min_pass_rate": 0.9})
    array, verdict = submit(slurm, evals, *script, "2")
    assert slurm.wait(f"{array}_2", "FAILED", "COMPLETED")["ExitCode"] == "0:0"
    assert slurm.wait(verdict, "FAILED", "COMPLETED")["ExitCode"] == "1:0"
    assert calls(evals) == Counter(ROWS)
    assert "2-of-2 is already finished" in outputs(evals)


def test_a_killed_task_is_requeued(slurm: Slurm, evals: Evals, script: tuple[str, str]) -> None:
    """Nothing of it is left behind, the verdict is red, and once requeued each row has one result."""
    (evals.path / "hold").touch()
    number = part_of(ROWS[0])
    array, verdict = submit(slurm, evals, *script)
    asyncio.run(until((evals.path / "held").exists, PATIENCE_S))
    batch = find_batch_script(array, number)
    below = batch.children(recursive=True)
    names = " ".join(process.name() for process in below)
    assert all(name in names for name in ("pytest", "node", "chrom")), names
    batch.kill()
    asyncio.run(until(lambda: all(has_ended(process.pid) for process in below)))
    slurm.wait(f"{array}_{number}", "FAILED")
    assert slurm.wait(verdict, "FAILED", "COMPLETED")["JobState"] == "FAILED"
    assert f"{number}-of-2 was begun and is not done" in outputs(evals)
    assert not (evals.path / "results/shop/nightly.xml").exists()
    (evals.path / "hold").unlink()
    slurm.run("scontrol", "requeue", f"{array}_{number}")
    assert slurm.wait(f"{array}_{number}", "COMPLETED")["Restarts"] == "1"
    slurm.run("scontrol", "requeue", verdict)
    fields = slurm.wait(verdict, "COMPLETED")
    assert (fields["Restarts"], fields["ExitCode"]) == ("1", "0:0")
    summary = whole(evals)
    results = Counter(result["query_id"] for result in summary["results"])
    assert (results, summary["errored"]) == (Counter(ROWS), 0)
    assert calls(evals)[ROWS[0]] == 2
    parts = sorted(path.name for path in (evals.path / "runs/shop/nightly/parts").iterdir())
    assert parts == ["1-of-2", "2-of-2"]


def run(slurm: Slurm, evals: Evals, *words: str, code: int = 0) -> str:
    """Run the template as it is, with the settings of the eval, and return what it prints."""
    settings = {"CONFIG": "shop.eval.yaml", "NAME": "shop", "PARTS": "2", "RESULTS": "results/shop"}
    settings |= {"OUTPUT": f"file://{evals.path}/runs", "CPUS": "1", "MEMORY": "2G"}
    environment = slurm.environment | {f"EVAL_{name}": value for name, value in settings.items()}
    return Slurm(environment).run("bash", *words, cwd=evals.path, code=code)


def submit(slurm: Slurm, evals: Evals, *words: str) -> tuple[str, str]:
    """Return the jobs of the parts and of the verdict."""
    parts, verdict = run(slurm, evals, *words).splitlines()
    return parts.split()[-1], verdict.split()[-1]


def find_batch_script(array: str, number: int) -> psutil.Process:
    """Return the process that Slurm has started for a task: our supervisor, in the place of its script."""
    found = []
    for process in psutil.process_iter(["name", "cmdline"]):
        if "--attached" in (process.info["cmdline"] or ()):
            environment = process.environ()
            if (environment.get("SLURM_ARRAY_JOB_ID"), environment.get("SLURM_ARRAY_TASK_ID")) == (
                array,
                str(number),
            ):
                found.append(process)
    (one,) = found
    parent = one.parent()
    assert parent is not None
    assert parent.name() == "slurmstepd"
    return one
