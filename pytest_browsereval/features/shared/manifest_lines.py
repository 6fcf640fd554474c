"""What several readers show of a run's manifest: its agents, and when it was resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.shared.provenance import differences
from pytest_browsereval.redaction.config import redact_config
from pytest_browsereval.run.manifest import MACHINE, RESUMES_FILE
from pytest_browsereval.run_files import parse_written, read_written


def agents_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return type and models of each variant's agent.

    Args:
        config: of a manifest.
    """
    blocks = block_of(config.get("variants"))
    return {str(name): _agent(block_of(block)) for name, block in blocks.items()}


def _agent(block: Mapping[str, Any]) -> str:
    parts = [block.get("type"), *(block.get(key) for key in ("preset", "function", "url"))]
    words = [part for part in parts if isinstance(part, str)]
    return " ".join([*words, ", ".join(models_of(block))]).strip()


def models_of(block: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """Yield the models that a block names, those of blocks in it with their keys."""
    model, provider = block.get("model"), block.get("provider")
    if isinstance(model, str):
        yield f"{where}{provider}/{model}" if isinstance(provider, str) else f"{where}{model}"
    for key, inner in block.items():
        yield from models_of(block_of(inner), f"{where}{key} ")


def read_resumes(folder: Path, problems: list[str] | None = None) -> tuple[Mapping[str, Any], ...]:
    """Return a record for each resume of a run, and for each browser that it started.

    Args:
        folder: of the run.
        problems: gets lines that are damaged.
    """
    return tuple(_lines(folder / RESUMES_FILE, [] if problems is None else problems))


def _lines(file: Path, problems: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of a file with one in each line; a damaged line adds a problem."""
    try:
        lines = read_written(file).splitlines()
    except OSError:
        return
    for number, line in enumerate(lines, 1):
        try:
            value = parse_written(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            yield redact_config(value)
        else:
            problems.append(f"{format_path(file)}:{number} is damaged and left out.")


def describe_resumes(manifest: Mapping[str, Any], resumes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield when a run was resumed, and what had changed by then.

    Args:
        manifest: of the run.
        resumes: the records of ``resumes.jsonl``.
    """
    before = {key: manifest.get(key) for key in MACHINE if key != "browser"}
    for one in resumes:
        if "resumed_at" not in one:
            yield f"{one.get('started_at')} in {one.get('worker')}: {one.get('browser')}"
            continue
        yield f"{one['resumed_at']}: {one.get('finished')} of {one.get('trials')} trials had their result"
        drift = one.get("differences")
        for line in drift if isinstance(drift, list) else ():
            yield f"resumed anyway: {line}"
        if manifest:
            yield from differences(before, {key: one.get(key) for key in before}).values()


def block_of(value: Any) -> Mapping[str, Any]:
    """Return a block of keys; an empty one for anything else: a manifest may be damaged."""
    return value if isinstance(value, Mapping) else {}
