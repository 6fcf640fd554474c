"""The benchmarks' own packages, each in a virtual environment of its own, for the tier ``published``.

A test compares a grader with the one that its benchmark publishes::

    pytestmark = [pytest.mark.published, pytest.mark.timeout(900)]

    OWN = '''
    def answer(cases):
        from webarena_verified import something
        return [something(case) for case in cases]
    '''

    def test_the_same_grades() -> None:
        assert published("webarena-verified==1.2.3").run(OWN, CASES) == [ours(case) for case in CASES]
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.environments import make_environment

_DRIVER = """
import json, pathlib, sys
given, told = map(pathlib.Path, sys.argv[1:])
told.write_text(json.dumps(answer(json.loads(given.read_text("utf-8")))), "utf-8")
"""


@dataclass(frozen=True)
class Published:
    """A virtual environment with published packages."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def packages(self) -> Path:
        """Where its packages lie."""
        (found,) = self.folder.glob("[Ll]ib/**/site-packages")
        return found

    def run(self, script: str, given: Any, *, timeout_s: float = 300, **variables: str) -> Any:
        """Return what ``answer(given)`` of a script returns; both are JSON.

        What the script prints is shown where it fails.
        """
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
            (folder / "script.py").write_text(textwrap.dedent(script) + _DRIVER, encoding="utf-8")
            done = subprocess.run(
                [self.python, "script.py", "given.json", "told.json"],
                cwd=folder,
                env={**os.environ, "PYTHONIOENCODING": "utf-8", **variables},
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
            assert done.returncode == 0, f"{done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
            return json.loads((folder / "told.json").read_text(encoding="utf-8"))


@cache
def published(*packages: str, alone: tuple[str, ...] = ()) -> Published:
    """Return an environment with packages of PyPI; it is made once for each set and ends with the process.

    Args:
        packages: names with versions, ``jmespath==1.0.1``, installed with what they need.
        alone: the same, installed without what they need, for packages that need more than is used here.
    """
    kept = tempfile.TemporaryDirectory(prefix="browsereval-published-", ignore_cleanup_errors=True)
    atexit.register(kept.cleanup)
    make_environment(Path(kept.name), *packages, alone=alone)
    return Published(Path(kept.name))
