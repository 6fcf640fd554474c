"""What is asked of the nodes: one eval in parts, with the options of pytest that all parts share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from pytest_browsereval.errors import UsageError
from pytest_browsereval.run.shards import Shard

_ONLY_LOOKS = "it runs nothing; give it to pytest"

OURS = {
    "--eval-config": "it is the first argument",
    "--eval-shard": "it is --parts",
    "--eval-output": "it is --output",
    "--eval-run-name": "it is --name",
    "--eval-resume": "write the --name of the run",
    "--eval-regrade": "regrade the run when it is whole",
    "--eval-dashboard": "each part is a session of its own",
    "--junitxml": "write --junit-xml before the --",
    "--junit-xml": "write --junit-xml before the --",
    "--html": "each part would write the same file",
    **dict.fromkeys(
        (
            *("--eval-plan", "--collect-only", "--collectonly", "--co", "--setup-only", "--setuponly"),
            *("--setup-plan", "--setupplan", "--help", "-h", "--version", "-V", "--fixtures", "--funcargs"),
            *("--fixtures-per-test", "--markers", "--cache-show"),
        ),
        _ONLY_LOOKS,
    ),
}
"""Options of pytest that parts cannot be given, and why."""


DEFAULTS = {"cpus": 1.0, "max_retries": 3}
"""Of the command line: cores of a part, and how often one is started again."""


@dataclass(frozen=True)
class Request:
    """A run in parts."""

    config: str
    """The file, from the folder that pytest runs in or from the root."""
    url: str
    """Where the runs of all evals are."""
    name: str
    """Of the run there."""
    of: int
    """How many parts there are."""
    options: tuple[str, ...] = ()
    """Of pytest, for all parts."""
    shard_by: str | None = None
    """The run whose times divide the rows: a folder or a URL."""
    folder: str | None = None
    """The folder that pytest runs in; None for the one that Ray has copied to the node."""
    gate: str = "{}"
    """By which parts may end, as ``write_part_gate`` has it."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that nodes get besides their own."""

    def arguments(self, number: int, results: Path) -> list[str]:
        """Return the command line of pytest for a part.

        Args:
            number: of the part, from 1.
            results: a folder for the runs that this node makes.
        """
        return [
            *self.common(),
            *self.division(number),
            f"--eval-run-name={self.name}",
            "--eval-accept-done",  # as the node was lost, the part may have been done
            "--eval-set",
            f"output_dir={json.dumps(str(results))}",
            "--eval-set",
            f"gate={self.gate}",  # a part has some of the rows only: the gate decides about all of them
        ]

    def division(self, number: int) -> list[str]:
        """Return the options that say which part it is."""
        by = [] if self.shard_by is None else [f"--eval-shard-by={self.shard_by}"]
        return [f"--eval-shard={Shard(number, self.of)}", *by]

    @property
    def target(self) -> str:
        """The option that says where the run goes."""
        return f"--eval-output={self.url}"

    def common(self) -> list[str]:
        """Return what all command lines of pytest have."""
        return [
            f"--eval-config={self.config}",
            self.target,
            "-p",
            "no:cacheprovider",  # parts on one disk would write the same files
            *self.options,
        ]


@dataclass(frozen=True)
class Options:
    """What we have to know of pytest's options."""

    sets: tuple[str, ...]
    agent: str | None
    baseline: str | None
    shard_by: str | None
    rest: tuple[str, ...]
    """All of them, but those that only a gate or one place has a meaning for."""

    @property
    def gate_sets(self) -> list[str]:
        """Those of ``--eval-set`` that are about the gate."""
        return [one for one in self.sets if one.partition("=")[0].partition(".")[0] == "gate"]


def read_options(words: Sequence[str]) -> Options:
    """Return what pytest's options say.

    Raises:
        UsageError: one of them is what this command itself gives to pytest.
    """
    for word in words:
        if (why := OURS.get(word.partition("=")[0])) is not None:
            raise UsageError(f"{word.partition('=')[0]} cannot be given to parts of a run: {why}.")
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--eval-set", action="append", default=[])
    for name in ("agent", "baseline", "shard-by", "min-pass-rate", "trials"):
        parser.add_argument(f"--eval-{name}")
    found, rest = parser.parse_known_args(list(words))
    sets = list(found.eval_set)
    if found.eval_min_pass_rate is not None:
        sets.append(f"gate.min_pass_rate={found.eval_min_pass_rate}")
    if found.eval_trials is not None:
        sets.append(f"trials={found.eval_trials}")
    kept = [word for one in sets for word in ("--eval-set", one)]
    if found.eval_agent is not None:
        kept.append(f"--eval-agent={found.eval_agent}")
    return Options(tuple(sets), found.eval_agent, found.eval_baseline, found.eval_shard_by, (*kept, *rest))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Refuse what cannot be read."""
        raise UsageError(f"the options of pytest cannot be read: {message}.")
