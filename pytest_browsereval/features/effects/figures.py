"""How many trials of a run had side effects, by row and by kind, and the rule of the gate about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from pytest_browsereval.config.gate import GateRule
from pytest_browsereval.model.display import format_count, join_first, one_line
from pytest_browsereval.model.grades import Verdict, split_grades
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun

MOST_NAMED = 5


class MaxSideEffectsRule(GateRule):
    """Limits how many judged trials change more than their rows name, even if that is only a warning."""

    type: Literal["max_side_effects"] = "max_side_effects"

    most: int = Field(default=0, ge=0)
    """The largest number of judged trials with one side effect or more."""

    def check(self, trials: Sequence[StoredAttempt]) -> RuleResult:
        """Count them; that of a judged trial which was to be compared, and was not, is unknown."""
        compared, unknown = list_compared(trials), [one for one in trials if _lacks_comparison(one)]
        having = [one for one in compared if one.side_effects]
        judged = format_count(len(compared), "judged trial")
        is_met = bool(compared) and not unknown and len(having) <= self.most
        message = f"{len(having):,} of {judged} had side effects, which is "
        message += f"{'within' if len(having) <= self.most else 'over'} {self.most:,}"
        if unknown:
            message = f"what {format_count(len(unknown), 'judged trial')} changed is not known"
        elif not compared:
            message = "no judged trial was compared with effects"
        tasks = () if is_met else tuple(dict.fromkeys(one.query_id for one in unknown or having))
        return RuleResult(self.type, is_met, message, tasks=tasks)


def list_compared(trials: Sequence[StoredAttempt]) -> list[StoredAttempt]:
    """Return the judged trials whose changes were compared with the effects of their rows."""
    return [one for one in trials if one.side_effects is not None and one.verdict is not Verdict.ERRORED]


def _lacks_comparison(one: StoredAttempt) -> bool:
    """Whether a judged trial has effects, and the grade that is about them broke: others have decided."""
    has_broken = any(grade.verdict is Verdict.ERRORED for grade in one.grader_results.values())
    is_open = one.side_effects is None and one.verdict is not Verdict.ERRORED and has_broken
    return is_open and one.task is not None and bool(one.task.effects)


@lru_cache(maxsize=1)
def sum_up_side_effects(run: StoredRun) -> dict[str, Any]:
    """Return how many judged trials had side effects, with the line that says it; nothing without effects."""
    compared = list_compared([trial.last for trial in run.summary.plain])
    if not compared:
        return {}
    having = [one for one in compared if one.side_effects]
    rows = Counter(one.query_id for one in having)
    kinds = Counter[str]()
    for one in having:
        grades = (details for _, details in split_grades(one.grades) if details.get("side_effects"))
        kinds.update({str(each["kind"]) for details in grades for each in details.get("found", ())})
    line = f"in {f'{len(having):,}' if having else 'none'} of {format_count(len(compared), 'judged trial')}"
    if having:
        each = ", ".join(f"{kind} {n:,}" for kind, n in sorted(kinds.items()))
        named = join_first([f"{one_line(name, 60)} {n:,}" for name, n in rows.most_common()], MOST_NAMED)
        line += f" ({each}): {named}"
    return {
        "line": line,
        "trials": len(having),
        "judged": len(compared),
        "by_row": dict(rows.most_common()),
        "by_kind": dict(sorted(kinds.items())),
    }
