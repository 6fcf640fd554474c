"""Tests that need more than the test extras are left out by name, told, and run by CI."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from tests.features.cluster.engine import running_slurm
from tests.forks import run_forked
from tests.hooks.launched import wait_for
from tests.support import PATIENCE_S

ROOT = Path(__file__).parents[1]
ONE_OF_A_TIER = "tests/examples/test_browser_use.py"
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
MARKERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
TIERS = [name for marker in MARKERS if (name := marker.partition(":")[0]) != "quick"]


def collect(*args: str) -> subprocess.CompletedProcess[str]:
    return run_pytest(["--collect-only", ONE_OF_A_TIER, *args])


@pytest.mark.slow
def test_a_tier_is_left_out_and_the_header_says_so() -> None:
    """Without its name nothing of it runs, and who looks for it reads what to type."""
    result = collect()
    assert result.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert f"left out: {', '.join(TIERS)}; pytest -m NAME runs one, .ci/run all" in result.stdout
    assert "1 deselected" in result.stdout


@pytest.mark.slow
def test_a_tier_runs_by_its_name() -> None:
    """Then the others are left out."""
    result = collect("-m", "browser_use")
    assert result.returncode == 0
    assert (
        "left out: real_model, peers, machines, cluster, soak, adversary, slow, published, interop;"
        in result.stdout
    )


def test_a_mark_of_all_tests_of_a_file_is_a_statement() -> None:
    """``conftest.py`` takes the first such line: one in a text would hide the file from every tier."""
    for file in (ROOT / "tests").rglob("test_*.py"):
        text = file.read_text(encoding="utf-8")
        lines = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith("pytestmark = ")]
        assigned = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)] if lines else []
        named = [node.lineno for node in assigned if ast.unparse(node.targets[0]) == "pytestmark"]
        assert lines[:1] == named, file


@pytest.mark.parametrize("failing", ["no program", "-m pytest -m soak", "-s lint", "install --quiet uv"])
def test_ci_runs_every_part_and_fails_with_any(tmp_path: Path, failing: str) -> None:
    """No mark and no command of contributors is left out; stand-ins for the programs note their calls."""
    result = run_ci(tmp_path, failing)
    assert result.returncode == (0 if failing == "no program" else 1), result.stdout + result.stderr
    tiers = re.findall(r"-m pytest -m (\w+)", (tmp_path / "python.txt").read_text())
    assert sorted(tiers) == sorted(TIERS)
    commands = re.findall(r"-s (\w+)", (tmp_path / "nox.txt").read_text())
    assert sorted(commands) == ["docs", "lint", "lowest", "package", "report", "types"]
    assert all(result.stdout.count(f"ran -m pytest -m {tier} --durations=") == 1 for tier in TIERS)  # once
    assert (tmp_path / "pytest.txt").read_text() == "\n"  # the README's, without arguments
    failed = re.findall(r" FAILED \(exit code \d\), ", result.stdout)
    assert len(failed) == (failing != "no program")


@pytest.mark.parametrize("failing", ["set up as the README says", "/pytest "])
def test_ci_ends_where_the_command_of_the_readme_fails(tmp_path: Path, failing: str) -> None:
    """Nothing of what takes longer is begun."""
    result = run_ci(tmp_path, failing)
    assert result.returncode == 1
    assert "the README's test command: FAILED (exit code 3)" in result.stdout
    assert "-m pytest" not in (tmp_path / "python.txt").read_text()


@pytest.mark.parametrize("waiting", ["/pytest ", "-m pytest -m slow"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ci_leaves_nothing_behind_when_it_is_stopped(tmp_path: Path, number: int, waiting: str) -> None:
    """Neither the README's command, which is in the background, nor the jobs beside it."""
    process = start_ci(tmp_path, waiting=waiting)
    try:
        wait_for((tmp_path / "waits").exists, "it waits for a program")
        os.killpg(process.pid, number)  # as a terminal does
        assert process.wait(PATIENCE_S) != 0
        wait_for(lambda: not has_group(process.pid), "all processes have ended")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def has_group(number: int) -> bool:
    """Whether a process of the group is left."""
    with suppress(ProcessLookupError):
        os.killpg(number, 0)
        return True
    return False


