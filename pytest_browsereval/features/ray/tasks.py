"""Tasks of Ray: each runs a part; Ray starts those again whose node or worker has died."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.ray.request import Request
from pytest_browsereval.features.shared.processes import attach_command
from pytest_browsereval.model.display import one_line
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.temporary import own_folder

STORE_BYTES = 80 << 20
"""Of the object store: parts give back a few lines. Ray wants 75 MiB at least."""
RETRIES = 3
"""How many times a part is started again whose node or worker has died."""
POLL_S, END_S = 1.0, 30.0
"""How often we look for parts that have ended, and how long parts that are ended may take."""
GRACE_S = 15.0
"""How long pytest may take to write what it has when it is asked to end."""
TAIL, LONGEST = 20, 2_000
"""Lines of pytest's output that come back, and characters of each: the last ones say why it ended."""
KILLED = 128
"""Exit codes from here on are those of a child that a signal has ended."""


@dataclass(frozen=True)
class PartResult:
    """What has become of a part."""

    code: int | None
    """Pytest's exit code; None if nobody knows it."""
    tail: tuple[str, ...] = ()
    """The last lines of pytest, or why there is no result."""
    trials: int = 0
    passed: int = 0

    def __str__(self) -> str:
        if self.code is None:
            return "no result"
        return f"exit code {self.code}, {self.passed:,} of {self.trials:,} trials passed"


class PartKilled(Exception):
    """A signal has ended pytest, for want of memory for example: Ray starts the part again."""


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Start a cluster on this machine, or join one.

    Args:
        address: of a cluster; None for one that ends with this process.

    Raises:
        UsageError: there is no cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of its next version
    import ray

    where: dict[str, Any] = {"address": address}
    if address is None:
        where = {"address": "local", "include_dashboard": False, "object_store_memory": STORE_BYTES}
    try:
        ray.init(**where, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        place = "on this machine" if address is None else f"at {address}"
        raise UsageError(f"there is no Ray cluster {place}: {one_line(str(error), 500)}") from None
    try:
        with _handling(_interrupt):  # Ray has set handlers of its own
            yield
    finally:
        with _handling(signal.SIG_IGN, signal.SIGINT):  # else something would be left
            ray.shutdown()


def run_parts(request: Request, numbers: Collection[int], cpus: int) -> dict[int, PartResult]:
    """Run parts until all have ended, and return what has become of them.

    Args:
        request: the run.
        numbers: the parts.
        cpus: what each takes.

    Raises:
        KeyboardInterrupt: the command is interrupted; all parts are ended by then.
    """
    import ray

    work = ray.remote(num_cpus=cpus, max_retries=RETRIES, retry_exceptions=[PartKilled])(run_part)
    given = ray.put(request)  # once, and not in the log that Ray keeps of tasks
    results, refs = dict[int, PartResult](), {work.remote(given, number): number for number in numbers}
    left = dict(refs)
    try:
        while left:
            for ref in ray.wait(list(left), num_returns=len(left), timeout=POLL_S)[0]:
                number = left.pop(ref)
                try:
                    results[number] = ray.get(ref)
                except ray.exceptions.RayError as error:
                    results[number] = PartResult(None, (_describe_failure(error),))
                count = f"{request.of - len(left)} of {request.of} parts have ended"
                sys.stdout.write(f"part {number}: {results[number]} ({count})\n")
                sys.stdout.flush()
    except ray.exceptions.RayError as error:  # the cluster is gone, or what of it is on this machine
        results |= dict.fromkeys(left.values(), PartResult(None, (_describe_failure(error),)))
    except KeyboardInterrupt:
        with _handling(signal.SIG_IGN, signal.SIGINT):
            for ref in refs:
                ray.cancel(ref, force=True)
            ray.wait(list(refs), num_returns=len(refs), timeout=END_S)
        raise
    return results


def _describe_failure(error: Exception) -> str:
    cause = getattr(error, "cause", None)
    text = str(cause if isinstance(cause, PartKilled) else error).strip()
    return one_line(f"{type(error).__name__}: {text.partition(chr(10))[0]}", 300)


@contextmanager
def _handling(handler: Any, *more: int) -> Iterator[None]:
    """Have SIGTERM, a closed terminal and other signals handled in another way."""
    numbers = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM), *more}
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, one in before.items():
            signal.signal(number, one)


def _interrupt(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt(signal.Signals(number).name)


# -- on a node


def run_part(request: Request, number: int) -> PartResult:
    """Run a part to its end: pytest as a child process that ends with its parent.

    Raises:
        PartKilled: a signal has ended pytest.
    """
    # In the folder of this process, which the next session on this node removes if we are killed.
    home = Path(tempfile.mkdtemp(prefix="part-", dir=own_folder()))
    log = home / "pytest.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 ourselves
            attach_command([sys.executable, "-m", "pytest", *request.arguments(number, home)], GRACE_S),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=request.folder,
            env={**os.environ, **request.environment},
            start_new_session=True,
        )
    try:
        code = process.wait()
    finally:
        process.terminate()  # it may be us who leave
        process.wait()
    result = sum_up(code, home, log.read_text(errors="replace"))
    shutil.rmtree(home, ignore_errors=True)
    if code < 0 or code > KILLED:
        name = signal.Signals(code - KILLED if code > 0 else -code).name
        raise PartKilled(f"pytest was ended by {name}")  # Ray prints it as it is: no text of a page
    return result


def sum_up(code: int, home: Path, printed: str) -> PartResult:
    """Return what has become of a part; a run that could not be sent whole is kept on the node.

    Args:
        code: pytest's exit code.
        home: the folder of its runs, which is removed.
        printed: what pytest has said.
    """
    run = next((file.parent for file in home.glob("*/*/manifest.json")), None)
    lines, summary = printed.splitlines(), dict[str, Any]()
    tail = [redact_known(line)[:LONGEST] for line in lines[-TAIL:]]
    if run is not None:
        with suppress(OSError, ValueError):
            summary = dict(json.loads((run / "summary.json").read_bytes()))
        if not any(line.startswith("sent to ") for line in lines) and 0 <= code <= KILLED:
            kept = Path(tempfile.mkdtemp(prefix="browsereval-part-")) / run.name
            tail.append(f"its run folder is still on the node: {shutil.move(run, kept)}")
    return PartResult(code, tuple(tail), int(summary.get("trials", 0)), int(summary.get("passed", 0)))
