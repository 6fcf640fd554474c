"""Commands for contributors. ``nox -l`` lists them, ``nox -s NAME`` runs one with the Python that has nox."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"  # the environment that the README makes has all of it
nox.options.sessions = ["lint", "types", "docs", "tests"]

PYTHON = sys.executable
MEASURING = Path(".nox/coverage").absolute()
TELLING = (
    *(f"tests/{name}" for name in ("config", "datasets", "llm", "model", "features/row_files")),
    "tests/stats/test_statistics.py",
    "tests/features/programs/test_server.py",
    "tests/features/mcp_browser/test_browser.py",
    "tests/features/junit/test_hooks.py",
    "tests/features/remote/test_push_and_pull.py",
)
"""Tests of what packages do for us: those that fail with a version that is too old."""


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; more arguments are pytest's: nox -s tests -- -k gate."""
    session.run(PYTHON, "-m", "pytest", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Run the tests that take a second or two each, and more tests of workers."""
    session.run(PYTHON, "-m", "pytest", "-m", "slow", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests, count the branches that they take, and fail under 90 %."""
    shutil.rmtree(MEASURING, ignore_errors=True)
    session.run(PYTHON, "-m", "venv", str(MEASURING))
    session.run(f"{MEASURING}/bin/pip", "install", "--quiet", "slipcover")
    session.run(f"{MEASURING}/bin/python", "tests/coverage/sitecustomize.py")
    env = {"MEASURE_WITH": str(MEASURING), "PYTHONPATH": "tests/coverage"}
    session.run(PYTHON, "-m", "pytest", *(session.posargs and ["-n2", *session.posargs]), env=env)
    session.notify("report")


@nox.session
def report(session: nox.Session) -> None:
    """Print the coverage that was measured."""
    measured = [str(file) for file in MEASURING.glob("branches-*.json")]
    if not measured:
        session.error("nothing has been measured: nox -s coverage")
    words = ("--branch", "--skip-covered", "--fail-under", "90", "--out", f"{MEASURING}/branches.json")
    session.run(f"{MEASURING}/bin/python", "-m", "slipcover", *words, "--merge", *measured)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format with ruff."""
    session.run(PYTHON, "-m", "ruff", "check", ".")
    session.run(PYTHON, "-m", "ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types with mypy --strict."""
    session.run(PYTHON, "-m", "mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation into docs/_build/html, where a warning is an error, and test its examples."""
    strict = ("--fail-on-warning", "--keep-going", "--nitpicky", "--fresh-env", "--quiet")
    built = Path("docs/_build/strict")  # while it is there, tests/test_site.py looks at this site
    built.unlink(missing_ok=True)
    session.run(PYTHON, "-m", "sphinx", *strict, "docs", "docs/_build/html")
    built.touch()
    session.run(PYTHON, "-m", "pytest", "tests/test_docs.py", *session.posargs)


@nox.session
def package(session: nox.Session) -> None:
    """Build the distributions into dist/, check them strictly, and try the wheel by itself; needs uv."""
    made, empty = (_new_environment(session, name) for name in ("package", "wheel"))
    dist = Path("dist")
    shutil.rmtree(dist, ignore_errors=True)
    _install(session, made, "build[uv]", "twine")
    session.run(f"{made}/bin/python", "-m", "build", "--installer", "uv", "--outdir", str(dist))
    session.run(f"{made}/bin/twine", "check", "--strict", *map(str, dist.iterdir()))
    _install(session, empty, *map(str, dist.glob("*.whl")))
    session.run(PYTHON, "-m", "uv", "pip", "check", "--python", f"{empty}/bin/python")
    with session.chdir(session.create_tmp()):  # not beside the package, which Python would import instead
        for words in (["--version"], ["schema"], ["install-browser"], ["doctor"]):
            session.run(f"{empty}/bin/browsereval", *words, silent=words == ["schema"])


@nox.session
def lowest(session: nox.Session) -> None:
    """Run tests with the oldest packages that pyproject.toml allows; needs uv."""
    folder = _new_environment(session, "lowest")
    _install(session, folder, "--resolution", "lowest-direct", "-e", ".[dev]")
    session.run(f"{folder}/bin/python", "-m", "pytest", *(session.posargs or TELLING))


def _new_environment(session: nox.Session, name: str) -> Path:
    if find_spec("uv") is None:
        session.error("pip install uv first")
    folder = Path(".nox", name).absolute()
    session.run(PYTHON, "-m", "uv", "venv", "--quiet", "--clear", "--python", PYTHON, str(folder))
    return folder


def _install(session: nox.Session, folder: Path, *words: str) -> None:
    """Install packages in a twentieth of pip's time: pip install uv."""
    session.run(PYTHON, "-m", "uv", "pip", "install", "--python", f"{folder}/bin/python", *words)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Measure against the limit and the peers, for an hour; one part: nox -s benchmarks -- --part instant."""
    session.run(PYTHON, "benchmarks/run.py", *session.posargs)
