"""What a list of thousands of runs has of each: a digest, made of its manifest, its summary and its gate."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_browsereval.features.runs.provenance import hash_provenances, hash_values
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
from pytest_browsereval.stats.statistics import percentile

MOST_MISSED = 20
"""Rules of a gate that a digest names: one with thousands of `must_pass` has as many."""

FILES = ("manifest.json", "summary.json", GATE_FILE, RESUMES_FILE)
"""What a digest is made of."""

ALL_TRIALS = "all_trials"
"""In a summary: how many trials the config has, whichever were selected."""

LONGEST = 120
"""Characters of a name; configs and rows may hold any text."""

LARGEST = 1 << 63
"""Of a whole number: a larger one need not be a float."""

_VERDICTS = frozenset(map(str, Verdict))


class State(StrEnum):
    """Whether a run can stand in a line with others, and what keeps it from that."""

    COMPLETE = "complete"
    MERGED = "merged"
    PARTIAL = "partial"
    UNFINISHED = "unfinished"
    """Without a summary: cut off, or it still runs."""
    DAMAGED = "damaged"


class Figures(BaseModel):
    """What trials came to: those of a run, or of one of its variants."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

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


class VariantDigest(Figures):
    """A variant of a run."""

    name: str
    agent: str = ""
    provenance: str = ""
    """A hash over what decides whether it can be compared; empty if that is unknown."""
    rows: str = ""
    """A hash over the rows that it was judged by, as they were then."""

    @property
    def figures(self) -> Figures:
        """Its figures alone."""
        return Figures(**{name: getattr(self, name) for name in Figures.model_fields})


