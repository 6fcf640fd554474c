"""``manifest.json``: what a run was made of, so that its numbers can be traced and made again."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.model.messages import SCHEMA_VERSION, now
from pytest_browsereval.tools.base import Tool

PACKAGES = (
    "pytest-browsereval",
    "pytest",
    "pytest-xdist",
    "playwright",
    "pydantic",
    "openai",
    "genai-prices",  # the prices that costs were computed with
)


def manifest(
    config: EvalConfig, browser: str, tools: Sequence[Tool], plugins: Sequence[str]
) -> dict[str, Any]:
    """Return the manifest's content: plain JSON, no secrets.

    Args:
        config: what is run.
        browser: the browser's name, version and binary.
        tools: the tools that are switched on.
        plugins: who else brings members: packages with their versions, conftests.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "started_at": now(),
        "name": config.name,
        "config_file": config.path.name,
        "config": config.public_dump(),
        "config_hash": config.content_hash(),
        "datasets": [_file_hash(_resolve(config.base_dir, d.path)) for d in config.dataset],
        "browser": browser,
        "tools": [tool.name for tool in tools],
        "tool_schema_hash": tool_schema_hash(tools),
        "plugins": list(plugins),
        "python": platform.python_version(),
        "platform": sys.platform,
        "packages": {name: _version(name) for name in PACKAGES},
        "git_commit": _git_commit(config.base_dir),
    }


def tool_schema_hash(tools: Sequence[Tool]) -> str:
    """Return 16 hex digits over names, descriptions and schemas: differs when the contract drifts."""
    contract = [(tool.name, tool.description, tool.schema) for tool in tools]
    return hashlib.sha256(json.dumps(contract, sort_keys=True).encode()).hexdigest()[:16]


def _resolve(base_dir: Path, path: Path) -> Path:
    return path if path.is_absolute() else base_dir / path


def _file_hash(path: Path) -> dict[str, str | None]:
    try:
        with path.open("rb") as file:
            return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError:
        return {"file": path.name, "sha256": None}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git_commit(folder: Path) -> str | None:
    try:
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 the user's git
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() or None
