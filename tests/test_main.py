from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from pytest_browsereval.__main__ import gather_commands, main
from pytest_browsereval.browsers import binary
from pytest_browsereval.commands.base import open_door


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "pytest_browsereval", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=600,
    )


@pytest.mark.slow
def test_doctor() -> None:
    """The doctor prints the versions that matter, with a browser that it has launched."""
    done = run("doctor")
    assert done.returncode == 0, done.stderr
    told = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if not line.startswith(" "))
    assert {"python", "pytest", "pytest-xdist", "playwright", "browser"} <= set(told)
    assert told["pytest"] == version("pytest")
    assert "Chrom" in told["browser"]


@pytest.mark.slow
def test_doctor_without_a_browser(tmp_path: Path) -> None:
    """A browser that does not start makes the doctor fail, with what to do on standard error."""
    broken = tmp_path / "chrome"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    done = run("doctor", **{binary.VARIABLE: str(broken)})
    assert done.returncode == 1
    assert f"leave {binary.VARIABLE} out" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_browser_is_wrong_usage() -> None:
    """A variable that names no program is exit code 4."""
    done = run("install-browser", **{binary.VARIABLE: "/no/such/chrome"})
    assert done.returncode == 4
    assert "'/no/such/chrome'" in done.stderr


@pytest.mark.slow
def test_install_browser_tells_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """With a browser in place its name and version are all of standard output."""
    assert main(["install-browser"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(("Chromium", "Google Chrome"))
    assert len(out.splitlines()) == 1


def test_the_doctor_tells_which_keys_are_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the names of their variables, never with the key itself."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    main(["doctor"])
    out = capsys.readouterr().out
    told = {line[:13].strip(): line for line in out.splitlines()}
    assert "OPENAI_API_KEY" in told["keys set"]
    assert "GEMINI_API_KEY" in told["keys not set"]
    assert "sk-very-secret" not in out


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command of the table is in the help with a sentence."""
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())  # however wide the terminal is
    assert all(
        command.name in shown and command.help in shown
        for _, command in gather_commands(open_door(), pytest.fail)
    )


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown command is wrong usage, and the choices are told; names of other tools lead to ours."""
    meant = {
        "doktor": "Did you mean 'doctor'? Subcommands: attacks, ",
        "run": "Did you mean 'pytest'? Write `pytest` to run evals",
        "show": "Did you mean 'view'?",
        "diff": "Did you mean 'compare'?",
    }
    for typed, told in meant.items():
        with pytest.raises(SystemExit) as ended:
            main([typed, "shop.eval.yaml"])
        assert ended.value.code == 2
        assert told in capsys.readouterr().err


def test_console_script() -> None:
    """The package installs ``browsereval``, which is this function."""
    (script,) = entry_points(group="console_scripts", name="browsereval")
    assert script.load() is main


@pytest.mark.slow
def test_a_reader_may_have_seen_enough() -> None:
    """``browsereval schema | head`` ends without a complaint, as a program that SIGPIPE ends: not by 0."""
    command = [sys.executable, "-m", "pytest_browsereval", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
