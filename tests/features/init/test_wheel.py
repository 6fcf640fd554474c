"""``browsereval init`` out of the wheel, in an environment with what that depends on and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support import run_program

ROOT = Path(__file__).parents[3]


def pip(*args: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def needed(package: Distribution, extra: str = "") -> Iterator[tuple[Distribution, str]]:
    """Yield what a package needs, with the extra of it that is asked for."""
    for line in package.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield from ((distribution(requirement.name), extra) for extra in ("", *requirement.extras))


def everything_needed(package: Distribution) -> list[Distribution]:
    found = {(one.name, extra): (one, extra) for one, extra in needed(package)}
    rest = list(found.values())
    while rest:
        for one, extra in needed(*rest.pop()):
            if (one.name, extra) not in found:
                found[one.name, extra] = (one, extra)
                rest.append((one, extra))
    return list({one.name: one for one, _ in found.values()}.values())


def link(package: Distribution, site: Path) -> None:
    """Put an installed package into another environment."""
    names = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
    for name in names:
        target = Path(str(package.locate_file(name)))
        if target.exists() and not (site / name).exists():
            (site / name).symlink_to(target)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment with the wheel."""
    pytest.importorskip("hatchling", reason="builds the wheel; type  python -m pip install hatchling")
    made = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", made / "dist", ROOT)
    (wheel,) = (made / "dist").glob("*.whl")
    folder = made / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    alone = ("--no-index", "--no-deps", "--no-compile", "--quiet")
    pip("--python", programs / "python", "install", *alone, wheel)
    variables = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", vars=variables))
    (own,) = distributions(name="pytest-browsereval", path=[str(site)])
    for package in everything_needed(own):
        link(package, site)
    return programs


AGENTS = ("function", "single", "command")
"""Those of starters; one process of pytest runs the evals of all."""


@pytest.mark.slow
def test_a_new_user_gets_a_green_eval(environment: Path, tmp_path: Path) -> None:
    """Of each kind of agent, without the packages of tests and extras, with warnings as errors."""
    env = {**os.environ, "PYTHONPATH": "", "PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "error"}

    def run(*words: str | Path) -> str:
        done = run_program(words, cwd=tmp_path, env=env, limit_s=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    missing = run(environment / "python", "-c", "import importlib.util as u; print(u.find_spec('mcp'))")
    assert missing == "None\n"
    for agent in AGENTS:
        run(environment / "browsereval", "init", agent, "--agent", agent)
    # Each row of the third starts a program with a driver of its own: one says that it finds all it needs.
    few = "not command or mug-price or gate"
    told = run(environment / "python", "-m", "pytest", *AGENTS, "-k", few)
    assert " 20 passed, 4 deselected in " in told
    assert "warning" not in told.lower()
