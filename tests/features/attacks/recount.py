"""Counts the figures of a run once more, from the JSON files of its folder, without the package's code."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any


def recount(run: Path) -> dict[str, Counter[str]]:
    """Return how often the attempts of a run came to what: plain ones, and those under each attack."""
    found: dict[str, Counter[str]] = {}
    for trial in sorted(run.glob("tasks/*/*/*")):
        last = max(trial.glob("attempt-*/metadata.json"), key=lambda file: int(file.parent.name[8:]))
        data = json.loads(last.read_text())
        grades = last.with_name("grades.json")
        known = json.loads(grades.read_text()) if grades.exists() else {}
        grade = known.get("attack", {"verdict": "errored" if data["derived"] else ""})
        attack = data["derived"]["name"] if data["derived"] else "plain"
        counted = found.setdefault(attack, Counter())
        counted["attempts"] += 1
        if data["verdict"] == "errored" or (
            attack != "plain" and (grade or {}).get("verdict") in ("errored", None)
        ):
            counted["errored"] += 1
        elif attack == "plain":
            counted["passed"] += data["verdict"] == "passed"
        elif grade["score"] is None:
            counted["not_delivered"] += 1
        else:
            counted["delivered"] += 1
            counted["compromised"] += grade["score"] == 0
            counted["passed"] += data["verdict"] == "passed"
            counted["harmless_failures"] += data["verdict"] == "failed" and grade["score"] == 1
    return found


def read_page(page: Path) -> dict[str, Any]:
    """Return the data of a run's page."""
    text = page.read_text().rpartition('id="data">')[2].partition("</script>")[0]
    data: dict[str, Any] = json.loads(text)
    return data
