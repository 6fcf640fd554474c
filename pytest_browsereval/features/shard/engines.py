"""``--eval-shard=auto``: which part of a run this is, as the engine that has started it says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from pytest_browsereval.errors import UsageError
from pytest_browsereval.run.shards import Shard


class Engine(NamedTuple):
    """Something that starts one job several times, and tells each in its environment which one it is."""

    which: str
    """The variable that says which job this is."""
    first: int
    """What it says in the first one."""
    total: str = ""
    """The variable that says how many there are; empty where none does."""
    last: str = ""
    """The variable that says what ``which`` is in the last job: as many, unless numbers are left out."""

    def describe(self, environment: Mapping[str, str]) -> str:
        """Return its variables with their values, for messages; "" where it says nothing of this job."""
        return ", ".join(f"{name}={environment[name][:40]!r}" for name in self[::2] if name in environment)


_SLURM = "SLURM_ARRAY_TASK_"
ENGINES = {
    "Slurm": Engine(f"{_SLURM}ID", 1, f"{_SLURM}COUNT", f"{_SLURM}MAX"),
    "Kubernetes": Engine("JOB_COMPLETION_INDEX", 0),
    "GitLab": Engine("CI_NODE_INDEX", 1, "CI_NODE_TOTAL"),
    "CircleCI": Engine("CIRCLE_NODE_INDEX", 0, "CIRCLE_NODE_TOTAL"),
    "Buildkite": Engine("BUILDKITE_PARALLEL_JOB", 0, "BUILDKITE_PARALLEL_JOB_COUNT"),
    "Azure": Engine("SYSTEM_JOBPOSITIONINPHASE", 1, "SYSTEM_TOTALJOBSINPHASE"),
    "GitHub": Engine("EVAL_JOB_INDEX", 0, "EVAL_JOB_TOTAL"),
}
"""GitHub sets none: the workflow passes ``strategy.job-index`` and ``strategy.job-total`` in these."""


def find_shard(given: str, environment: Mapping[str, str]) -> tuple[Shard, str]:
    """Return the shard that the environment names, and who says so, for the header.

    Args:
        given: ``auto``, or ``auto/4`` where the engine does not say how many parts there are.
        environment: the variables of this process.

    Raises:
        UsageError: no engine says it, several do, something is missing, or there is one part only: a job that
            runs all rows by mistake would look like a success.
    """
    asked = re.fullmatch(r"auto(?:/([1-9][0-9]*))?", given)
    if asked is None or asked[1] == "1":
        raise UsageError(
            f"--eval-shard={given} is not a part of a run. Write `auto`, `auto/4` where nothing says how "
            "many parts there are, or `1/4`."
        )
    here = {name: engine for name, engine in ENGINES.items() if engine.describe(environment)}
    # Some say in every job that there is one only.
    here = {name: one for name, one in here.items() if environment.get(one.total) != "1"} or here
    told = "; ".join(f"{name}: {engine.describe(environment)}" for name, engine in here.items())

    def refuse(why: str) -> UsageError:
        known = told or "there could be " + ", ".join(f"{e.which} ({n})" for n, e in ENGINES.items())
        return UsageError(
            f"--eval-shard={given}: {why} ({known}). Or give the part yourself: `--eval-shard=1/4`."
        )

    def count(name: str) -> int:
        text = environment.get(name, "")
        if not (text.isascii() and text.isdecimal()):
            raise refuse(f"{name} is {text[:40]!r}, which is not a number" if text else f"{name} is not set")
        return int(text)

    if len(here) != 1:
        raise refuse(f"{len(here)} engines say which part this is" if here else "no variable says which part")
    ((name, engine),) = here.items()
    if not engine.total and asked[1] is None:
        raise refuse(f"{name} does not say how many parts there are: write `--eval-shard=auto/4`")
    of = count(engine.total) if engine.total else int(asked[1])
    if (of == 1 and asked[1] is None) or (asked[1] and of != int(asked[1])):
        raise refuse(f"the engine's number of parts is {of}, not {asked[1] or '2 or more'}")
    if engine.last and count(engine.last) != of:
        raise refuse("the ids of the array do not go from 1 to the number of parts")
    number = count(engine.which) - engine.first + 1
    if not 1 <= number <= of:
        raise refuse(f"there is no part {number} of {of}")
    return Shard(number, of), f"{name} ({engine.describe(environment)})"
