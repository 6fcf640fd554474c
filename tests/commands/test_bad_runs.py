"""Commands on runs that are not as they should be: what can be read is read, the rest is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from tests.features.compare.test_compare import run
from tests.recorded import FAILED, PASSED, attempt, spoil_line

GATE = {"min_pass_rate": 0.5, "max_error_rate": 0.05, "must_pass": []}
A, B = "results/shop/a", "results/shop/b"


def make(home: Path) -> None:
    attempts = [attempt(str(n), PASSED if n < 6 else FAILED) for n in range(10)]
    run(home, *attempts, manifest={"config": {"gate": GATE}})


@pytest.fixture(autouse=True)
def _runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two runs."""
    monkeypatch.chdir(tmp_path)
    for home in (A, B):
        make(Path(home))


READ = [
    ["gate", A],
    ["compare", B, A],
    ["export", A, "--to=baseline", "-o", "baseline.json"],
    ["view", A, "-o", "page.html"],
]


@pytest.mark.parametrize("command", READ[:3], ids=lambda command: str(command[0]))
def test_a_run_of_another_version_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What it holds may mean something else by then: which version it takes is told."""
    manifest = Path(A) / "manifest.json"
    for form in (99, 1):
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "schema_version": form}))
        assert main(command) == 4
        told = capsys.readouterr().err
        assert f"{A}: another version of pytest-browsereval has written this run (form {form}, " in told
        assert "pip install --upgrade pytest-browsereval" in told


@pytest.mark.parametrize("command", READ, ids=lambda command: str(command[0]))
def test_a_record_that_is_damaged_is_told(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Not passed over: a rate without that attempt would be another one."""
    spoil_line(Path(A), "3")
    code = main(command)
    captured = capsys.readouterr()
    if command[0] == "view":  # shows what can be read, and that this cannot
        assert code == 0
        assert "damaged" in Path("page.html").read_text()
    else:
        assert code == 4
        assert "is damaged: verdict: Input should be" in captured.err


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a run on a disk of its own, and that read-only; only root may."""
    command = ["mount", "-t", "tmpfs", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(command, check=False).returncode:
        pytest.skip("mounting takes root on Linux")
    try:
        make(folder)
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_run_on_a_disk_that_cannot_be_written_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that only reads works; what has to write into the run says so."""
    folder = tmp_path / "results/shop/c"
    folder.mkdir()
    with read_only(folder):
        for command in READ:
            words = [str(folder) if word == A else word for word in command]
            assert main(words) == 0, capsys.readouterr().err
        assert Path("page.html").exists()
        assert main(["view", str(folder)]) == 4
        assert "Read-only file system" in capsys.readouterr().err
