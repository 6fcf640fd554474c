"""A run in parts on a cluster: what the script or the manifest says, checked before anything is printed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from pytest_browsereval.commands.base import registry_near
from pytest_browsereval.datasets.ids import safe_folder, safe_id
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.bucket import parse_bucket
from pytest_browsereval.features.gates import write_part_gate

ACCEPTED = "1,5"
"""Exit codes of a part that is done: rows did not pass, which the gate judges, or it has no row."""

MOST_LETTERS = 40
"""Of a name in Kubernetes: of the 63 that it allows, the rest is for what is added to it."""


@dataclass(frozen=True)
class Resources:
    """What a part may use."""

    cpus: int
    memory_gib: int
    minutes: int


@dataclass(frozen=True)
class ClusterPlan:
    """A run in parts. Path and URLs are one printable line each, and may hold anything else."""

    config: str
    """The path of the eval's config, as it is typed."""
    eval_name: str
    parts: int
    parallel: int
    """How many of them run at once."""
    output: str
    """The URL of the folder of all runs."""
    name: str
    """Of the run there, of A-Z a-z 0-9 . _ -, the same for all parts whenever they are submitted."""
    results: str
    """The results folder of the config, as it is typed."""
    resources: Resources
    gate: str = "{}"
    """By which parts may end, as ``write_part_gate`` has it."""

    @property
    def url(self) -> str:
        """The URL of the run."""
        return f"{self.output}/{safe_folder(self.eval_name)}/{self.name}"

    @property
    def label(self) -> str:
        """A name of a-z 0-9 - for Kubernetes; other runs have other ones."""
        given = f"{self.eval_name}-{self.name}"
        label = re.sub(r"[^a-z0-9]+", "-", given.lower()).strip("-")
        if label == given and label[0].isalpha() and len(label) <= MOST_LETTERS:
            return label
        digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{f'e-{label}'[: MOST_LETTERS - 9].strip('-')}-{digest}"

    def part_words(self, shard: str) -> list[str]:
        """Return the command of a part.

        Args:
            shard: what ``--eval-shard`` is.
        """
        return [
            *("browsereval", "supervise", "--accept", ACCEPTED),
            *("pytest", "-p", "no:cacheprovider", f"--eval-config={self.config}"),
            *("--eval-set", f"gate={self.gate}"),
            *(f"--eval-shard={shard}", f"--eval-output={self.output}", f"--eval-run-name={self.name}"),
            "--eval-accept-done",  # an engine may start a part again that is done: another job decides
        ]


def make_plan(
    config: Path, *, parts: int, parallel: int | None, output: str, name: str, resources: Resources
) -> ClusterPlan:
    """Return the plan of a run.

    Args:
        config: the eval's config.
        parts: how many.
        parallel: how many at once; None for all.
        output: the URL of the folder of all runs.
        name: of the run there.
        resources: what a part may use.

    Raises:
        UsageError: one of these cannot be used.
        ConfigError: the config cannot.
        DatasetError: its rows cannot be read.
    """
    from pytest_browsereval.config import load_config
    from pytest_browsereval.run.plan import Plan

    check_line("the path of the config", str(config))
    check_url(output)
    if not name or safe_id(name) != name:  # it becomes a folder at the URL, and in caches of any system
        raise UsageError(
            f"{name[:80]!a} cannot be the name of a run. Take up to 100 of A-Z a-z 0-9 . _ -, such as "
            "nightly-2026-11-25."
        )
    registry = registry_near(config)
    loaded = load_config(config, registry=registry)
    rows = len({entry.ref.query_id for entry in Plan(loaded, registry).entries()})
    if parts > rows:
        raise UsageError(
            f"--parts {parts}: {config} has {rows} rows, and a part without one would do nothing."
        )
    here, results = Path.cwd(), loaded.output_dir
    if not config.is_absolute() and results.is_relative_to(here):
        results = results.relative_to(here)
    check_line("output_dir of the config", str(results))
    return ClusterPlan(
        config=str(config),
        eval_name=loaded.name,
        parts=parts,
        parallel=min(parallel or parts, parts),
        output=output.rstrip("/"),
        name=name,
        results=str(results),
        resources=resources,
        gate=write_part_gate(loaded),
    )


def check_line(what: str, text: str) -> None:
    """Refuse a text that is not one printable line: it could end the line of a script that it stands in.

    Raises:
        UsageError: it is not.
    """
    if not text.isprintable():
        raise UsageError(f"{what} has a line break or another character that cannot be printed: {text!a}.")


def check_url(url: str) -> None:
    """Refuse what is not the URL of a folder.

    Raises:
        UsageError: it is not.
    """
    try:
        parse_bucket(url)
    except UsageError as error:
        raise UsageError(f"--output: {error}") from None
    check_line("--output", url)
