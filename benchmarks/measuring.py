"""What the benchmarks share: CPU of a command and all that it starts, medians, and the record."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

CGROUPS = Path("/sys/fs/cgroup")
USAGE_FILES = {"cpuacct.usage": 1e-9, "cpu.stat": 1e-6}
"""Where version 1 and version 2 say what was used, and the unit in seconds."""

GROUP = "BENCHMARK_GROUP"
"""The variable that names the control group of a measuring process."""

Measure = Callable[[int, Callable[[], float]], Coroutine[Any, Any, dict[str, Any]]]
"""Gets how many rounds there are to be, and what returns the seconds of CPU so far; returns what it finds."""


@dataclass(frozen=True)
class Cost:
    """What a command has cost."""

    cpu_s: float
    wall_s: float
    peak_mib: float = 0.0
    """The most resident memory of one of its processes."""


INSTALLED = {"PYTHONDONTWRITEBYTECODE": ""}
"""What is installed has its bytecode; with that switched off, each start would compile the plug-in."""


def cost_of(
    command: Sequence[str], cwd: Path, *, env: Mapping[str, str] | None = None, in_group: bool = False
) -> Cost:
    """Run a command and return its cost.

    Args:
        command: program and arguments.
        cwd: where it runs.
        env: variables on top of this process's.
        in_group: count every process that it starts, also those that nobody waits for (browsers have
            such), by a control group of its own. Without the right to make one, they are left out.
    """
    with control_group() if in_group else contextlib.nullcontext() as group:
        reader, writer = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(writer), str(group or ""), *command],
            cwd=cwd,
            env={**os.environ, **INSTALLED, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=(writer,),
        )
        os.close(writer)
        output = process.communicate()[0]
        with os.fdopen(reader) as file:
            code, cpu_s, wall_s, peak = map(float, (file.read() or "-1 0 0 0").split())
        if code:
            sys.exit(f"{' '.join(command)} ended with {code:.0f}:\n{output[-3000:]}")
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return Cost(cpu_s if group is None else used_by(group), wall_s, peak / unit)


_LAUNCHER = """
import os, subprocess, sys, time
pipe, group = int(sys.argv[1]), sys.argv[2]
def enter():
    if group:
        with open(group + "/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))
started = time.perf_counter()
process = subprocess.Popen(sys.argv[3:], preexec_fn=enter)
_, status, usage = os.wait4(process.pid, 0)
wall_s = time.perf_counter() - started
code = process.returncode = os.waitstatus_to_exitcode(status)
os.write(pipe, f"{code} {usage.ru_utime + usage.ru_stime} {wall_s} {usage.ru_maxrss}".encode())
"""
"""Starts a command from a small process: the peak of memory that is counted has that of the starter in it."""


@contextlib.contextmanager
def control_group() -> Iterator[Path | None]:
    """Yield a group that a command can be put into, to count all that it starts; None without the right."""
    root = CGROUPS / "cpuacct" if (CGROUPS / "cpuacct").is_dir() else CGROUPS
    group = root / f"benchmark-{os.getpid()}-{time.monotonic_ns()}"
    try:
        group.mkdir()
    except OSError:
        print("No control group can be made: browser processes that nobody waits for are left out.")
        yield None
        return
    try:
        yield group
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)  # its last processes are ending


def enter(group: Path) -> None:
    """Have this process belong to a group, and all that it starts."""
    (group / "cgroup.procs").write_text(str(os.getpid()))


def used_by(group: Path) -> float:
    """Return the CPU seconds that a group has used so far."""
    for name, unit in USAGE_FILES.items():
        with contextlib.suppress(OSError):
            return int((group / name).read_text().replace("usage_usec", "").split()[0]) * unit
    raise SystemExit(f"{group} does not say what was used")


def measure_apart(purpose: str, rounds: int, measure: Measure) -> tuple[dict[str, Any] | None, Path | None]:
    """Measure in a process of its own, whose control group has the browser as well.

    Args:
        purpose: of the benchmark, for its help.
        rounds: how many there are by default.
        measure: does it.

    Returns:
        What it found, and where the figures are to go; None in the process that measures.
    """
    parser = arguments(purpose, rounds=rounds)
    parser.add_argument("--inner", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inner:
        made = asyncio.run(measure(options.rounds, partial(used_by, Path(os.environ[GROUP]))))
        options.inner.write_text(json.dumps(made), encoding="utf-8")
        return None, None
    with tempfile.TemporaryDirectory() as name, control_group() as group:
        if group is None:
            sys.exit("The CPU of a browser's processes cannot be told from others without one: run as root.")
        file = Path(name) / "found.json"
        command = [sys.executable, sys.argv[0], "--rounds", str(options.rounds), "--inner", str(file)]
        environment = {**os.environ, GROUP: str(group)}
        subprocess.run(command, env=environment, preexec_fn=partial(enter, group), check=True)
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found, options.json


def median(values: Sequence[float]) -> float:
    """Return the median, rounded to the digits that differ."""
    return round(statistics.median(values), 4)


def _times() -> tuple[int, int]:
    """Return the ticks of all cores so far, and those that the host gave to others; zeros without Linux."""
    with contextlib.suppress(OSError, ValueError):
        ticks = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(ticks), ticks[7]
    return 0, 0


_AT_START = _times()


def stolen() -> float | None:
    """Return the share of time since the start that a virtual machine's host gave to others; None: not known.

    With more than a few hundredths, figures of rounds that lie apart cannot be compared.
    """
    (ticks, taken), (before, taken_before) = _times(), _AT_START
    return round((taken - taken_before) / (ticks - before), 3) if ticks > before else None


def machine() -> dict[str, Any]:
    """Describe where the figures come from, and how busy it is with other things."""
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    python = platform.python_version()
    place = {"cpu": cpu, "cores": os.cpu_count(), "system": platform.system(), "python": python}
    return {**place, "load": load, "stolen": stolen()}


def arguments(purpose: str, rounds: int, *, is_compared: bool = False) -> argparse.ArgumentParser:
    """Return a parser with what every benchmark takes.

    Args:
        purpose: of the benchmark.
        rounds: how often its variants take turns by default.
        is_compared: whether an earlier version can be measured beside this one: ``versions``.
    """
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--rounds", type=int, default=rounds, help="how often all variants take turns")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    if is_compared:
        help_ = "a checkout of an earlier version, measured beside this one"
        parser.add_argument("--before", type=Path, metavar="FOLDER", help=help_)
    return parser


def versions(before: Path | None) -> dict[str, dict[str, str]]:
    """Return the variables by which a process takes this version of the package, and an earlier one.

    Args:
        before: a checkout of the earlier one, such as ``git worktree add`` makes; None for this one only.
    """
    found = {} if before is None else {"before": {"PYTHONPATH": str(before.resolve())}}
    return {**found, "now": {}}


def report(figures: dict[str, Any], file: Path | None) -> None:
    """Print the figures, and write them with the machine's description."""
    record = {"machine": machine(), **figures}
    print(json.dumps({name: value for name, value in record.items() if name != "rounds"}, indent=1))
    if file is not None:
        file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
