"""What a list of thousands of runs has of each, made of its manifest, its summary and its gate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from pytest_browsereval.features.runs.provenance import hash_parts, hash_values
from pytest_browsereval.features.shared.gates import GATE_FILE, read_gate
from pytest_browsereval.features.shared.manifest_lines import agents_of, block_of, read_resumes
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.redaction.config import redact_config
from pytest_browsereval.run.lookup import age
from pytest_browsereval.run.manifest import RESUMES_FILE
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run_files import parse_written, read_written
from pytest_browsereval.runs.passrate import pass_rate
from pytest_browsereval.runs.summary_file import SUMMARY, Result, read_figures, read_results
from pytest_browsereval.runs.trial import total_cost
from pytest_browsereval.runs.turns import parse_time
from pytest_browsereval.stats.statistics import percentile

MOST_MISSED = 20
"""Rules of a gate that are named: one with thousands of `must_pass` has as many."""

FILES = ("manifest.json", SUMMARY, GATE_FILE, RESUMES_FILE)
"""What a digest is made of."""

LONGEST = 120
"""Characters of a name; configs and rows may hold any text."""

LARGEST = 1 << 63
"""Of a number: a larger one need not be a float."""

_VERDICTS = frozenset(map(str, Verdict))


class State(StrEnum):
    """Whether a run can stand in a line with others, and what keeps it from that."""

    COMPLETE = "complete"
    MERGED = "merged"
    PARTIAL = "partial"
    UNFINISHED = "unfinished"
    """Without a summary: cut off, or still running."""
    DAMAGED = "damaged"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What trials came to: those of a run, or of one of its variants."""

    passed: int = 0
    failed: int = 0
    errored: int = 0
    tasks: int = 0
    rate: float | None = None
    """From 0 to 1; None when no trial was judged."""
    interval: tuple[float, float] | None = None
    """The one a gate decides by: by task where tasks have several trials, else Wilson's."""
    cost_usd: float | None = None
    """None when a part of it is not known."""
    p95_steps: float | None = None
    p95_ms: float | None = None
    """Both of the judged trials."""


@dataclass(frozen=True, kw_only=True)
class VariantDigest:
    """A variant of a run."""

    name: str
    agent: str = ""
    made_of: Mapping[str, str] = field(default_factory=dict)
    """Hashes over what decides whether it can be compared, by what it is about; empty if that is unknown."""
    rows: str = ""
    """A hash over the rows that it was judged by, as they were then."""
    figures: Figures = Figures()


@dataclass(frozen=True, kw_only=True)
class RunDigest:
    """A run."""

    run: str
    """Its folder, as seen from the history."""
    eval: str
    started_at: str
    """In UTC, as ``2026-01-31T12:00:00.000Z``."""
    state: State
    note: str = ""
    """Why it is not complete, how often attacks on its agents succeeded, and whose failures were probed."""
    manifest: str = ""
    """A hash over its manifest, which is never rewritten: copies of a run have the same."""
    commit: str | None = None
    branch: str | None = None
    """The branch that the commit was on; None for a pull request, changed files, and where nobody knows."""
    left: int = 0
    """Trials that the config has and that were not chosen by ``-k`` and the like; 0 where nobody knows."""
    gate: bool | None = None
    """Whether it was met when the run ended; None without a gate, and where nobody knows."""
    missed: tuple[str, ...] = ()
    """The rules of the gate that were not met."""
    parts: tuple[str, ...] = ()
    """Of a merged run: the runs that it was made of."""
    graders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By what rules each grader has judged; one that was not asked is missing."""
    whole: Figures = Figures()
    variants: tuple[VariantDigest, ...] = ()

    @property
    def folder(self) -> str:
        """The name of the run's folder."""
        return self.run.rpartition("/")[2]

    @property
    def order(self) -> tuple[str, str]:
        """What sorts runs by time."""
        return self.started_at, self.run


Summary = tuple[dict[str, Any], Sequence[Result]]
"""The figures of a run, and its trials."""


