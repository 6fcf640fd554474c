"""What later sessions of a run have changed: its manifest says what the first one was made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_browsereval.run.manifest import RESUMES_FILE
from pytest_browsereval.run_files import read_written


def read_resumes(folder: Path) -> list[Mapping[str, Any]]:
    """Return the lines of ``resumes.jsonl`` of a run; none without the file, and none that is damaged."""
    found: list[Mapping[str, Any]] = []
    with suppress(OSError):
        for line in read_written(folder / RESUMES_FILE).splitlines():
            with suppress(ValueError, RecursionError):
                if isinstance(one := json.loads(line), dict):
                    found.append(one)
    return found


def find_branch(manifest: Mapping[str, Any], resumes: Iterable[Mapping[str, Any]]) -> Any:
    """Return the branch of a run; None where trials of it were made on another one."""
    branch = manifest.get("git_branch")
    others = (one.get("git_branch") != branch for one in resumes if _has_run(one))
    return None if any(others) else branch


def find_drift(resumes: Iterable[Mapping[str, Any]]) -> str:
    """Return the first thing that differed when a run was resumed all the same; "" if nothing did."""
    drifts = (one.get("differences") for one in resumes if _has_run(one))
    return next((str(drift[0]) for drift in drifts if isinstance(drift, list) and drift), "")


def find_other_browser(manifest: Mapping[str, Any], resumes: Iterable[Mapping[str, Any]]) -> str:
    """Return another browser that trials of a run were made with; "" if there is none."""
    browsers = (str(one["browser"]) for one in resumes if one.get("browser"))
    return next((name for name in browsers if name != manifest.get("browser")), "")


def _has_run(line: Mapping[str, Any]) -> bool:
    """Whether a line is one of a session that had something to run."""
    return "resumed_at" in line and line.get("finished") != line.get("trials")
