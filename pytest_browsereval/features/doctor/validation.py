"""Proves a set: each row's own solution has to pass, and doing nothing has to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.features.doctor.effects import has_effects, propose_volatile, try_one_too_many
from pytest_browsereval.features.doctor.lint.base import Finding, Row
from pytest_browsereval.features.shared.proof import (
    NO_OP,
    ORACLE,
    Stage,
    close_rows,
    find_obstacle,
    has_judged,
    has_solved,
)
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.trial import StoredTrial


@dataclass
class Validated:
    """Result of the rows."""

    runs: list[Path] = field(default_factory=list)
    """Run folders, in the temporary folder of the doctor."""
    proved: list[str] = field(default_factory=list)
    """Rows whose solution passes and that doing nothing does not."""
    unproved: dict[str, list[str]] = field(default_factory=dict)
    """Ids of rows that were not tried, by the reason."""
    findings: list[Finding] = field(default_factory=list)
    """Attempts that broke; those with a wrong verdict are for the rules about runs."""
    refused: list[str] = field(default_factory=list)
    """Rows that have named one thing too many as a side effect."""


def validate(
    config: EvalConfig,
    rows: Sequence[Row],
    folder: Path,
    *,
    sets: Sequence[str] = (),
    ask_judge: bool = False,
) -> Validated:
    """Run the rows by the agents ``scripted`` and ``noop``, in a pytest of their own.

    Args:
        config: what the rows are run under.
        rows: with their graders.
        folder: where the runs go; the caller removes it.
        sets: overrides of the config, ``key.path=value``.
        ask_judge: True runs the rows too that a model grades, which costs money.
    """
    result = Validated()
    stage = Stage(config, folder, tuple(sets), result.runs)

    def play(agent: str, own: list[Row], is_right: Callable[[StoredTrial], bool]) -> dict[str, StoredTrial]:
        trials, output_text = stage.play(agent, own, is_right)
        result.findings += (found for row in own for found in _find_broken(row, agent, trials, output_text))
        return trials

    usable = list(_usable(rows, result, ask_judge=ask_judge))
    without = [row.task.query_id for row in usable if not row.task.solution]
    if without:
        result.unproved["it has no solution"] = without
    solved = play(ORACLE, _close([row for row in usable if row.task.solution], result), has_solved)
    if result.findings and not solved:
        return result  # pytest does not begin, and would not the next time either
    idle = play(NO_OP, _close(usable, result), has_judged)
    failed = {query_id for query_id, one in idle.items() if one.last.verdict is Verdict.FAILED}
    passed = {query_id: one.last for query_id, one in solved.items() if has_solved(one)}
    result.proved = [query_id for query_id in passed if query_id in failed]
    single = [row for row in usable if not row.task.depends_on]
    again = Stage(config, folder, tuple(sets))  # the rules about runs are of the rows as they are
    result.refused, untried, found = try_one_too_many(
        single, passed, config, lambda rows: again.play_all(ORACLE, rows)
    )
    result.findings += found
    if untried:
        result.unproved["no other row of its sites is known to change more"] = untried
    return result


def learn_volatile(
    config: EvalConfig, rows: Sequence[Row], folder: Path, *, sets: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """Play rows that have effects twice, by their solutions and by an agent that does nothing.

    Args:
        config: what the rows are run under.
        rows: with their graders.
        folder: where the runs go; the caller removes it.
        sets: overrides of the config.

    Returns:
        What each site's ``volatile`` could be, and attempts that broke.
    """
    result = Validated()
    stage = Stage(config, folder, tuple(sets), trials=2)
    usable = [row for row in _usable(rows, result, ask_judge=True) if has_effects(row)]
    solved = stage.play_all(ORACLE, _close([row for row in usable if row.task.solution], result))
    idle = stage.play_all(NO_OP, _close(usable, result))
    result.findings += propose_volatile(idle, solved, rows, config)
    return tuple(result.findings)


def _usable(rows: Sequence[Row], result: Validated, *, ask_judge: bool) -> Iterator[Row]:
    for row in rows:
        why = "" if row.graders else "its graders cannot judge it"
        why = why or find_obstacle(row.task, row.graders, ask_judge=ask_judge)
        if not why:
            yield row
            continue
        why += "; --ask-judge asks that model" if why.startswith("a model") else ""
        result.unproved.setdefault(why, []).append(row.task.query_id)


def _close(rows: list[Row], result: Validated) -> list[Row]:
    kept = close_rows(rows)
    if lost := {row.task.query_id for row in rows} - {row.task.query_id for row in kept}:
        known = result.unproved.setdefault("it depends on a row that cannot be tried", [])
        known += sorted(lost - set(known))
    return kept


def _find_broken(row: Row, agent: str, trials: dict[str, StoredTrial], output_text: str) -> Iterator[Finding]:
    trial = trials.get(row.task.query_id)
    if trial is None:
        message = f"the agent {agent!r} made no attempt: {output_text}"
        yield row.error("errored-attempt", message, "Correct what pytest reports.")
    elif trial.last.verdict is Verdict.ERRORED:
        message = f"the attempt of {agent!r} broke: {trial.last.reason}."
        yield row.error("errored-attempt", message, "Correct it before a model is paid.")
