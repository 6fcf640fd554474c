"""``gate.json`` of a run: what its rules came to when its session ended.

A summary is written before the gate is decided, and the baseline that some rules need may be gone later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run_files import load_written, open_written, write_json

if TYPE_CHECKING:
    from pytest_browsereval.config import EvalConfig

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


_OF_PARTS = ("min_pass_rate", "variants", "quarantine", "confidence")
"""Keys of a gate by which a part of a run can tell whether it needs further rounds."""


def write_part_gate(config: EvalConfig) -> str:
    """Return the gate that parts of a run get: none, as the gate is of all rows.

    Where trials are made until the gate is decided, its pass rates end the rounds of each part, and no more.

    Raises:
        UsageError: it has only pass rates of rows that a part may lack.
    """
    gate = config.gate
    if not isinstance(config.trials, RoundsConfig):
        return "{}"
    shares = [gate.min_pass_rate, *gate.variants.values()]
    if any(share and share < 1 for share in shares):
        return json.dumps({**gate.model_dump(mode="json", include={*_OF_PARTS}), "undecided": "pass"})
    if config.trials.compare is None:
        raise UsageError(
            f"{config.path}: trials are made until the gate is decided, and a part of a run cannot tell by "
            "pass rates of tags or websites, of which it may have no row. Write `min_pass_rate` too, or "
            "a number of trials: `trials: 3`."
        )
    return "{}"
