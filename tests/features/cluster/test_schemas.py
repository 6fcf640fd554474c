"""Manifests by the schemas of Kubernetes: of the oldest version that knows all of it, and of the newest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

FILE = Path(__file__).parents[3] / "examples/cluster/kubernetes.yaml"


def validate(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the validator; without it the test fails, as nothing would be checked."""
    program = Path(sys.executable).with_name("kubernetes-validate")
    assert program.is_file(), "pip install kubernetes-validate"
    return subprocess.run([program, "--strict", *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("version", [("-k", "1.28.0"), ()], ids=["oldest", "newest"])
def test_a_manifest_passes(version: tuple[str, ...]) -> None:
    """Both of its Jobs, without a key that the schema lacks; another test holds it to our commands."""
    done = validate(*version, str(FILE))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("passed for resource job/") == 2


@pytest.mark.parametrize(
    ("version", "change"),
    [("1.27.0", ("", "")), ("1.28.0", ("parallelism:", "paralelism:")), ("1.28.0", (": Never", ": [Never]"))],
)
def test_the_validator_refuses(tmp_path: Path, version: str, change: tuple[str, str]) -> None:
    """An older version, a typo, a wrong type: else a file that passes would say nothing."""
    (tmp_path / "job.yaml").write_text(FILE.read_text().replace(*change))
    assert validate("-k", version, str(tmp_path / "job.yaml")).returncode != 0
