"""One part of a run on a node: pytest as a child that ends with whoever has started it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from pytest_browsereval.analysis.summary import RunSummary, summary_of
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.ray.request import Request
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.processes import attach_command
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.temporary import own_folder

GRACE_S = 15.0
"""How long pytest may take to write what it has when it is asked to end."""
TAIL = 30
"""Lines of pytest's output that come back: the last ones say why there is nothing to merge."""
LONGEST = 2_000
"""Characters of such a line."""
POLL_S = 1.0
"""How often a part says how far it is."""
SENT = "sent to "
"""How the line of a run begins whose files are all at the URL."""
KILLED = 128
"""Exit codes from here on are those of a child that a signal has ended."""


@dataclass(frozen=True)
class PartState:
    """How far a part is."""

    trials: int = 0
    passed: int = 0
    judged: int = 0
    cost_usd: float = 0.0
    is_cost_known: bool = True


@dataclass(frozen=True)
class PartResult:
    """What has become of a part."""

    number: int
    code: int
    """Pytest's exit code."""
    tail: tuple[str, ...] = ()
    state: PartState = PartState()
    stopped: str = ""
    """Why trials were not run; "" if all were."""
    folder: str = ""
    """The run folder on the node where the run could not be sent whole; "" else."""


class PartKilled(Exception):
    """A signal has ended pytest, for want of memory for example: Ray starts the part again."""


def run_part(request: Request, number: int, report: Callable[[PartState], None]) -> PartResult:
    """Run a part to its end.

    Args:
        request: the run.
        number: of the part.
        report: called each second with how far it is. What it raises ends pytest.

    Raises:
        PartKilled: a signal has ended pytest.
    """
    # In the folder of this process, which the next session on this node removes if we are killed.
    home = Path(tempfile.mkdtemp(prefix="part-", dir=own_folder()))
    command = [sys.executable, "-m", "pytest", *request.arguments(number, home)]
    output = _Output()
    process = subprocess.Popen(  # noqa: S603 ourselves
        attach_command(command, GRACE_S),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=request.folder,
        env={**os.environ, **request.environment},
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 it is a pipe
    reading = threading.Thread(target=output.read, args=(process.stdout,), daemon=True)
    reading.start()
    try:
        code = _wait(process, lambda: report(read_state(home)))
    finally:
        process.terminate()  # it may be us who leave
        process.wait()
    reading.join(GRACE_S)
    if code < 0 or code > KILLED:
        shutil.rmtree(home, ignore_errors=True)
        name = signal.Signals(code - KILLED if code > 0 else -code).name
        raise PartKilled(f"pytest was ended by {name}")  # Ray prints it as it is: no text of a page
    result = PartResult(number, code, tuple(output.tail), read_state(home), _find_stop(home))
    if output.is_sent or (code in (0, 1, 5) and not result.stopped):
        shutil.rmtree(home, ignore_errors=True)
        return result
    if (run := _find_run(home)) is None:
        return result
    kept = Path(tempfile.mkdtemp(prefix="browsereval-part-")) / run.name
    return replace(result, folder=str(shutil.move(run, kept)))


def _wait(process: subprocess.Popen[str], report: Callable[[], None]) -> int:
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(POLL_S)
        report()


class _Output:
    """What pytest prints."""

    def __init__(self) -> None:
        self.tail: deque[str] = deque(maxlen=TAIL)
        self.is_sent = False
        """Whether all that there is of the run is at the URL, done or not."""

    def read(self, stream: IO[str]) -> None:
        """Read to the end."""
        with suppress(ValueError), stream:  # closed, as all ends
            for line in stream:
                self.is_sent |= line.startswith(SENT)
                self.tail.append(redact_known(line.rstrip("\n"))[:LONGEST])


def _find_run(home: Path) -> Path | None:
    return next((file.parent for file in home.glob("*/*/manifest.json")), None)


def read_state(home: Path) -> PartState:
    """Return how far the run in a results folder is; a file that is being written is left out."""
    run = _find_run(home)
    if run is not None:
        with suppress(UsageError, OSError):
            return state_of(summary_of(RunStore(run)))
    return PartState()


def state_of(summary: RunSummary) -> PartState:
    """Return how far a run is."""
    costs = [trial.cost_usd for trial in summary.trials]
    return PartState(
        len(summary.trials),
        sum(trial.metadata.verdict is Verdict.PASSED for trial in summary.trials),
        sum(trial.metadata.verdict is not Verdict.ERRORED for trial in summary.trials),
        sum(cost for cost in costs if cost is not None),
        None not in costs,
    )


def _find_stop(home: Path) -> str:
    """Return why trials of the run were not made, by what its session has written down."""
    run = _find_run(home)
    if run is None:
        return ""
    content: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        content = dict(json.loads((run / "summary.json").read_bytes()))
    if content.get("over_budget"):
        return BUDGET
    return "trials have no result" if content.get("not_run") else ""


BUDGET = "the budget is used up"