class RunDigest(BaseModel):
    """A run."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    run: str
    """Its folder, as seen from the history."""
    manifest: str = ""
    """A hash over its manifest, which is never rewritten: copies of a run have the same."""
    eval: str
    started_at: str
    """In UTC, as ``2026-01-31T12:00:00.000Z``."""
    state: State
    note: str = ""
    """Why it is not complete, how often attacks on its agents succeeded, and whose failures were probed."""
    folders: tuple[str, ...] = ()
    """Of a run at a URL: where the files of its parts are that are done, below that."""
    commit: str | None = None
    branch: str | None = None
    """The branch that the commit was on; None for a pull request, changed files, and where nobody knows."""
    selected: bool = False
    """Whether someone had chosen some of the trials that the config has; False where nobody knows."""
    gate: bool | None = None
    """Whether it was met when the run ended; None without a gate, and where nobody knows."""
    missed: tuple[str, ...] = ()
    """The rules of the gate that were not met."""
    parts: tuple[str, ...] = ()
    """Of a merged run: the runs that it was made of."""
    files: str = ""
    """A hash over the files of the rows and what the config selects of them; empty if that is unknown."""
    graders: dict[str, tuple[str, ...]] = {}
    """By what rules each grader has judged; one that was not asked is missing, as are all in older runs."""
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


@dataclass(frozen=True)
class RunFiles:
    """The files of a run that have its results; for a run in parts at a URL, those of all finished parts."""

    folders: tuple[Path, ...]
    numbers: tuple[int, ...] = ()
    """Which parts they are; none of a run that was not divided."""
    of: int = 1

    def read_manifest(self) -> tuple[dict[str, Any], str]:
        """Return the manifest, and a hash over it; both empty if it is missing or damaged."""
        try:
            contents = [read_written(folder / "manifest.json") for folder in self.folders]
            found = [parse_written(content) for content in contents]
        except (OSError, ValueError):
            return {}, ""
        if not all(isinstance(one, dict) for one in found):
            return {}, ""
        first, digest = found[0], hashlib.sha256(b"".join(contents)).hexdigest()[:16]
        if not self.numbers:
            return first, digest
        if len({str(one.get("git_branch")) for one in found}) > 1:
            first["git_branch"] = None
        if isinstance(shards := first.get("shards"), dict):
            first["shards"] = {**shards, "have": list(self.numbers)}
        return {**first, "merged_from": [f"{number}-of-{self.of}" for number in self.numbers]}, digest

    def read_resumes(self) -> list[Mapping[str, Any]]:
        """Return what later sessions have changed; nothing of a line that is damaged."""
        return [line for folder in self.folders for line in read_resumes(folder)]

    def read_summary(self) -> Summary:
        """Return the figures, and the trials.

        Raises:
            OSError, ValueError, TypeError: it is missing or damaged.
        """
        figures = [read_figures(folder) for folder in self.folders]
        rows = [row for folder in self.folders for row in read_results(folder)]
        if any(row.verdict not in _VERDICTS for row in rows):
            raise ValueError("a result has no verdict")
        if not self.numbers:
            return figures[0], rows
        counts = {key: sum(int(one.get(key) or 0) for one in figures) for key in ("selected", "skipped")}
        graders: dict[str, set[str]] = {}
        for name, rules in chain.from_iterable(block_of(one.get("graders")).items() for one in figures):
            graders.setdefault(name, set()).update(rules)
        return {**figures[0], **counts, "graders": {name: sorted(own) for name, own in graders.items()}}, rows

    def find_rows(self) -> Summary:
        """Return the same; without anything if it is missing or damaged."""
        try:
            return self.read_summary()
        except (OSError, ValueError, TypeError):
            return {}, []

    def read_gate(self) -> dict[str, Any] | None:
        """Return what the gate came to; None without one, and of parts, whose gate is not that of the run."""
        return None if self.numbers else read_gate(self.folders[0])


Summary = tuple[dict[str, Any], list[Result]]
"""The figures of a run, and its trials."""


def digest_run(files: RunFiles, name: str) -> RunDigest:
    """Return the digest of a run; no matter what is damaged in its folder, there is one.

    Args:
        files: of the run.
        name: what the history calls it.
    """
    manifest, sha256 = files.read_manifest()
    resumes, folder = files.read_resumes(), files.folders[0]
    begun: dict[str, Any] = {
        "run": name,
        "manifest": sha256,
        "eval": _text(manifest.get("name")) or folder.resolve().parent.name,
        "started_at": _begin(manifest.get("started_at"), folder),
        "commit": _text(manifest.get("git_commit")) or None,
        "branch": _text(_find_branch(manifest, resumes)) or None,
    }
    if not files.numbers and not (folder / SUMMARY).exists():
        note = "no summary.json: it was cut off, or still runs"
        return RunDigest(**begun, state=State.UNFINISHED, note=note, variants=tuple(_plan(manifest)))
    try:
        summary, rows = files.read_summary()
    except (OSError, ValueError, TypeError) as error:
        note = f"summary.json is damaged: {one_line(str(error) or type(error).__name__, LONGEST)}"
        return RunDigest(**begun, state=State.DAMAGED, note=note)
    gate = files.read_gate()
    variants = tuple(_variants(manifest, rows))
    state, note = _judge_state(manifest, summary, len(rows))
    state, note = _judge_sessions(state, note, manifest, resumes)
    probed = one_line(str(block_of(summary.get("probes")).get("line") or ""), LONGEST * 3)
    note = "; ".join(filter(None, (note, _describe_attacks(summary), probed)))
    return RunDigest(
        **begun,
        state=state,
        note=note,
        selected=_is_selected(manifest, summary),
        gate=gate and gate["is_met"],
        missed=tuple(islice(_missed(gate), MOST_MISSED)),
        parts=tuple(_text(part) for part in _entries(manifest.get("merged_from"))),
        files=_hash_files(manifest),
        graders=_graders(summary),
        whole=variants[0].figures if len(variants) == 1 else Figures(**_figures(rows)),
        variants=variants,
    )


# -- its parts


def _begin(given: Any, folder: Path) -> str:
    """Return when a run began; by the name of its folder where the manifest does not tell."""
    try:
        at = datetime.fromisoformat(given)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        at = datetime.strptime(age(folder)[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _judge_state(manifest: Mapping[str, Any], summary: Mapping[str, Any], trials: int) -> tuple[State, str]:
    """Return whether all trials of a run have a result, and what is to be said of it."""
    selected, skipped = (_number(summary.get(key)) for key in ("selected", "skipped"))
    lacking = int((selected or 0) - (skipped or 0)) - trials
    note = f"{lacking} of {int(selected or 0)} trials have no result" if lacking > 0 else ""
    parts = Parts.of_run(manifest)
    merged = _entries(manifest.get("merged_from"))
    if merged:
        short = parts is not None and bool(parts.missing)
        note = "; ".join(filter(None, (f"merged from {len(merged)} runs", note)))
        return (State.PARTIAL if lacking > 0 or short else State.MERGED), note
    if parts is not None and parts.missing:
        numbers = ", ".join(f"{number}/{parts.of}" for number in parts.have)
        return State.PARTIAL, "; ".join(filter(None, (f"shard {numbers}", note)))
    return (State.PARTIAL if lacking > 0 else State.COMPLETE), note


def _describe_attacks(summary: Mapping[str, Any]) -> str:
    """Return how often attacks succeeded, which no pass rate says; "" without attacks."""
    found = block_of(block_of(summary.get("attacks")).get("under_attack"))
    attempts, delivered, compromised = (
        int(_number(found.get(key)) or 0) for key in ("attempts", "delivered", "compromised")
    )
    if not attempts:
        return ""
    of_all = f"of {format_count(attempts, 'attempt')} under attack"
    return f"compromised in {compromised:,} of {delivered:,} in which the attack was delivered, {of_all}"


def _judge_sessions(
    state: State, note: str, manifest: Mapping[str, Any], resumes: Sequence[Mapping[str, Any]]
) -> tuple[State, str]:
    """Return the same where a run was resumed as something else: its manifest is not what all of it is."""
    drifts = (one.get("differences") for one in resumes if _has_run(one))
    browsers = (str(one["browser"]) for one in resumes if one.get("browser"))
    if drift := next((one[0] for one in drifts if isinstance(one, list) and one), None):
        state, note = State.PARTIAL, "; ".join(filter(None, (note, f"resumed anyway: {_text(str(drift))}")))
    elif state is State.COMPLETE and (
        other := next((name for name in browsers if name != manifest.get("browser")), "")
    ):
        state, note = State.MERGED, f"resumed with another browser: {_text(other)}"
    return state, note


def _find_branch(manifest: Mapping[str, Any], resumes: Iterable[Mapping[str, Any]]) -> Any:
    """Return the branch of a run; None where trials of it were made on another one."""
    branch = manifest.get("git_branch")
    return None if any(one.get("git_branch") != branch for one in resumes if _has_run(one)) else branch


def _has_run(line: Mapping[str, Any]) -> bool:
    """Whether a line of ``resumes.jsonl`` is one of a session that had something to run."""
    return "resumed_at" in line and line.get("finished") != line.get("trials")


def _is_selected(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> bool:
    parts = Parts.of_run(manifest)
    of = summary.get("selected") if parts is None else sum(parts.trials)
    return (_number(of) or 0) < (_number(summary.get(ALL_TRIALS)) or 0)


def _missed(gate: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the rules that were not met, those among them that are undecided too."""
    for rule in _entries(gate and gate.get("rules")):
        if isinstance(rule, dict) and rule.get("is_met") is False:
            yield _text(rule.get("name"))


