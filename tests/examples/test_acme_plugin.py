"""The example of a plug-in package, really installed: wheels in a virtual environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.examples.patience import PATIENCE
from tests.support import LEFT_OUT, run_program

ROOT = Path(__file__).parents[2]
ACME = ROOT / "examples" / "acme_plugin"


class Installed:
    """A virtual environment with this package and the example, in which programs are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")

    def run(self, program: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
        command, env = [self._bin / program, *args], {**os.environ, "PYTHONPATH": ""}
        return run_program(command, cwd=self.folder, env=env, limit_s=300)

    def pytest(self, *args: str) -> subprocess.CompletedProcess[str]:
        return self.run("python", "-m", "pytest", *LEFT_OUT, *args)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build and install both packages; what they depend on is taken from the running environment."""
    for tool in ("pip", "hatchling"):
        pytest.importorskip(tool, reason=f"builds wheels; type  python -m pip install {tool}")
    folder = tmp_path_factory.mktemp("acme")
    shutil.copytree(ACME / "evals", folder / "evals")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    variables = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", vars=variables))
    (site / "running.pth").write_text("\n".join(p for p in sys.path if Path(p).name.endswith("-packages")))
    made = Installed(folder)
    options = ("--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed", "--no-compile")
    result = made.run("python", "-m", "pip", "install", "--quiet", *options, ROOT, ACME)
    assert result.returncode == 0, result.stderr
    found = made.run(
        "python", "-c", "import pytest_browsereval, acme_plugin as a; print(pytest_browsereval, a)"
    )
    assert found.stdout.count(str(site)) == 2, found.stderr
    return made


COMMANDS = """
import sys
from pytest_browsereval.__main__ import main

def run(*words):
    print("+", *words, flush=True)
    try:
        print("=", main(list(words)), flush=True)
    except SystemExit as ended:
        print("=", ended.code, flush=True)

run("gate", sys.argv[1], "--eval-set", "gate.rules=[{type: acme/steps, most: 1}]")
run("--help")
run("acme-steps", sys.argv[1])
run("export", sys.argv[1], "--to", "acme/steps", "-o", "s.csv")
run("export", sys.argv[1], "--to", "acme/step")
"""
"""Commands, one after the other in one process: each of its own would import all anew."""


def check_commands(installed: Installed, run: Path, ids: list[str]) -> None:
    """Check what the package's rule, subcommand and export say of a run."""
    done = installed.run("python", "-c", COMMANDS, run)
    outputs = [f"\n{part.partition(chr(10))[2]}".rpartition("\n= ") for part in done.stdout.split("\n+ ")]
    gate, listed, counted, written, unknown = ((code.strip(), text) for text, _, code in outputs)
    assert gate[0] == "1"
    assert "took 2 steps, which is over 1" in gate[1]
    assert "acme-steps" in listed[1]
    assert sorted(counted[1].strip().splitlines()) == sorted(f"{name}: 2" for name in ids), done.stderr
    assert written[0] == "0", done.stderr
    assert sorted((installed.folder / "s.csv").read_text().split()) == sorted(f"{name},2" for name in ids)
    assert unknown[0] == "4"
    assert "Did you mean 'acme/steps'?" in done.stderr


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["plain", "xdist"])
@pytest.mark.slow
def test_its_agent_its_grader_and_what_reads_a_run(installed: Installed, workers: list[str]) -> None:
    """The eval passes with its members, the header names it; its subcommand, export and rule read the run."""
    out = installed.folder / f"out{len(workers)}"
    result = installed.pytest("--eval-config=evals/button.yaml", f"--eval-output={out}", *PATIENCE, *workers)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "eval plug-ins: browsereval-acme 1.0.0" in result.stdout.splitlines()
    (summary,) = out.glob("*/*/summary.json")
    told = json.loads(summary.read_text())
    assert (told["passed"], told["trials"]) == (2, 2)
    assert [list(r["grades"]) for r in told["results"]] == [["acme/politeness"]] * 2
    metadata = json.loads(max(out.glob("*/*/tasks/*/*/1/attempt-*/metadata.json")).read_text())
    own = {"type": "acme/clicker", "button": "Press me", "read": "#out"}
    assert metadata["agent_config"] == {**own, "tools": None}
    assert metadata["total_steps"] == 2
    if not workers:
        check_commands(installed, summary.parent, [one["query_id"] for one in told["results"]])


@pytest.mark.slow
def test_its_toolkit_works(installed: Installed) -> None:
    """Its tools are called like ours, each attempt has a pad of its own, and the manifest names the owner."""
    out = installed.folder / "out-notes"
    options = ("--eval-config=evals/notes.yaml", f"--eval-output={out}", "--eval-lanes=2", *PATIENCE)
    result = installed.pytest(*options, "--eval-set=tools.screenshot=false")
    assert result.returncode == 0, result.stdout + result.stderr
    manifest = json.loads(next(out.glob("*/*/manifest.json")).read_text())
    kit = manifest["toolkits"][-1]
    assert (kit["key"], kit["owner"]) == ("acme/notes", "browsereval-acme 1.0.0")
    assert kit["tools"] == manifest["tools"][-2:] == ["write_note", "read_notes"]
    read = {}
    for log in sorted(out.glob("*/*/tasks/*/*/1/attempt-*/messages.jsonl")):
        messages = [json.loads(line) for line in log.read_text().splitlines()]
        read[log.parts[-5]] = [m["result"]["output"] for m in messages if m["type"] == "tool_result"][-2]
    assert read == {"note": "Thank you for pressing.", "empty": "There are no notes."}


PROOF = """
import asyncio
from acme_plugin.notes import NotesConfig, read_notes, write_note
from pytest_browsereval.testing import check_calls, check_toolkit, open_window


def test_notes():
    check_toolkit(NotesConfig().build())


def test_calls():
    async def work():
        async with open_window() as window:
            await check_calls(read_notes, window, good=[{}])
            bad = [{"text": "x" * 501}, {"text": ["milk"]}]
            await check_calls(write_note, window, good=[{"text": "milk"}], bad=bad)

    asyncio.run(work())
"""


@pytest.mark.slow
def test_its_toolkit_keeps_the_contract(installed: Installed) -> None:
    """As its author would prove it."""
    (installed.folder / "test_notes.py").write_text(PROOF)
    result = installed.pytest("test_notes.py")
    assert result.returncode == 0, result.stdout
    assert "2 passed" in result.stdout


@pytest.mark.slow
def test_its_grader_knows_its_own_attempts(installed: Installed) -> None:
    """The doctor lets it judge them, whatever else it finds: here nobody has started the browser."""
    nowhere = "browser={type: cdp, url: 'http://127.0.0.1:9'}"
    result = installed.run("browsereval", "doctor", "evals/button.yaml", "--eval-set", nowhere)
    told = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "ok grader acme/politeness right on 2 known attempts" in told, result.stdout + result.stderr
