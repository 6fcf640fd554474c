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


def test_an_older_version_refuses_it() -> None:
    """Else a file that passes would say nothing."""
    assert validate("-k", "1.27.0", str(FILE)).returncode != 0