def read_manifest(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the manifest of a run, and a hash over it; both are empty if it is missing or damaged."""
    try:
        content = read_written(folder / "manifest.json")
        found = parse_written(content)
    except (OSError, ValueError):
        return {}, ""
    return (found, hashlib.sha256(content).hexdigest()[:16]) if isinstance(found, dict) else ({}, "")


def read_summary(folder: Path) -> Summary:
    """Return the figures of a run, and its trials.

    Raises:
        OSError, ValueError, TypeError: the summary is missing or damaged.
    """
    rows = read_results(folder)
    if any(row.verdict not in _VERDICTS for row in rows):
        raise ValueError("a result has no verdict")
    return read_figures(folder), rows


def find_rows(folder: Path) -> Summary:
    """Return the same; without anything if it is missing or damaged."""
    try:
        return read_summary(folder)
    except (OSError, ValueError, TypeError):
        return {}, ()


def digest_run(folder: Path, name: str) -> RunDigest:
    """Return the digest of a run; no matter what is damaged in its folder, there is one.

    Args:
        folder: of the run.
        name: what the history calls it.
    """
    (manifest, sha256), resumes = read_manifest(folder), read_resumes(folder)
    branch, working = manifest.get("git_branch"), list(filter(_has_run, resumes))
    begun: dict[str, Any] = {
        "run": name,
        "manifest": sha256,
        "eval": _text(manifest.get("name")) or folder.resolve().parent.name,
        "started_at": _begin(manifest.get("started_at"), folder),
        "commit": _text(manifest.get("git_commit")) or None,
        # Trials that were made on another branch are of none.
        "branch": None if any(one.get("git_branch") != branch for one in working) else _text(branch) or None,
    }
    if not (folder / SUMMARY).exists():
        return RunDigest(**begun, state=State.UNFINISHED, variants=tuple(_plan(manifest)))
    try:
        summary, rows = read_summary(folder)
    except (OSError, ValueError, TypeError) as error:
        note = f"summary.json is damaged: {one_line(str(error) or type(error).__name__, LONGEST)}"
        return RunDigest(**begun, state=State.DAMAGED, note=note)
    gate = read_gate(folder)
    rules = (block_of(rule) for rule in _entries(block_of(gate).get("rules")))
    missed = [_text(rule.get("name")) for rule in rules if rule.get("is_met") is False]
    variants = tuple(_variants(manifest, rows))
    parts = Parts.of_run(manifest)
    selected = sum(parts.trials) if parts is not None else _count(summary, "selected")
    state, notes = _judge_state(manifest, summary, len(rows), resumes)
    probed = one_line(str(block_of(summary.get("probes")).get("line") or ""), LONGEST * 3)
    graders = block_of(summary.get("graders"))
    return RunDigest(
        **begun,
        state=state,
        note="; ".join(filter(None, (*notes, _describe_attacks(summary), probed))),
        left=max(0, _count(summary, "all_trials") - selected),
        gate=None if gate is None else gate["is_met"],
        missed=tuple(missed[:MOST_MISSED]),
        parts=tuple(_text(part) for part in _entries(manifest.get("merged_from"))),
        graders={_text(name): tuple(map(_text, _entries(own))) for name, own in graders.items()},
        whole=variants[0].figures if len(variants) == 1 else _sum_up(rows),
        variants=variants,
    )


# -- its parts


def _begin(given: Any, folder: Path) -> str:
    """Return when a run began; by the name of its folder where the manifest does not tell."""
    named = datetime.strptime(age(folder)[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    at = parse_time(given if isinstance(given, str) else "") or named
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _judge_state(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], trials: int, resumes: Iterable[Mapping[str, Any]]
) -> tuple[State, list[str]]:
    """Return whether all of a run has a result and was made alike, and what is to be said of it."""
    selected = _count(summary, "selected")
    lacking = selected - _count(summary, "skipped") - trials
    parts, merged = Parts.of_run(manifest), _entries(manifest.get("merged_from"))
    is_short = parts is not None and bool(parts.missing)
    state = State.PARTIAL if lacking > 0 or is_short else State.MERGED if merged else State.COMPLETE
    notes = [f"merged from {len(merged)} runs"] if merged else []
    if parts is not None and is_short and not merged:
        notes.append(f"shard {', '.join(f'{number}/{parts.of}' for number in parts.have)}")
    if lacking > 0:
        notes.append(f"{lacking} of {selected} trials have no result")
    for one in resumes:
        drift = _entries(one.get("differences")) if _has_run(one) else []
        if drift:
            return State.PARTIAL, [*notes, f"resumed anyway: {_text(str(drift[0]))}"]
        if state is State.COMPLETE and one.get("browser") not in (None, manifest.get("browser")):
            state, notes = State.MERGED, [f"resumed with another browser: {_text(str(one['browser']))}"]
    return state, notes


def _has_run(line: Mapping[str, Any]) -> bool:
    """Whether a line of ``resumes.jsonl`` is one of a session that had something to run."""
    return "resumed_at" in line and line.get("finished") != line.get("trials")


def _describe_attacks(summary: Mapping[str, Any]) -> str:
    """Return how often attacks succeeded, which no pass rate says; "" without attacks."""
    found = block_of(block_of(summary.get("attacks")).get("under_attack"))
    keys = ("compromised", "delivered", "attempts")
    compromised, delivered, attempts = (_count(found, key) for key in keys)
    of_all = f"of {format_count(attempts, 'attempt')} under attack"
    said = f"compromised in {compromised:,} of {delivered:,} in which the attack was delivered, {of_all}"
    return said if attempts else ""


def _plan(manifest: Mapping[str, Any]) -> Iterator[VariantDigest]:
    """Yield the variants of a config, without results."""
    variants = block_of(block_of(manifest.get("config")).get("variants"))
    for name, agent in agents_of(redact_config({"variants": variants})).items():
        yield VariantDigest(name=_text(name), agent=_text(agent))


def _variants(manifest: Mapping[str, Any], rows: Sequence[Result]) -> Iterator[VariantDigest]:
    agents = {one.name: one.agent for one in _plan(manifest)}
    own: dict[str, list[Result]] = {}
    for row in rows:
        own.setdefault(row.variant, []).append(row)
    hashes = hash_parts(manifest, own)
    for name, trials in own.items():
        yield VariantDigest(
            name=_text(name),
            agent=agents.get(_text(name), ""),
            made_of=hashes[name],
            rows=hash_values(sorted({(one.query_id, one.row_hash) for one in trials if not one.is_derived})),
            figures=_sum_up(trials),
        )


def _sum_up(trials: Sequence[Result]) -> Figures:
    rows = [one for one in trials if not one.is_derived]
    rate = pass_rate(rows)
    ends = rate.by_task.interval if rate.by_task else rate.interval
    judged = [one for one in rows if one.verdict != Verdict.ERRORED]
    return Figures(
        passed=rate.passed,
        failed=rate.failed,
        errored=sum(rate.errored.values()),
        tasks=len({one.query_id for one in rows}),
        rate=rate.value,
        interval=None if ends is None else (ends.low, ends.high),
        cost_usd=total_cost(_number(one.cost_usd) for one in trials),
        p95_steps=_p95(one.steps for one in judged),
        p95_ms=_p95(one.duration_ms for one in judged),
    )


def _p95(values: Iterable[Any]) -> float | None:
    known = [value for value in map(_number, values) if value is not None]
    return percentile(known, 0.95) if known else None


def _number(value: Any) -> float | None:
    return value if type(value) in (int, float) and abs(value) < LARGEST else None  # no bool


def _count(block: Mapping[str, Any], key: str) -> int:
    return int(_number(block.get(key)) or 0)


def _text(value: Any) -> str:
    return one_line(value, LONGEST) if isinstance(value, str) else ""


def _entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
