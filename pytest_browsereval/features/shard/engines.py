"""``--eval-shard=auto``: which part of a run this is, as the engine that has started it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_browsereval.errors import UsageError
from pytest_browsereval.run.shards import Shard

AUTO = "auto"


@dataclass(frozen=True)
class Engine:
    """Something that starts one job several times, and tells each in its environment which one it is."""

    name: str
    index: str
    """The variable that says which job this is."""
    first: int
    """What it says in the first one."""
    total: str
    """The variable that says how many there are; empty where none does."""
    ids: tuple[str, ...] = ()
    """Variables with the first and the last id of a job and the step between them, where these may be any."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables."""
        return tuple(filter(None, (self.index, self.total, *self.ids)))

    def describe(self, environment: Mapping[str, str]) -> str:
        """Return its variables with their values, for messages; "" where it says nothing of this job."""
        found = [name for name in self.variables if name in environment]
        return ", ".join(f"{name}={environment[name][:40]!r}" for name in found)

    def number(self, environment: Mapping[str, str]) -> int:
        """Return which part this is, from 1.

        Raises:
            UsageError: a variable is missing or is not a number; or ids have gaps.
        """
        if not self.ids:
            return self.count(self.index, environment) - self.first + 1
        least, most, step, which = (self.count(name, environment) for name in (*self.ids, self.index))
        ids = range(least, most + 1, max(step, 1))
        if which not in ids or len(ids) != self.count(self.total, environment):
            raise UsageError(
                f"--eval-shard=auto: the ids of Slurm's array have gaps ({self.describe(environment)}), "
                "so they do not say which part this is. Write `--array=1-4`, or give the part itself: "
                "`--eval-shard=2/4`."
            )
        return ids.index(which) + 1

    def count(self, name: str, environment: Mapping[str, str]) -> int:
        """Return the number that a variable has.

        Raises:
            UsageError: it is missing, or is not a number.
        """
        text = environment.get(name)
        if text is None:
            told = self.describe(environment)
            raise UsageError(f"--eval-shard=auto: {self.name} has set {told}, and has not set {name}.")
        if not (text.isascii() and text.isdecimal()):
            raise UsageError(f"--eval-shard=auto: {name} of {self.name} is not a number: {text[:40]!r}.")
        return int(text)


_SLURM = "SLURM_ARRAY_TASK_"
ENGINES: tuple[Engine, ...] = (
    Engine(
        *("Slurm", f"{_SLURM}ID", 1, f"{_SLURM}COUNT"), ids=(f"{_SLURM}MIN", f"{_SLURM}MAX", f"{_SLURM}STEP")
    ),
    Engine("Kubernetes", "JOB_COMPLETION_INDEX", 0, ""),
    Engine("GitLab", "CI_NODE_INDEX", 1, "CI_NODE_TOTAL"),
    Engine("CircleCI", "CIRCLE_NODE_INDEX", 0, "CIRCLE_NODE_TOTAL"),
    Engine("Buildkite", "BUILDKITE_PARALLEL_JOB", 0, "BUILDKITE_PARALLEL_JOB_COUNT"),
    Engine("Azure", "SYSTEM_JOBPOSITIONINPHASE", 1, "SYSTEM_TOTALJOBSINPHASE"),
    Engine("GitHub", "EVAL_JOB_INDEX", 0, "EVAL_JOB_TOTAL"),
)
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
    wanted = _read_count(given)
    here = [engine for engine in ENGINES if engine.describe(environment)]
    # Some say in every job that there is one only.
    here = [engine for engine in here if environment.get(engine.total) != "1"] or here
    told = "; ".join(f"{engine.name}: {engine.describe(environment)}" for engine in here)
    if not here:
        told = "There could be " + ", ".join(f"{engine.index} ({engine.name})" for engine in ENGINES)
        raise _refuse(given, "no variable says which part this is", told)
    if len(here) > 1:
        raise _refuse(
            given, f"{len(here)} engines say which part this is, and one of them divides this run", told
        )
    engine = here[0]
    if not engine.total and wanted is None:
        why = (
            f"{engine.name} does not say how many parts there are. Write their number: `--eval-shard=auto/4`"
        )
        raise _refuse(given, why, told)
    of = engine.count(engine.total, environment) if engine.total else wanted or 0
    if of == 1 and wanted is None:
        raise _refuse(given, "one job only was started, which would run all rows. Start several", told)
    if wanted not in (None, of):
        raise _refuse(given, f"another number of jobs was started, so this is none of {wanted} parts", told)
    number = engine.number(environment)
    if not 1 <= number <= of:
        raise _refuse(given, f"there is no part {number} of {of}", told)
    return Shard(number, of), f"{engine.name} ({engine.describe(environment)})"


def _refuse(given: str, why: str, told: str) -> UsageError:
    return UsageError(f"--eval-shard={given}: {why} ({told}). Or give the part yourself: `--eval-shard=1/4`.")


def _read_count(given: str) -> int | None:
    """Return the N of ``auto/N``."""
    word, slash, count = given.partition("/")
    is_count = count.isascii() and count.isdecimal() and int(count) > 1
    if word != AUTO or (slash and not is_count):
        raise UsageError(
            f"--eval-shard={given} is not a part of a run. Write `auto`, `auto/4` where nothing says how "
            "many parts there are, or `1/4`."
        )
    return int(count) if slash else None