def run_ci(folder: Path, failing: str) -> subprocess.CompletedProcess[str]:
    """Run CI with programs that say what they are called with, and fail where that has some words."""
    process = start_ci(folder, failing)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def start_ci(folder: Path, failing: str = "no program", waiting: str = "no program") -> subprocess.Popen[str]:
    """Start it, in a session of its own, with programs that wait where they are called with other words."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", folder / ".ci")
    setup = "python3 -m venv .venv && pip install -e '.[dev]' && pip set up as the README says"
    (folder / "README.md").write_text(f"{setup} && pytest\n")
    made = folder / "bin"
    made.mkdir()
    programs = "python python3 pip pytest nox npm node chromium ip Xvfb sbatch"
    for name in programs.split():
        script = f'#!/bin/sh\necho "$*" >>"{folder}/{name}.txt"\necho "ran $*"\n'
        cases = f'*"{failing}"*) exit 3 ;; *"{waiting}"*) touch "{folder}/waits"; exec sleep 600 ;;'
        (made / name).write_text(f'{script}case "$0 $*" in {cases} esac\n')
        (made / name).chmod(0o755)
    with (made / "python3").open("a") as program:
        program.write(f'[ "$2" != venv ] || {{ mkdir -p "$3/bin" && cp {made}/* "$3/bin"; }}\n')
    path = f"{made}:{os.environ['PATH']}"
    return subprocess.Popen(
        [folder / ".ci/run"],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


# In one line: this file is none of that tier.
SKIPPED = """import pytest; pytestmark = pytest.mark.peers

def test_one():
    pytest.skip("a part is missing")
"""
RUNS = """

def test_two():
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "option", "code", "told"),
    [
        (SKIPPED, "-q", pytest.ExitCode.TESTS_FAILED, "nothing of peers was run: every test was skipped"),
        (SKIPPED + RUNS, "-q", pytest.ExitCode.OK, "1 passed, 1 skipped"),
        (SKIPPED, "--collect-only", pytest.ExitCode.OK, "1 test collected"),
    ],
    ids=["all skipped", "one skipped", "only collected"],
)
def test_a_tier_that_skips_everything_fails(
    tmp_path: Path, content: str, option: str, code: int, told: str
) -> None:
    """Green would say that it holds; a part that is left out is told, no more."""
    (tmp_path / "test_peers.py").write_text(content)
    result = run(tmp_path, "-m", "peers", option)
    assert (result.returncode, told in result.stdout) == (code, True), result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("options", "code"), [(["-m", "soak"], 5), ([], 5), (["-m", "peers"], 2)])
def test_files_of_other_tiers_are_not_imported(tmp_path: Path, options: list[str], code: int) -> None:
    """Neither where a tier is named nor where all are left out, so that one tier starts at once."""
    (tmp_path / "test_broken.py").write_text(SKIPPED.replace("; ", "\n") + "raise OSError")
    result = run(tmp_path, "--collect-only", *options)
    assert result.returncode == code, result.stdout + result.stderr


def test_marks_of_tiers_stand_in_the_files_of_their_tests(tmp_path: Path) -> None:
    """A mark from elsewhere would not be found by its name: the whole run says so."""
    (tmp_path / "marks.py").write_text("import pytest\nmarked = pytest.mark.peers")
    (tmp_path / "test_peer.py").write_text("from marks import marked\n\n@marked\ndef test_one(): pass")
    result = run(tmp_path, "--collect-only", PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]))
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "write peers into the file itself" in result.stderr


