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
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.manifest import check_manifest
from pytest_browsereval.runs.folder import LOG_FILE
from pytest_browsereval.runs.run import PARTIAL, StoredRun
from pytest_browsereval.runs.summary import PARTS, RunSummary
from pytest_browsereval.runs.summary_file import SUMMARY
from pytest_browsereval.stats.statistics import Share

# Keys of a config that are shown where they differ from their defaults.
OPTIONS = ("trials", "retries", "limits", "budget", "pass_when", "tools", "capture")

MOST_CAUSES = 5
"""Trials of which it is said why they did not pass; ``browsereval causes`` has all."""

# Figures of `summary.json` that are shown.
COUNTS = (
    "selected", "skipped", "over_budget", "called_off", "not_needed",
    "trials", "passed", "failed", "errored", "pass_rate",
)  # fmt: skip

_SHOWN = ("selected", "passed", "failed", "errored", "skipped", "over_budget", "called_off", "not_needed")


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


def describe(run: StoredRun, say: Callable[[StoredRun], Sequence[str]] | None = None) -> RunDescription:
    """Return what a run was made of; ``problems`` names files that are missing or damaged.

    Args:
        run: the run.
        say: returns what features say of its figures; they say nothing by default.
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
    counts = {key: known[key] for key in COUNTS if key in figures and known[key] is not None}
    rows = len({trial.last.query_id for trial in summary.trials}) if summary else 0
    causes = list(_name_causes(run, summary)) if summary and figures else []
    # A copy may lack the files that features read.
    is_whole = bool(summary and figures) and not (run.folder / PARTIAL).exists()
    said = list(say(run)) if say is not None and is_whole else []
    facts = [
        ("run", run.name),
        ("folder", format_path(run.folder)),
        ("eval", manifest.get("name")),
        ("config", _describe_config(manifest.get("config_file"), manifest.get("config_hash"))),
        ("started", manifest.get("started_at")),
        ("trials", _describe_counts(run, counts, rows)),
        ("claims", summary and _describe_claims(summary.false_claims)),
        *(("causes", line) for line in causes),
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
        "causes": causes,
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


def _list_config(run: StoredRun) -> Iterator[tuple[str, Any]]:
    """Yield what the config of a run says, by the names of lines; nothing is shown of what is empty."""
    given, config = run.manifest, block_of(run.manifest.get("config"))
    for name, agent in agents_of(config).items():
        yield "agent", agent if name == "default" else f"{name}: {agent}"
    yield "judge", _describe_judge(block_of(config.get("judge")))
    graders = [_describe_grader(block_of(one)) for one in _entries(config.get("graders"))]
    yield "graders", ", ".join(graders) or (config and "those of the rows")
    blocks = [block_of(one) for one in _entries(config.get("dataset"))]
    files = [block_of(one) for one in _entries(given.get("datasets"))]
    for place, file in enumerate(files):
        yield "dataset", _describe_dataset(file, blocks[place] if len(blocks) == len(files) else {})
    yield "browser", given.get("browser")
    workers = config.get("num_workers")
    yield "lanes", f"num_workers {workers}" if workers else config.get("lanes")
    # Only what is not as it is by default.
    options = _find_changed({key: config[key] for key in OPTIONS if key in config}, _defaults(OPTIONS))
    yield "options", _join(options) or (config and "all at their defaults")
    yield "gate", _join(_find_changed(block_of(run.find_gate()), _defaults(("gate",))["gate"]))
    yield "sites", ", ".join(sorted(block_of(config.get("sites"))))


def _list_versions(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what else a manifest says: tools, plug-ins, versions, and where the run comes from."""
    tools = _entries(given.get("tools"))
    yield "tools", tools and f"{len(tools)} tools, hash {given.get('tool_schema_hash')}"
    for key, name in (("plugins", "plug-ins"), ("left_out", "left out"), ("judged_by", "judged by")):
        yield name, ", ".join(map(str, _entries(given.get(key))))
    yield "python", " on ".join(str(given[key]) for key in ("python", "platform") if given.get(key))
    packages = block_of(given.get("packages"))
    yield "packages", _join({name: one or "not installed" for name, one in packages.items()})
    yield "commit", given.get("git_commit")
    merged = _entries(given.get("merged_from"))
    whole = ", ".join(map(str, merged))
    yield "merged", merged and f"of {len(merged)} runs at {given.get('merged_at')}: {whole}"
    yield "imported", _join(block_of(given.get("imported_from")))


def _describe_config(file: Any, digest: Any) -> Any:
    return f"{file or 'none'} (hash {digest})" if digest else file


def _describe_claims(claims: Share) -> str:
    told = f"{claims.hits:,} false, of {claims.of:,} judged trials that ended with an answer"
    return told if claims.hits else ""


def _describe_counts(run: StoredRun, counts: Mapping[str, int], attempted: int) -> str:
    """Return how many trials came to what, by the run's summary."""
    rows = f"{format_count(attempted, 'row')} attempted"
    if not counts:
        planned = run.count_planned()
        of = "" if planned is None else f"{planned} selected, "
        return f"{of}{rows}; there is no summary.json: the run still goes on, or ended before it wrote one"
    lines = [f"{counts[kind]} {kind.replace('_', ' ')}" for kind in _SHOWN if counts.get(kind)]
    have = ("skipped", "passed", "failed", "errored")
    without = counts.get("selected", 0) - sum(counts.get(kind, 0) for kind in have)
    return ", ".join([*lines, *([f"{without} without a result"] if without > 0 else []), rows])


def _name_causes(run: StoredRun, summary: RunSummary) -> Iterator[str]:
    """Yield why trials did not pass, failed ones first, as far as a feature knows and logs are here."""
    bad = [one.last for one in summary.trials if one.verdict is not Verdict.PASSED]
    named = 0
    for data in sorted(bad, key=lambda one: list(Verdict).index(one.verdict)):
        if named == MOST_CAUSES:
            yield f"and {len(bad) - named:,} more that did not pass: browsereval causes"
            return
        # Of a run at a URL the records are brought alone.
        if not (data.local_folder / LOG_FILE).is_file():
            continue
        if (cause := run.door.find_cause(data.metadata, data.local_folder)) is not None:
            named += 1
            yield f"{data.name} {data.verdict}: {cause.describe()}"


# -- what is shown of a config


def _describe_judge(block: Mapping[str, Any]) -> str | None:
    """Return the model that graders ask, if the config names one."""
    votes = block.get("votes", 1)
    models = ", ".join(models_of(block))
    return f"{models}, {votes} votes" if models and votes != 1 else models or None


def _describe_dataset(file: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    """Return the file of a dataset, its type, what was selected, and the hash of what is in it."""
    kind = f" ({block['type']})" if block.get("type") else ""
    chosen = {key: value for key, value in block_of(block.get("select")).items() if value}
    select = f", select {_join(chosen)}" if chosen else ""
    return f"{file.get('file')}{kind}{select}, sha256 {file.get('sha256') or 'unknown: it could not be read'}"


def _describe_grader(block: Mapping[str, Any]) -> str:
    message = str(block.get("name") or block.get("type"))
    return f"{message} (advisory)" if block.get("advisory") else message


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
