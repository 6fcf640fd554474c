"""The parts of a run that ``--eval-shard`` made on several machines: whether all are there, and which not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_browsereval.analysis.gate import NAMED, complete
from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.display import format_count as counted_noun
from pytest_browsereval.model.display import join_first, natural, one_line
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run.records import Lost, describe_foreign_records
from pytest_browsereval.run.selection import (
    SELECTED_FILE,
    count_wanted,
    is_selection_damaged,
    read_regraded,
    read_selected,
)
from pytest_browsereval.run.shards import Parts, Shard
from pytest_browsereval.run.store import RunStore, TrialKey


def parts_of(store: RunStore) -> Parts | None:
    """Return which parts of a run are in a folder; None if it does not say."""
    return Parts.of_run(store.manifest())


def join_parts(stores: Sequence[RunStore], target: Path, *, is_partial: bool = False) -> Parts | None:
    """Return which parts a merged run has; None if its runs are not parts.

    Args:
        stores: the runs. Those that do not say which part they are stand for none.
        target: what is to be typed again after ``-o``.
        is_partial: whether parts may be missing.

    Raises:
        UsageError: parts are missing; or they are of runs that were divided otherwise.
    """
    known = {store.root: parts for store in stores if (parts := parts_of(store)) is not None}
    if not known:
        return None
    _check_division(known)
    have = sorted({number for parts in known.values() for number in parts.have})
    whole = replace(next(iter(known.values())), have=tuple(have))
    if whole.missing and not is_partial:
        raise UsageError(_refusal(whole, stores, target))
    return whole


def _check_division(known: Mapping[Path, Parts]) -> None:
    """Refuse parts of unlike divisions: together they would lack rows, or have some twice."""
    (first, wanted), *others = known.items()
    for root, parts in others:
        # Shards of other divisions overlap or leave gaps between them.
        if parts.of != wanted.of:
            raise UsageError(
                f"{first.name} is one of {wanted.of} parts, and {root.name} one of {parts.of}. Merge parts "
                "of one division: the same N in --eval-shard=I/N."
            )
        if (parts.by, parts.trials) != (wanted.by, wanted.trials):
            raise UsageError(
                f"{first.name} and {root.name} are parts of other selections or divisions of the rows: one "
                f"was begun for parts of {_counts(wanted)} trials, the other for {_counts(parts)}. Run all "
                "parts with the same -k, -m, --eval-limit and --eval-shard-by."
            )


def _counts(parts: Parts) -> str:
    return ", ".join(map(str, parts.trials)) + ("" if parts.by == "hash" else f" (division {parts.by})")


def _refusal(whole: Parts, stores: Sequence[RunStore], target: Path) -> str:
    first = whole.missing[0]
    is_one = len(whole.missing) == 1
    runs = " ".join(str(store.root) for store in stores[:2]) + " ..." * (len(stores) > 2)
    return (
        f"{_name_shards(whole.missing)} {'is' if is_one else 'are'} missing, with {whole.missing_trials} of "
        f"{sum(whole.trials)} trials: {'it has' if is_one else 'they have'} left no run here. Run "
        f"{'it' if is_one else 'them'} again (--eval-shard={first}), or merge what there is, as a run that "
        f"is not complete:  browsereval merge --partial {runs} -o {target}"
    )


def _name_shards(shards: Sequence[Shard]) -> str:
    return f"shard{'s' * (len(shards) != 1)} {', '.join(map(str, shards))}"


def count_trials(stores: Sequence[RunStore], trials: int, parts: Parts | None) -> tuple[int | None, int]:
    """Return how many trials a merged run is to have, and how many of them were skipped.

    Runs of the same part, one that died and the one that was made in its place say, count once. Parts that
    are missing count with what they were to have.

    Args:
        stores: the runs.
        trials: how many trials have a result in any of them.
        parts: which parts the merged run has.
    """
    groups: dict[object, list[RunStore]] = {}
    for store in stores:
        own = parts_of(store)
        groups.setdefault(store.root if own is None else own.have, []).append(store)
    skipped = sum(max(store.count_skipped() for store in group) for group in groups.values())
    counts = [_own(store) for store in stores]
    if any(count is None for count in counts):
        return None, skipped
    selected = sum(max(_own(store) or 0 for store in group) for group in groups.values())
    found = sum(
        len({(d.query_id, d.variant, d.trial) for store in group for _, d in store.last_digests()})
        for group in groups.values()
    )
    return selected - (found - trials) + (parts.missing_trials if parts else 0), skipped


def _own(store: RunStore) -> int | None:
    """Return how many trials a run was to have, without what it lacks of other parts; None if unknown."""
    parts, count = parts_of(store), store.count_selected()
    count = count_wanted(store) if count is None else count
    return count if parts is None or count is None else count - _count_owed(store, parts)


def _count_owed(store: RunStore, parts: Parts) -> int:
    """Return how many of a run's trials are those of parts that were missing when it was merged."""
    return parts.missing_trials if "merged_from" in store.manifest() else 0


