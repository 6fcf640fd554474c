"""What a run was made of, from its folder alone: config, data, versions, figures, resumes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from pytest_browsereval.analysis.evidence import check_contradictions
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.manifest_lines import (
    agents_of,
    block_of,
    describe_resumes,
    models_of,
    read_resumes,
)
from pytest_browsereval.model.display import format_count
from pytest_browsereval.run.manifest import check_manifest
from pytest_browsereval.runs.run import PARTIAL, StoredRun
from pytest_browsereval.runs.summary import PARTS, RunSummary
from pytest_browsereval.runs.summary_file import SUMMARY

# Keys of a config that are shown where they differ from their defaults.
OPTIONS = ("trials", "retries", "lanes", "limits", "budget", "pass_when", "tools", "capture")

# Other keys of a manifest that are shown, by the names of their lines.
VERSIONS = {
    "browser": "browser", "tools": "tool_schema_hash", "plug-ins": "plugins", "left out": "left_out",
    "judged by": "judged_by", "python": "python", "platform": "platform", "packages": "packages",
    "commit": "git_commit", "merged": "merged_from", "imported": "imported_from",
}  # fmt: skip

# Figures of `summary.json` that are shown: in the line of the trials, and in JSON too.
COUNTS = ("selected", "passed", "failed", "errored", "skipped", "over_budget", "called_off", "not_needed")


@dataclass(frozen=True)
class RunDescription:
    """What a run was made of."""

    run: StoredRun
    summary: RunSummary | None
    """None if its records cannot be read."""
    facts: Sequence[tuple[str, str]]
    """What a report shows, without what is unknown."""
    content: Mapping[str, Any]
    """All of it as plain values."""
    problems: Sequence[str]
    """Files that cannot be read in full, each with what to do."""


def describe(run: StoredRun, say: Callable[[StoredRun], Sequence[str]]) -> RunDescription:
    """Return what a run was made of; ``problems`` names files that are missing or damaged.

    Args:
        run: the run.
        say: returns what features say of its figures.
    """
    problems: list[str] = []
    file, summary = run.folder / "manifest.json", None
    with _noting(problems):
        check_manifest(run.folder)
    if not file.exists():
        problems.append(f"{format_path(file)} is missing: what the run was made of is unknown.")
    with _noting(problems):
        summary = run.summary
        if (run.folder / SUMMARY).exists():
            check_contradictions(run)
    resumes, manifest = read_resumes(run.folder, problems), run.manifest
    figures, whole = run.read_figures(), summary.figures() if summary is not None else {}
    known = figures | whole
    counts = {key: known[key] for key in (*COUNTS, "trials", "pass_rate") if key in figures}
    rows = len({trial.last.query_id for trial in summary.trials}) if summary else 0
    # A copy may lack the files that features read.
    is_whole = bool(summary and figures) and not (run.folder / PARTIAL).exists()
    said = list(say(run)) if is_whole else []
    claims = summary and summary.false_claims
    told = claims and f"{claims.hits:,} false, of {claims.of:,} judged trials that ended with an answer"
    facts = [
        ("run", run.name),
        ("folder", format_path(run.folder)),
        ("eval", manifest.get("name")),
        ("config", f"{manifest.get('config_file')} (hash {manifest.get('config_hash')})" if manifest else ""),
        ("started", manifest.get("started_at")),
        ("trials", _describe_counts(run, counts, rows)),
        ("claims", told if claims and claims.hits else ""),
        *(("figures", line) for line in said),
        *_list_config(run),
        *_list_versions(manifest),
        *(("resumed", line) for line in describe_resumes(manifest, resumes)),
    ]
    content = {
        "run": run.name,
        "folder": format_path(run.folder),
        "counts": counts,
        "rows_attempted": rows,
        **{key: whole[key] for key in ("false_claims", *PARTS) if whole},
        "said": said,
        "gate": run.find_gate(),
        "manifest": manifest,
        "resumes": [dict(one) for one in resumes],
        "problems": problems,
    }
    shown = [(name, str(text)) for name, text in facts if text]
    return RunDescription(run, summary, shown, content, problems)


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        problems.append(str(error))


def _describe_counts(run: StoredRun, counts: Mapping[str, int], attempted: int) -> str:
    """Return how many trials came to what, by the run's summary."""
    rows = f"{format_count(attempted, 'row')} attempted"
    if not counts:
        planned = run.count_planned()
        of = "" if planned is None else f"{planned} selected, "
        return f"{of}{rows}; there is no summary.json: the run is still running, or ended before it wrote one"
    lines = [f"{counts[kind]} {kind.replace('_', ' ')}" for kind in COUNTS if counts.get(kind)]
    have = sum(counts.get(kind) or 0 for kind in ("skipped", "passed", "failed", "errored"))
    without = (counts.get("selected") or 0) - have
    return ", ".join([*lines, *([f"{without} without a result"] if without > 0 else []), rows])


