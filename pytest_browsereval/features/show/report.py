"""Report of what a run was made of, and of what differs between two."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_browsereval.analysis.manifest import describe_resumes
from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.show.description import RunDescription
from pytest_browsereval.model.display import format_count
from pytest_browsereval.report.report import Report, Row, Table


def make_report(found: RunDescription) -> Report:
    """Return what a run was made of."""
    facts = [(name, value) for name, values in _facts(found).items() for value in values]
    return Report(facts=facts, content=lambda: found.content)


def make_comparison(a: RunDescription, b: RunDescription, differences: Sequence[str]) -> Report:
    """Return in what two runs differ.

    Args:
        a: a run.
        b: another one.
        differences: what differs, a line for each value.
    """
    rows = [Row((line,)) for line in differences]
    return Report(
        title="" if differences else "they differ in nothing but time",
        facts=[("A", _describe_start(a)), ("B", _describe_start(b))],
        tables=[Table(("",), rows, "they differ in, A -> B:", most=len(rows))] * bool(differences),
        content=lambda: {"a": a.content, "b": b.content, "differences": differences},
    )


def _describe_start(run: RunDescription) -> str:
    count = sum("resumed_at" in one for one in run.resumes)
    more = f", resumed {format_count(count, 'time')}" if count else ""
    return f"{format_path(run.folder)}, begun {run.manifest.get('started_at') or 'at an unknown time'}{more}"


def _facts(run: RunDescription) -> dict[str, list[str]]:
    """Return the lines of each name; names without one are left out."""
    given, found = run.manifest, run.content
    is_known = bool(given.get("config"))
    lanes = f"num_workers {found['num_workers']}" if found["num_workers"] else found["lanes"]
    facts: dict[str, Iterable[Any]] = {
        "run": [found["run"]],
        "folder": [format_path(run.folder)],
        "eval": [given.get("name")],
        "config": [_with_hash(given.get("config_file"), given.get("config_hash"))],
        "started": [given.get("started_at")],
        "trials": [_counts(run)],
        "causes": found["causes"],
        "agent": (text if name == "default" else f"{name}: {text}" for name, text in found["agents"].items()),
        "judge": [found["judge"]],
        "graders": [", ".join(found["graders"]) or ("those of the rows" if is_known else None)],
        "dataset": map(_dataset, found["datasets"]),
        "browser": [given.get("browser")],
        "lanes": [lanes],
        "options": [_options(found["options"]) or ("all as by default" if is_known else None)],
        "gate": [_options(found["gate"])],
        "sites": [", ".join(found["sites"])],
        "tools": [_tools(given)],
        "plug-ins": [", ".join(found["plugins"])],
        "python": [_python(given)],
        "packages": [_packages(given.get("packages"))],
        "commit": [given.get("git_commit")],
        "merged": [_describe_merge(given)],
        "imported": [_options(given.get("imported_from"))],
        "resumed": describe_resumes(run.manifest, run.resumes),
    }
    record = {name: [str(value) for value in values if value] for name, values in facts.items()}
    return {name: values for name, values in record.items() if values}


def _with_hash(file: Any, digest: Any) -> str:
    return f"{file or 'none'} (hash {digest})" if digest else str(file or "")


def _counts(run: RunDescription) -> str:
    """Return how many trials came to what, by the run's summary."""
    rows = f"{format_count(run.content['rows_attempted'], 'row')} attempted"
    counts = run.content["counts"]
    if not counts:
        selected = run.manifest.get("selected")
        of = f"{selected} selected, " if isinstance(selected, int) else ""
        return (
            f"{of}{rows}; there is no summary.json: the run ended before it was written, or is still running"
        )
    kinds = ("selected", "passed", "failed", "errored", "skipped", "over_budget", "called_off", "not_needed")
    lines = [f"{counts[kind]} {kind.replace('_', ' ')}" for kind in kinds if counts.get(kind)]
    have = ("skipped", "passed", "failed", "errored")
    without = counts.get("selected", 0) - sum(counts.get(kind, 0) for kind in have)
    return ", ".join([*lines, *([f"{without} without a result"] if without > 0 else []), rows])


def _dataset(one: Mapping[str, Any]) -> str:
    kind = f" ({one['type']})" if one["type"] else ""
    select = f", select {_options(one['select'])}" if one["select"] else ""
    return f"{one['file']}{kind}{select}, sha256 {one['sha256'] or 'unknown: it could not be read'}"


def _options(values: Any) -> str:
    """Return keys and values in one line."""
    if not isinstance(values, Mapping):
        return ""
    return ", ".join(f"{key} {_value(value)}" for key, value in values.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tools(given: Mapping[str, Any]) -> str:
    names, digest = given.get("tools"), given.get("tool_schema_hash")
    count = f"{len(names)} tools" if isinstance(names, list) else ""
    return ", ".join(part for part in (count, f"hash {digest}" if digest else "") if part)


def _python(given: Mapping[str, Any]) -> str:
    version, platform = given.get("python"), given.get("platform")
    return f"{version} on {platform}" if version and platform else str(version or platform or "")


def _packages(packages: Any) -> str:
    known = packages if isinstance(packages, Mapping) else {}
    return ", ".join(f"{name} {version or 'not installed'}" for name, version in known.items())


def _describe_merge(given: Mapping[str, Any]) -> str:
    parts = given.get("merged_from")
    if not isinstance(parts, list) or not parts:
        return ""
    return f"of {len(parts)} runs at {given.get('merged_at')}: {', '.join(map(str, parts))}"