def describe_shared_parts(stores: Iterable[RunStore]) -> str:
    """Return a sentence on parts that two runs have; "" if there are none."""
    owners: dict[Shard, list[str]] = {}
    for store in stores:
        if (parts := parts_of(store)) is not None:
            for number in parts.have:
                owners.setdefault(Shard(number, parts.of), []).append(store.root.name)
    twice = {shard: " and ".join(names) for shard, names in owners.items() if len(names) > 1}
    lines = [f"shard {shard} is in {names}" for shard, names in twice.items()]
    return f" Twice there: {'; '.join(lines)}." if lines else ""


def lacking(store: RunStore, summary: RunSummary) -> RuleResult | None:
    """Return a rule that is missed where a run lacks trials or has others, with what it lacks; else None.

    Args:
        store: the run.
        summary: of it.
    """
    message = "; ".join(_incomplete(store, summary))
    return RuleResult("complete", is_met=False, message=message) if message else None


def _incomplete(store: RunStore, summary: RunSummary) -> Iterator[str]:
    """Yield in what the results of a run are not those of the trials that its sessions have selected."""
    if is_selection_damaged(store):
        yield f"{SELECTED_FILE} is damaged or empty: which trials the run was to have is unknown. Restore it"
    wanted_trials = read_selected(store)
    if lacks := _lacks(store, summary, wanted_trials or frozenset()):
        yield lacks
        parts = parts_of(store)
        if parts is not None and "merged_from" in store.manifest() and parts.missing:
            was = "was" if len(parts.missing) == 1 else "were"
            yield f"{_name_shards(parts.missing)} {was} missing when it was merged"
    if wanted_trials and (others := _keys(summary) - wanted_trials):
        verb = "is of a trial" if len(others) == 1 else "are of trials"
        yield (
            f"{counted_noun(len(others), 'result')} {verb} that no session has selected: "
            f"{_list_trials(others)}. "
            "Remove the folders, or resume the run with these rows (--eval-resume)"
        )
    if mixed := list(_find_mixed(store, summary)):
        yield (
            f"{counted_noun(len(mixed), 'trial')} kept older grades when the run was regraded: "
            f"{_list_trials(mixed)}. Regrade the run again (--eval-regrade)"
        )
    if standing := Lost(store.root).standing(trial.folder for trial in summary.trials):
        yield describe_foreign_records(standing)


def _find_mixed(store: RunStore, summary: RunSummary) -> Iterator[TrialKey]:
    """Yield the trials that a session was to grade again and has not: it was ended, or had no judge."""
    due = read_regraded(store)
    for trial in summary.trials if due else ():
        data = trial.metadata
        key = TrialKey(data.query_id, data.variant, data.trial)
        # A later attempt has grades of its own.
        if max(data.regraded_at or "", data.completed_at) < due.get(key, ""):
            yield key


def _lacks(store: RunStore, summary: RunSummary, named: frozenset[TrialKey]) -> str:
    """Return how many trials have no result, and the first of those whose names are known; "" if all have."""
    count, skipped = store.count_selected(), store.count_skipped()
    # A resume may select rows that the first session did not.
    known = count_wanted(store) if count is None else max(count, len(named))
    if count is None and known is None:
        rule = complete(summary, None)
        return rule.message if rule else ""
    total, have = known or 0, _keys(summary)
    missing = named - have
    lacking = total - skipped - (len(named & have) if named else len(have))
    message = f"{lacking} of the run's {total} trials have no result" if lacking > 0 else ""
    if message and missing:
        message += f": {_list_trials(missing)}" + (f" ({skipped} of them skipped)" if skipped else "")
    if count is not None:
        return message
    ended = "the run was ended before its summary.json was written"
    return f"{ended}: {message or 'resume it (--eval-resume)'}"


def _keys(summary: RunSummary) -> frozenset[TrialKey]:
    data = (trial.metadata for trial in summary.trials)
    return frozenset(TrialKey(one.query_id, one.variant, one.trial) for one in data)


def _list_trials(trials: Collection[TrialKey]) -> str:
    """Return the first trials of many by their names, with variant and number where these say anything."""
    ordered = sorted(trials, key=lambda key: (natural(key.query_id), key.variant, key.trial))
    names = [
        one_line(key.query_id, 60)
        + (f"[{one_line(key.variant, 60)}-{key.trial}]" if key != TrialKey(key.query_id) else "")
        for key in ordered
    ]
    return join_first(names, NAMED)
