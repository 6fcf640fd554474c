"""A command that is watched while it runs: what it uses and holds between two points of its time."""

from __future__ import annotations

import bisect
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import psutil
from measuring import INSTALLED, control_group, enter, used_by

EVERY_S = 1.0
"""Reading what 60 processes hold takes some 50 ms of a core."""
LIMIT_S = 600.0
OUTPUT = "output.txt"


@dataclass(frozen=True)
class Sample:
    """What a command and all that it has started had used and held at a time."""

    at: float
    """Seconds since the epoch."""
    cpu_s: float
    pss_mib: float
    """Memory, shared pages counted in parts."""
    processes: int


@dataclass(frozen=True)
class Watched:
    """A command that has ended."""

    began: float
    ended: float
    samples: tuple[Sample, ...]

    def cpu_between(self, began: float, ended: float) -> float:
        """Return the CPU seconds of a part of its time."""
        return self._cpu_at(ended) - self._cpu_at(began)

    def _cpu_at(self, when: float) -> float:
        place = bisect.bisect_left(self.samples, when, key=lambda sample: sample.at)
        before, after = (self.samples[min(max(n, 0), len(self.samples) - 1)] for n in (place - 1, place))
        if after.at <= before.at:
            return before.cpu_s
        part = (when - before.at) / (after.at - before.at)
        return before.cpu_s + part * (after.cpu_s - before.cpu_s)

    def held_between(self, began: float, ended: float) -> list[float]:
        """Return the memory at each look within a part of its time, in MiB."""
        return [sample.pss_mib for sample in self.samples if began <= sample.at <= ended]


def watch(command: Sequence[str], cwd: Path, *, env: Mapping[str, str] | None = None) -> Watched:
    """Run a command to its end and look at it every second.

    Raises:
        SystemExit: it failed, so that what it cost says nothing.
    """
    with control_group() as group, (cwd / OUTPUT).open("wb") as output:
        began = time.time()
        process = _start(command, cwd, {**os.environ, **INSTALLED, **(env or {})}, group, output)
        samples = [Sample(began, 0.0, 0.0, 0), *_samples(process, group)]
        ended = time.time()
        if group is not None:
            samples.append(Sample(ended, used_by(group), 0.0, 0))
    if process.returncode:
        text = (cwd / OUTPUT).read_text(errors="replace")
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{text[-3000:]}")
    return Watched(began, ended, tuple(samples))


def _start(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], group: Path | None, output: IO[bytes]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdout=output,
        stderr=subprocess.STDOUT,
        preexec_fn=None if group is None else partial(enter, group),  # noqa: PLW1509 no threads here
    )


def _samples(process: subprocess.Popen[bytes], group: Path | None) -> Iterator[Sample]:
    deadline = time.monotonic() + LIMIT_S
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(EVERY_S)
            return
        if time.monotonic() > deadline:
            for pid in _descendants(process.pid) if group is None else _members(group):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            sys.exit(f"{' '.join(map(str, process.args))} has run for more than {LIMIT_S:g} s")  # type: ignore[arg-type]
        yield _sample(process.pid, group)


def _sample(root: int, group: Path | None) -> Sample:
    pids = _descendants(root) if group is None else _members(group)
    cpu_s = _cpu_of(pids) if group is None else used_by(group)
    return Sample(time.time(), cpu_s, sum(map(_pss_mib, pids)), len(pids))


def _members(group: Path) -> list[int]:
    return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]


def _descendants(root: int) -> list[int]:
    with contextlib.suppress(psutil.Error):
        return [root, *(child.pid for child in psutil.Process(root).children(recursive=True))]
    return []


def _cpu_of(pids: Sequence[int]) -> float:
    used = 0.0
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(pid).cpu_times()
            used += times.user + times.system
    return used


def _pss_mib(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0