# -- what is shown of a config


def _list_config(run: StoredRun) -> Iterator[tuple[str, Any]]:
    """Yield what the config of a run says, by the names of lines; nothing is shown of what is empty."""
    manifest, config = run.manifest, block_of(run.manifest.get("config"))
    for name, agent in agents_of(config).items():
        yield "agent", agent if name == "default" else f"{name}: {agent}"
    judge = block_of(config.get("judge"))
    votes = f", {judge.get('votes')} votes" if judge.get("votes", 1) != 1 else ""
    yield "judge", judge and f"{', '.join(models_of(judge))}{votes}"
    graders = [_describe_grader(block_of(one)) for one in _entries(config.get("graders"))]
    yield "graders", ", ".join(graders) or (config and "the rows' own")
    for block in map(block_of, _entries(config.get("dataset"))):
        known = {key: block[key] for key in ("type", "path", "select") if key in block}
        yield "dataset", _join({key: value for key, value in _find_changed(known, {}).items() if value})
    files = {
        file.get("file"): file.get("sha256") for file in map(block_of, _entries(manifest.get("datasets")))
    }
    yield "sha256", _join({str(name): sha or "unknown: it could not be read" for name, sha in files.items()})
    yield "sites", ", ".join(sorted(block_of(config.get("sites"))))
    # Only what is not as it is by default.
    options = _find_changed({key: config[key] for key in OPTIONS if key in config}, _defaults(OPTIONS))
    yield "options", _join(options) or (config and "all at their defaults")
    yield "gate", _join(_find_changed(block_of(run.find_gate()), _defaults(("gate",))["gate"]))


def _list_versions(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what else a manifest says: tools, plug-ins, versions, and where the run comes from."""
    for name, key in VERSIONS.items():
        value = manifest.get(key)
        listed = ", ".join(map(str, value)) if isinstance(value, list) else value
        yield name, _join(value) if isinstance(value, Mapping) else listed


def _describe_grader(block: Mapping[str, Any]) -> str:
    return f"{block.get('name') or block.get('type')}{' (advisory)' if block.get('advisory') else ''}"


def _defaults(keys: Sequence[str]) -> dict[str, Any]:
    from pytest_browsereval.config import EvalConfig  # a list of runs needs none

    values = {key: EvalConfig.model_fields[key].get_default(call_default_factory=True) for key in keys}
    return {
        key: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for key, value in values.items()
    }


def _find_changed(given: Mapping[str, Any], defaults: Any, path: str = "") -> dict[str, Any]:
    """Return the values that are not the defaults, by dotted keys."""
    known = block_of(defaults)
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key in known and value == known[key]:
            continue
        if isinstance(value, Mapping) and value:
            found |= _find_changed(value, known.get(key), f"{path}{key}.")
        else:
            found[f"{path}{key}"] = value
    return found


def _join(values: Mapping[str, Any]) -> str:
    """Return keys and values in one line."""
    texts = {
        key: one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
        for key, one in values.items()
    }
    return ", ".join(f"{key} {text}" for key, text in texts.items())


def _entries(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
