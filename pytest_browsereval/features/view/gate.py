"""What the gate of a run came to, on its page: each rule, and which trials it was decided by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.features.shared.gates import read_gate
from pytest_browsereval.features.shared.viewer.page import in_html
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run_files import write_whole
from pytest_browsereval.runs.run import StoredRun

Rule = tuple[str, str, str, Sequence[str]]
"""Name, result in a word, message, and the rows that decided it."""

FACETS = {"tags": "tag", "websites": "site", "variants": "variant"}
"""What the page calls a part of the trials that a rule limits."""
VERDICTS = {
    "max_error_rate": "errored",
    **dict.fromkeys(("min_pass_rate", "min_task_rate", *FACETS), "failed"),
}
"""Of the trials that have decided a rule. Other rules name their tasks, or are about all trials."""

# What stands in a page that was written before its gate was decided. The data comes after all that is in its
# head, and has no `>` of its own, so the last one is it.
_BLANK = 'id="data">{"gate":null,'


def describe_gate(run: StoredRun, rules: Iterable[Rule]) -> list[list[Any]]:
    """Return what the page shows of the rules.

    Args:
        run: the run.
        rules: of its gate.
    """
    block = run.find_gate()
    block = block if isinstance(block, Mapping) else {}
    met = {"met", "undecided"} if block.get("undecided") == "pass" else {"met"}
    return [
        [name, word, message, _choose(name, block, tasks), list(dict.fromkeys(tasks)), word in met]
        for name, word, message, tasks in rules
    ]


def _choose(name: str, block: Mapping[str, Any], tasks: Sequence[str]) -> Mapping[str, str]:
    """Return how the address of the page chooses the trials that have decided a rule; empty for all."""
    if tasks:
        return {"rule": name}
    kind, _, part = name.partition("[")
    known = block.get(kind, ()) if part else ()
    value = next((str(one) for one in known if f"{safe_id(str(one))}]" == part), None)
    if value is None:
        return {"verdict": VERDICTS[kind]} if kind in VERDICTS and not part else {}
    if kind == "must_pass":
        return {"id": value}
    return {"verdict": VERDICTS[kind], FACETS[kind]: value} if kind in FACETS else {}


def read_stored(run: Path) -> list[list[Any]] | None:
    """Return what the page shows of the gate that the run's session has decided; None if there was none."""
    try:
        found = read_gate(run)
        rules = [] if found is None else [_read(rule) for rule in found["rules"]]
    except (OSError, KeyError, TypeError, AttributeError):
        return None
    return describe_gate(StoredRun(run), rules) if rules else None


def _read(rule: Mapping[str, Any]) -> Rule:
    name, word, message = (str(rule[key]) for key in ("name", "result", "message"))
    return name, word, message, [str(one) for one in rule.get("tasks", ())]


def put_gate(file: Path, gate: list[list[Any]] | None) -> None:
    """Put what the gate came to into a page that was written without it.

    Raises:
        OSError: it cannot be read or written.
    """
    head, blank, rest = file.read_text(encoding="utf-8").rpartition(_BLANK)
    if gate and blank:
        write_whole(file, f"{head}{blank.replace('null', in_html(gate))}{rest}")


def words_of(rule: RuleResult) -> Rule:
    """Return what the page shows of a rule."""
    return rule.name, rule.word, rule.message, rule.tasks
