"""Report of what a run was made of, and of what differs between two."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_browsereval.analysis.manifest import describe_resumes
from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.show.description import RunDescription
from pytest_browsereval.model.display import format_count
from pytest_browsereval.report.report import Report, Row, Table


def make_report(found: RunDescription) -> Report:
    """Return what a run was made of."""
    facts = [(name, str(value)) for name, value in _list_facts(found) if value]
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
        tables=[Table(("",), rows, "they differ in, A -> B:", most=len(rows))],
        content=lambda: {"a": a.content, "b": b.content, "differences": differences},
    )


def _describe_start(run: RunDescription) -> str:
    count = sum("resumed_at" in one for one in run.resumes)
    more = f", resumed {format_count(count, 'time')}" if count else ""
    return f"{format_path(run.folder)}, begun {run.manifest.get('started_at') or 'at an unknown time'}{more}"


def _list_facts(run: RunDescription) -> Iterator[tuple[str, Any]]:
    """Yield names and what there is to say of each; what is unknown is empty."""
    found = run.content
    is_known = bool(run.manifest.get("config"))
    digest = found["config_hash"]
    yield "run", found["run"]
    yield "folder", format_path(run.folder)
    yield "eval", found["eval"]
    yield "config", f"{found['config_file'] or 'none'} (hash {digest})" if digest else found["config_file"]
    yield "started", found["started_at"]
    yield "trials", _counts(run)
    yield from (("causes", line) for line in found["causes"])
    for name, agent in found["agents"].items():
        yield "agent", agent if name == "default" else f"{name}: {agent}"
    yield "judge", found["judge"]
    yield "graders", ", ".join(found["graders"]) or (is_known and "those of the rows")
    yield from (("dataset", _dataset(one)) for one in found["datasets"])
    yield "browser", found["browser"]
    yield "lanes", f"num_workers {found['num_workers']}" if found["num_workers"] else found["lanes"]
    yield "options", _options(found["options"]) or (is_known and "all as by default")
    yield "gate", _options(found["gate"])
    yield "sites", ", ".join(found["sites"])
    yield "tools", f"{found['tools']} tools, hash {found['tool_schema_hash']}" if found["tools"] else ""
    yield "plug-ins", ", ".join(found["plugins"])
    yield "left out", ", ".join(found["left_out"])
    yield "judged by", ", ".join(found["judged_by"])
    yield "python", " on ".join(str(one) for one in (found["python"], found["platform"]) if one)
    yield "packages", _options({name: one or "not installed" for name, one in found["packages"].items()})
    yield "commit", found["git_commit"]
    if parts := found["merged_from"]:
        yield "merged", f"of {len(parts)} runs at {found['merged_at']}: {', '.join(map(str, parts))}"
    yield "imported", _options(found["imported_from"])
    yield from (("resumed", line) for line in describe_resumes(run.manifest, run.resumes))


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


def _options(values: Mapping[str, Any]) -> str:
    """Return keys and values in one line."""
    return ", ".join(f"{key} {_format_value(value)}" for key, value in values.items())


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
