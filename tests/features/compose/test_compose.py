"""Sites of Docker Compose, run by a stand-in for ``docker`` on PATH: see ``docker.py`` in this folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.conftest import evals
from tests.hooks.small_evals import Evals

__all__ = ["evals"]

STAND_IN = Path(__file__).with_name("docker.py")
COMPOSE = """
services:
  web: {image: shop, container_name: shop, ports: ["3000:3000"]}
  db: {image: postgres, ports: ["5432:5432"]}
"""


@pytest.fixture
def home(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the stand-in on PATH, write a file of Compose, and return the folder with its calls and volumes."""
    home = evals.path / "stand-in"
    home.mkdir()
    program = home / "docker"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("STAND_IN", str(home))
    monkeypatch.setenv("PATH", f"{home}{os.pathsep}{os.environ['PATH']}")
    (evals.path / "compose.yaml").write_text(COMPOSE)
    return home


def site(**more: Any) -> dict[str, Any]:
    """Return the block of the site."""
    return {"shop": {"compose": "compose.yaml", "service": "web", "port": 3000, **more}}


def row(name: str, stored: int) -> dict[str, Any]:
    """Return a row that adds to what is stored."""
    return {
        "query_id": name,
        "query": "Add.",
        "start_url": "{shop}/",
        "graders": ["page_state"],
        "checks": [{"text": f"stored: {stored}, flavour plain"}],
        "solution": [{"tool": "navigate", "url": "{shop}/add"}],
        "requires_reset": True,
    }


def projects(home: Path, command: str) -> list[str]:
    """Return the names of the projects that a command was called for."""
    words = [line.split() for line in (home / "calls").read_text().splitlines()]
    return sorted(line[2] for line in words if line[1] == "--project-name" and command in line)


def test_projects_are_reset_and_removed(evals: Evals, home: Path) -> None:
    """Each start is a project of its own, whatever ports and names the file has; all are removed."""
    block = site(reset="restart", env={"FLAVOUR": "plain"})
    ran = evals.play([row(f"r{n}", 1) for n in range(4)], browser="playwright", sites=block, lanes=2)
    ran.assert_outcomes(passed=4)
    assert len(set(projects(home, "up"))) == 4
    assert projects(home, "up") == projects(home, "down")
    assert all(name.startswith("browsereval-") for name in projects(home, "up"))
    assert sorted(path.name for path in home.iterdir()) == ["calls", "docker"]


def test_without_a_reset_one_project_is_shared(evals: Evals, home: Path) -> None:
    """What one row stores the next one finds."""
    rows = [row("a", 1), row("b", 2)]
    for one in rows:
        one.pop("requires_reset")
    ran = evals.play(rows, browser="playwright", sites=site(env={"FLAVOUR": "plain"}))
    ran.assert_outcomes(passed=2)
    assert len(projects(home, "up")) == len(projects(home, "down")) == 1


def test_what_docker_says_is_in_the_error(evals: Evals, home: Path) -> None:
    """A project that does not come up makes its attempts errored (site), and is removed."""
    (home / "broken").touch()
    ran = evals.play([row("a", 1)], browser="playwright", sites=site(reset="restart"))
    ran.assert_outcomes(errors=1)
    assert ran.attempt("a").error_source == "site"
    assert "pull access denied for shop" in ran.attempt("a").reason
    assert projects(home, "up") == projects(home, "down")


def test_what_cannot_run_is_refused(
    evals: Evals, home: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """With what is missing and what to type, before anything is started."""
    cases: list[tuple[dict[str, Any], dict[str, str], str]] = [
        ({"service": "wep"}, {}, "compose.yaml has no such service. Did you mean 'web'? Services: web, db."),
        ({"compose": "nowhere.yaml"}, {}, "there is no file"),
        ({}, {"COMPOSE_VERSION": "2.17.3"}, "Docker Compose has version 2.17.3. Install Docker"),
        ({}, {"STAND_IN": "/nowhere"}, "`docker compose` is not installed. Install Docker"),
        ({}, {"PATH": str(evals.path)}, "no program `docker` is on PATH. Install Docker"),
    ]
    for block, variables, told in cases:
        with subtests.test(told), monkeypatch.context() as changed:
            for name, value in variables.items():
                changed.setenv(name, value)
            ran = evals.play([row("a", 1)], sites=site(**block), browser="playwright")
            assert ran.ret == 4
            assert told in str(ran.stderr)
            assert "sites.shop: " in str(ran.stderr)
    assert projects(home, "up") == []
