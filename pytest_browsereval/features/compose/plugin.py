"""Refuses sites of Compose that cannot run on this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.errors import nearest

if TYPE_CHECKING:
    from pytest_browsereval.run.active import ActiveRun

OLDEST = (2, 24)
"""The first version of Compose in which a file can take ports back that another one has published."""
ANSWER_S = 60
_INSTALL = f"Install Docker with Compose {'.'.join(map(str, OLDEST))} or newer, or remove the site."


def pytest_browsereval_check_run(active_run: ActiveRun) -> None:
    """Check Docker, Compose, and the file and the service of each site."""
    config = active_run.config
    for name, site in config.sites.items():
        if site.compose is not None:
            try:
                _check(config.base_dir / site.compose, str(site.service), site.environment(0))
            except ValueError as error:
                raise config.wrong(("sites", name), error) from None


def _check(file: Path, service: str, env: dict[str, str]) -> None:
    if not file.is_file():
        raise ValueError(f"there is no file {str(file)!r}. Correct the path in `compose`.")
    if shutil.which("docker") is None:
        raise ValueError(f"the site is run by Docker Compose, but no program `docker` is on PATH. {_INSTALL}")
    version = _ask(["version", "--short"], env, f"`docker compose` is not installed. {_INSTALL}")
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        raise ValueError(f"Docker Compose has version {version.strip()}. {_INSTALL}")
    words = ["--file", str(file), "config", "--services"]
    services = _ask(words, env, "Correct the file.").split()
    if service not in services:
        raise ValueError(
            f"service is {service!r}, and {file.name} has no such service.{nearest(service, services)} "
            f"Services: {', '.join(services)}."
        )


def _ask(words: list[str], env: dict[str, str], advice: str) -> str:
    command = ["docker", "compose", *words]
    try:
        done = subprocess.run(  # noqa: S603 the user's own Docker
            command, env=env, capture_output=True, text=True, check=False, timeout=ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"{error}. {advice}") from None
    if done.returncode != 0:
        raise ValueError(f"`{' '.join(command)}` says {done.stderr.strip()[:500]!r}. {advice}")
    return done.stdout