def test_a_test_is_of_one_tier(tmp_path: Path) -> None:
    """With two marks no `-m NAME` would run it, and all would be green."""
    two = "import pytest\n\n@pytest.mark.peers\n@pytest.mark.slow\ndef test_one(): pass"
    (tmp_path / "test_two.py").write_text(two)
    result = run(tmp_path, "-m", "slow", "-n0")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_two.py::test_one is of peers, slow: no -m NAME would run it" in result.stderr


LEFT = """
import os, signal, subprocess, sys, tempfile
from pathlib import Path

def test_own():
    tempfile.mkdtemp()
    # A pytest that is started here has its folders there, and looks at those of nobody else.
    assert os.environ["PYTEST_DEBUG_TEMPROOT"] == os.environ["TMPDIR"]

def test_of_a_process(tmp_path):
    Path(tmp_path, "told").touch()
    code = "import os, signal, tempfile; tempfile.mkdtemp(); os.kill(os.getpid(), signal.SIGKILL)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("processes", [0, 1])
def test_tests_leave_no_temporary_folder(tmp_path: Path, processes: int) -> None:
    """What is killed cannot tidy up; the folder of a test stays for those who want to look."""
    tests, temp = tmp_path / "tests", tmp_path / "temp"
    for folder in (tests, temp):
        folder.mkdir()
    (tests / "test_left.py").write_text(LEFT)
    result = run(tests, "-n", str(processes), TMPDIR=str(temp))
    assert "2 passed" in result.stdout, result.stdout + result.stderr
    assert [path.name.rpartition("-")[0] for path in temp.iterdir()] == ["pytest-of"]
    assert len(list(temp.rglob("told"))) == 1


def run(tests: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run tests as those of this repository are run."""
    options = ["-p", "conftest", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    return run_pytest([*options, *args, str(tests)], **environment)


def run_pytest(args: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in the root, whose modules it then finds, in a process of its own."""
    env = {key: value for key, value in os.environ.items() if key != "PYTEST_DEBUG_TEMPROOT"}
    done = run_forked([sys.executable, "-m", "pytest", *args], cwd=ROOT, env=env | environment)
    out, err = (text.decode() for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def test_ci_fails_where_the_peers_cannot_be_installed(tmp_path: Path) -> None:
    """Without npm, and without a way to get it; the rest of CI goes on, and is told as well."""
    functions = re.findall(r"^(?:note|peers)\(\) \{$.*?^\}$", CI, re.MULTILINE | re.DOTALL)
    assert len(functions) == 2
    script = ["set -euo pipefail", f"logs='{tmp_path}'", *functions, "peers"]
    bash = shutil.which("bash")
    assert bash is not None
    result = subprocess.run(
        [bash, "-c", "\n".join(script)],
        env={"PATH": str(tmp_path)},  # with nothing in it
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    why = r"peers \(there is no npm here and it could not be installed\): FAILED \(exit code 1\)"
    assert re.fullmatch(rf"{why}, \d+ s; CPU 0m0\.\d+s 0m0\.\d+s\n", (tmp_path / "summary").read_text())


def test_the_tier_of_clusters_fails_without_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skipped, it would look as if a cluster had been tried."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(pytest.fail.Exception, match="apt-get install"), running_slurm():
        pass


@pytest.mark.parametrize(
    ("noted", "code"),
    [
        ("slow: passed, 9 s; CPU 0m9.1s 0m1.2s", 0),
        ("soak: FAILED (exit code 1), 9 s; CPU 0m9.1s 0m1.2s", 1),
        ("soak: NOT RUN", 1),
    ],
)
def test_ci_fails_when_one_of_its_parts_has_not_passed(tmp_path: Path, noted: str, code: int) -> None:
    """Parts that run beside others note how they ended, and the last line decides."""
    (tmp_path / "summary").write_text(f"lint: passed, 1 s\n{noted}\n")
    last = CI.splitlines()[-1]
    script = f"logs='{tmp_path}' code=0 parts=2; {last}"
    assert subprocess.run(["bash", "-c", script], timeout=60, check=False).returncode == code
