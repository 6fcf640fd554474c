"""Commands for contributors. ``nox -l`` lists them, ``nox -s NAME`` runs one with the Python that has nox."""

from __future__ import annotations

import sys

import nox

nox.options.default_venv_backend = "none"  # the environment that the README makes has all of it
nox.options.sessions = ["lint", "types", "docs", "tests"]

PYTHON = sys.executable


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; more arguments are pytest's: nox -s tests -- -k gate."""
    session.run(PYTHON, "-m", "pytest", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Run the tests that take longer than 3 seconds each."""
    session.run(PYTHON, "-m", "pytest", "-m", "slow", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests, count the branches that they take, also in processes, and fail under 90 %."""
    session.run(PYTHON, "-m", "coverage", "erase")
    session.run(PYTHON, "-m", "coverage", "run", "-m", "pytest", *session.posargs)
    session.notify("report")


@nox.session
def report(session: nox.Session) -> None:
    """Print the coverage that was measured."""
    session.run(PYTHON, "-m", "coverage", "combine", "--quiet")
    session.run(PYTHON, "-m", "coverage", "report")


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
    """Check that links and commands of the documentation lead somewhere."""
    session.run(PYTHON, "-m", "pytest", "tests/test_docs.py", *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Measure against the limit and the peers, for an hour; one part: nox -s benchmarks -- --part instant."""
    session.run(PYTHON, "benchmarks/run.py", *session.posargs)
