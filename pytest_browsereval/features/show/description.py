"""Description of a run from its folder alone: models, tools, datasets, figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pytest_browsereval.analysis.evidence import describe_contradictions
from pytest_browsereval.analysis.manifest import agents_of, block_of, models_of, read_resumes
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config_text import format_path
from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import SCHEMA_VERSION
from pytest_browsereval.redaction.config import redact_config
from pytest_browsereval.run_files import load_written
from pytest_browsereval.runs.folder import LOG_FILE
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.summary import RunSummary

# Keys of a config that are shown where they differ from their defaults.
OPTIONS = ("trials", "retries", "limits", "budget", "pass_when", "tools", "capture")

MOST_CAUSES = 5
"""Trials of which it is said why they did not pass; ``browsereval causes`` has all."""

# Figures of `summary.json` that are shown.
COUNTS = (
    "selected", "skipped", "over_budget", "called_off", "not_needed",
    "trials", "passed", "failed", "errored", "pass_rate",
)  # fmt: skip


@dataclass(frozen=True)
class RunDescription:
    """What a run was made of."""

    folder: Path
    manifest: Mapping[str, Any]
    """Without secrets; empty if it is missing or damaged."""
    resumes: tuple[Mapping[str, Any], ...]
    """A record for each resume, and for each browser that it started."""
    content: dict[str, Any]
    """All that is shown, as plain values."""
    problems: tuple[str, ...]
    """Files that cannot be read in full, each with what to do."""


def describe(door: Door, folder: Path) -> RunDescription:
    """Return what a run was made of.

    Args:
        door: asks plug-ins for causes.
        folder: of the run; ``problems`` names files that are missing or damaged.
    """
    problems: list[str] = []
    manifest = _read(folder / "manifest.json", problems)
    if not (folder / "manifest.json").exists():
        problems.append(
            f"{format_path(folder / 'manifest.json')} is missing: what the run was made of is unknown."
        )
    version = manifest.get("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        problems.append(
            f"{format_path(folder / 'manifest.json')} is of form {version!r}, and this version reads form "
            f"{SCHEMA_VERSION}: only what both have is shown. Install a newer pytest-browsereval."
        )
    summary = _read(folder / "summary.json", problems)
    judged = _summarize_verdicts(folder, problems) if summary else None
    figures = judged.as_json() if judged else {}
    counts = {key: figures.get(key, summary[key]) for key in COUNTS if key in summary}
    rules = block_of(summary.get("gate", block_of(manifest.get("config")).get("gate")))
    given = redact_config(manifest)  # a run of an older version may hold what is known as a secret today
    config, resumes = block_of(given.get("config")), read_resumes(folder, problems)
    content = {
        "run": folder.resolve().name,
        "folder": str(folder),
        "problems": problems,
        "eval": given.get("name"),
        "config_file": given.get("config_file"),
        "config_hash": given.get("config_hash"),
        "started_at": given.get("started_at"),
        "counts": {key: value for key, value in counts.items() if value is not None},
        "causes": list(_name_causes(door, judged)) if judged else [],
        "rows_attempted": _count_rows(folder),
        "agents": agents_of(config),
        "judge": _judge(block_of(config.get("judge"))),
        "graders": [_grader(block_of(one)) for one in _entries(config.get("graders"))],
        "datasets": list(_datasets(given, config)),
        "browser": given.get("browser"),
        "lanes": config.get("lanes"),
        "num_workers": config.get("num_workers"),
        # Only what is not as it is by default.
        "options": _find_changed({key: config[key] for key in OPTIONS if key in config}, _defaults(OPTIONS)),
        "gate": _find_changed(rules, _defaults(("gate",))["gate"]),
        "sites": sorted(block_of(config.get("sites"))),
        "tools": len(_entries(given.get("tools"))),
        "tool_schema_hash": given.get("tool_schema_hash"),
        "plugins": list(map(str, _entries(given.get("plugins")))),
        "left_out": list(map(str, _entries(given.get("left_out")))),
        "judged_by": list(map(str, _entries(given.get("judged_by")))),
        "python": given.get("python"),
        "platform": given.get("platform"),
        "packages": dict(block_of(given.get("packages"))),
        "git_commit": given.get("git_commit"),
        "merged_from": list(_entries(given.get("merged_from"))),
        "merged_at": given.get("merged_at"),
        "imported_from": dict(block_of(given.get("imported_from"))),
        "resumes": [dict(one) for one in resumes],
    }
    return RunDescription(folder, given, resumes, content, tuple(problems))


def _summarize_verdicts(folder: Path, problems: list[str]) -> RunSummary | None:
    """Return what trials came to by their records, as the gate does; adds what contradicts these."""
    run = StoredRun(folder)
    try:
        found = run.summary
    except UsageError as error:
        problems.append(str(error))
        return None
    if message := describe_contradictions(run):
        problems.append(f"{format_path(folder)}: {message}.")
    return found


def _count_rows(folder: Path) -> int:
    try:
        return len({one.query_id for one in StoredRun(folder).attempts})
    except UsageError:  # which the problems name
        return 0


def _name_causes(door: Door, summary: RunSummary) -> Iterator[str]:
    """Yield why trials did not pass, failed ones first, as far as a feature knows and logs are here."""
    find, order = door.find_cause, list(Verdict)
    bad = [one for one in summary.trials if one.last.verdict is not Verdict.PASSED]
    named = 0
    for trial in sorted(bad, key=lambda one: order.index(one.last.verdict)):
        if named == MOST_CAUSES:
            yield f"and {len(bad) - named:,} more that did not pass: browsereval causes"
            return
        if not (
            trial.last.local_folder / LOG_FILE
        ).is_file():  # a run at a URL, of which the records are brought alone
            continue
        if (cause := find(trial.last.metadata, trial.last.local_folder)) is not None:
            named += 1
            data = trial.last
            variant = "" if data.variant == "default" else f" ({data.variant})"
            again = f" trial {data.trial}" if data.trial > 1 else ""
            yield f"{data.query_id}{variant}{again} {data.verdict}: {cause.describe()}"


def _read(file: Path, problems: list[str]) -> dict[str, Any]:
    """Return the block of a JSON file; empty if it is missing, or damaged, which adds a problem."""
    try:
        value = load_written(file)
    except FileNotFoundError:
        return {}
    except OSError as error:
        problems.append(f"{format_path(file)} cannot be read: {error.strerror}.")
    except ValueError as error:
        problems.append(f"{format_path(file)} is damaged: {error}. What it said is left out; restore it.")
    else:
        if isinstance(value, dict):
            return value
        problems.append(f"{format_path(file)} is damaged: it is not a block of keys. Restore it.")
    return {}


# -- what is shown of a config


def _judge(block: Mapping[str, Any]) -> str | None:
    """Return the model that graders ask, if the config names one."""
    votes = block.get("votes", 1)
    models = ", ".join(models_of(block))
    return f"{models}, {votes} votes" if models and votes != 1 else models or None


def _datasets(manifest: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield of each dataset its file, the hash of what is in it, its type and what was selected."""
    blocks = [block_of(one) for one in _entries(config.get("dataset"))]
    files = [block_of(one) for one in _entries(manifest.get("datasets"))]
    if len(blocks) != len(files):
        blocks = [{}] * len(files)
    for file, block in zip(files, blocks, strict=True):
        select = {key: value for key, value in block_of(block.get("select")).items() if value}
        yield {
            "file": file.get("file"),
            "sha256": file.get("sha256"),
            "type": block.get("type"),
            "select": select,
        }


def _grader(block: Mapping[str, Any]) -> str:
    message = str(block.get("name") or block.get("type"))
    return f"{message} (advisory)" if block.get("advisory") else message


def _defaults(keys: Sequence[str]) -> dict[str, Any]:
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


def _entries(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
