"""Whether a run has a result of each of its trials, and which trials and shards it lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pytest_browsereval.analysis.gate import NAMED
from pytest_browsereval.model.display import format_count, join_first, natural, one_line
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.locks import RunLocks
from pytest_browsereval.run.selection import count_wanted, list_damaged, read_regraded, read_selected
from pytest_browsereval.run.shards import Parts, Shard
from pytest_browsereval.runs.lines import list_kept
from pytest_browsereval.runs.rewritten import describe_foreign_records
from pytest_browsereval.runs.run import StoredRun

ENDED = "the run was ended before its summary.json was written"
RUNNING = "a process is still writing the run"


def lacking(run: StoredRun, locks: RunLocks | None = None) -> RuleResult | None:
    """Return a rule that is missed where a run lacks trials or has others, with what it lacks; else None.

    Args:
        run: the run.
        locks: those of this session, if it writes the run.
    """
    message = "; ".join(_incomplete(run, locks or RunLocks(run.folder)))
    return RuleResult("complete", is_met=False, message=message) if message else None


def _incomplete(run: StoredRun, locks: RunLocks) -> Iterator[str]:
    """Yield in what the results of a run are not those of the trials that its sessions have selected."""
    wanted_trials = read_selected(run)
    for name in list_damaged(run, wanted_trials):
        yield f"{name} is damaged or empty, so it is unknown which results the run should have. Restore it"
    if lacks := _lacks(run, wanted_trials or frozenset(), locks):
        yield lacks
        parts = Parts.of_run(run.read_manifest())
        if parts is not None and "merged_from" in run.read_manifest() and parts.missing:
            was = "was" if len(parts.missing) == 1 else "were"
            yield f"{name_shards(parts.missing)} {was} missing when the run was merged"
    if wanted_trials and (others := [key for key in _keys(run) if key not in wanted_trials]):
        verb = "belongs to a trial" if len(others) == 1 else "belong to trials"
        yield (
            f"{format_count(len(others), 'result')} {verb} that no session has selected: "
            f"{_list_trials(others)}. "
            "Remove their lines from attempts/*.jsonl, or resume the run with these rows (--eval-resume)"
        )
    if mixed := list(_find_mixed(run)):
        yield (
            f"{format_count(len(mixed), 'trial')} kept older grades when the run was regraded: "
            f"{_list_trials(mixed)}. Regrade the run again (--eval-regrade)"
        )
    if kept := list_kept(run.folder, {trial.last.place.rpartition("/")[0] for trial in run.trials}):
        yield describe_foreign_records(kept)


def _find_mixed(run: StoredRun) -> Iterator[TrialKey]:
    """Yield the trials that a session was to grade again and has not: it was ended, or had no judge."""
    due = read_regraded(run)
    for trial in run.trials if due else ():
        data = trial.last
        key = data.key
        # A later attempt has grades of its own.
        if max(data.regraded_at or "", data.completed_at) < due.get(key, ""):
            yield key


def _lacks(run: StoredRun, named: frozenset[TrialKey], locks: RunLocks) -> str:
    """Return how many trials have no result, and the first of those whose names are known; "" if all have."""
    count, skipped = run.count_selected(), run.count_skipped()
    # A resume may select rows that the first session did not.
    known = count_wanted(run) if count is None else max(count, len(named))
    ended = ENDED if count is not None or locks.is_idle() else RUNNING
    if count is None and known is None:
        return f"{ended}: the number of missing trials is unknown"
    total = known or 0
    missing = named.difference(_keys(run))
    lacking = total - skipped - (len(named) - len(missing) if named else len(run.trials))
    message = f"{lacking} of the run's {total} trials have no result" if lacking > 0 else ""
    if message and missing:
        message += f": {_list_trials(missing)}" + (f" ({skipped} of them skipped)" if skipped else "")
    if count is not None:
        return message
    return f"{ended}: {message or ('wait for it' if ended == RUNNING else 'resume it (--eval-resume)')}"


def _keys(run: StoredRun) -> Iterator[TrialKey]:
    return (trial.last.key for trial in run.trials)


def _list_trials(trials: Collection[TrialKey]) -> str:
    """Return the first trials of many by their names, with variant and number where these say anything."""
    ordered = sorted(trials, key=lambda key: (natural(key.query_id), key.variant, key.trial))
    names = [
        one_line(key.query_id, 60)
        + (f"[{one_line(key.variant, 60)}-{key.trial}]" if key != TrialKey(key.query_id) else "")
        for key in ordered
    ]
    return join_first(names, NAMED)


def name_shards(shards: Sequence[Shard]) -> str:
    """Return the names of shards: ``shards 2/3, 3/3``."""
    return f"shard{'s' if len(shards) != 1 else ''} {', '.join(map(str, shards))}"
