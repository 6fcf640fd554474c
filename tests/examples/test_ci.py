"""The files for CI systems: their commands are commands of ours, and their parts make the whole."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_browsereval.__main__ import main

CI = Path(__file__).parents[2] / "examples" / "ci"
WORKFLOW: dict[str, Any] = yaml.safe_load((CI / "github-actions.yml").read_text())
JOB: dict[str, Any] = yaml.safe_load((CI / "kubernetes.yaml").read_text())


def steps(job: str) -> list[dict[str, Any]]:
    return list(WORKFLOW["jobs"][job]["steps"])


def commands() -> Iterator[str]:
    """Yield every shell line of the files."""
    for job in WORKFLOW["jobs"]:
        yield from (step["run"] for step in steps(job) if "run" in step)
    yield from JOB["spec"]["template"]["spec"]["containers"][0]["args"]


@pytest.mark.slow
def test_options_are_ours(pytester: pytest.Pytester) -> None:
    """Each is one that pytest knows with this plug-in."""
    used = {option for line in commands() for option in re.findall(r"--eval-[a-z-]+", line)}
    assert {"--eval-config", "--eval-shard", "--eval-llm", "--eval-output"} <= used
    told = pytester.runpytest_subprocess("-p", "no:asyncio", "--help").stdout.str()
    assert used <= set(re.findall(r"^  (--eval-[a-z-]+)", told, re.MULTILINE))


def test_subcommands_are_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """Each tells its help."""
    used = {shlex.split(line)[1] for line in commands() if line.startswith("browsereval ")}
    assert used == {"install-browser", "merge", "gate"}
    for name in used:
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        assert ended.value.code == 0
    assert "usage: browsereval" in capsys.readouterr().out


def test_pull_requests_get_no_key() -> None:
    """They replay; whoever opens one may change what runs."""
    replay = WORKFLOW["jobs"]["replay"]
    assert "secrets." not in str(replay)
    assert any("--eval-llm=replay" in step.get("run", "") for step in replay["steps"])
    assert "schedule" in WORKFLOW["jobs"]["part"]["if"]
    assert WORKFLOW["jobs"]["whole"]["needs"] == "part"