def _plan(manifest: Mapping[str, Any]) -> Iterator[VariantDigest]:
    """Yield the variants of a run that has no summary."""
    variants = block_of(block_of(manifest.get("config")).get("variants"))
    for name, agent in agents_of(redact_config({"variants": variants})).items():
        yield VariantDigest(name=_text(name), agent=_text(agent))


def _hash_files(manifest: Mapping[str, Any]) -> str:
    files = _entries(manifest.get("datasets"))
    if not files or not all(block_of(one).get("sha256") for one in files):
        return ""
    return hash_values(files, block_of(manifest.get("config")).get("dataset"))


def _graders(summary: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    found = block_of(summary.get("graders"))
    return {_text(name): tuple(map(_text, _entries(rules))) for name, rules in found.items()}


def _variants(manifest: Mapping[str, Any], rows: Sequence[Result]) -> Iterator[VariantDigest]:
    known = {one.name: one for one in _plan(manifest)}
    own: dict[str, list[Result]] = {}
    for row in rows:
        own.setdefault(row.variant, []).append(row)
    hashes = hash_provenances(manifest, own)
    for name, trials in own.items():
        plan = known.get(_text(name), VariantDigest(name=_text(name)))
        yield VariantDigest(
            **_figures(trials),
            name=plan.name,
            agent=plan.agent,
            provenance=hashes[name],
            rows=_hash_rows(trials, manifest),
        )


def _hash_rows(trials: Iterable[Result], manifest: Mapping[str, Any]) -> str:
    """Return a hash over rows as they were; by their file where a summary does not know a row's own hash."""
    pairs = sorted({(one.query_id, one.row_hash) for one in trials if not one.is_derived})
    return hash_values(pairs, None if all(own for _, own in pairs) else manifest.get("datasets"))


def _figures(rows: Sequence[Result]) -> dict[str, Any]:
    paid, rows = rows, [one for one in rows if not one.is_derived]
    rate = pass_rate(rows)
    ends = rate.by_task.interval if rate.by_task else rate.interval
    judged = [one for one in rows if one.verdict != Verdict.ERRORED]
    return dict(  # noqa: C408 as its fields are named
        passed=rate.passed,
        failed=rate.failed,
        errored=sum(rate.errored.values()),
        tasks=len({one.query_id for one in rows}),
        rate=rate.value,
        interval=ends and (ends.low, ends.high),
        cost_usd=total_cost(_number(one.cost_usd) for one in paid),
        p95_steps=_p95(one.steps for one in judged),
        p95_ms=_p95(one.duration_ms for one in judged),
    )


def _p95(values: Iterable[Any]) -> float | None:
    known = [value for value in map(_number, values) if value is not None]
    return percentile(known, 0.95) if known else None


def _number(value: Any) -> float | None:
    kind = type(value)  # no bool
    if kind is int:
        return value if -LARGEST < value < LARGEST else None
    return value if kind is float and math.isfinite(value) else None


def _text(value: Any) -> str:
    return one_line(value, LONGEST) if isinstance(value, str) else ""


def _entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
