"""``gate.json`` of a run: what its rules came to when its session ended.

A summary is written before the gate is decided, and the baseline that some rules need may be gone later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run_files import load_written, open_written, write_json

GATE_FILE = "gate.json"
"""In the run folder."""


def write_gate(run: Path, rules: Sequence[RuleResult]) -> None:
    """Write what the rules of a run came to; without any, remove what an earlier session has written.

    Args:
        run: its folder, with its summary.
        rules: the results, as the session has reported them.

    Raises:
        OSError: it cannot be written.
    """
    file = run / GATE_FILE
    if not rules:
        file.unlink(missing_ok=True)
        return
    content = {
        "is_met": all(rule.is_met for rule in rules),
        "rules": [_describe(one) for one in rules],
        "summary": digest_summary(run),
    }
    write_json(file, content)


def _describe(rule: RuleResult) -> dict[str, Any]:
    tasks = {"tasks": list(dict.fromkeys(rule.tasks))} if rule.tasks else {}
    return {"name": rule.name, "result": rule.word, "is_met": rule.is_met, "message": rule.message, **tasks}


def digest_summary(run: Path) -> str:
    """Return what tells the summary of a run from any other one: a gate counts for the one it was decided by.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.blake2b(digest_size=8)
    with open_written(str(run / "summary.json")) as file:
        while piece := file.read(1 << 20):  # all of it may have 100 MB
            digest.update(piece)
    return digest.hexdigest()


def read_gate(run: Path) -> dict[str, Any] | None:
    """Return what was written; None if nothing was, or of another summary than the run has now.

    Args:
        run: its folder.
    """
    try:
        found = load_written(run / GATE_FILE)
        is_of_it = isinstance(found, dict) and found.get("summary") == digest_summary(run)
    except (OSError, ValueError):
        return None
    return found if is_of_it and isinstance(found.get("is_met"), bool) else None
