"""Tasks of Ray: each runs a part; Ray starts those again whose node or worker has died."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.ray.part import BUDGET, PartKilled, PartResult, PartState, run_part
from pytest_browsereval.features.ray.progress import Progress
from pytest_browsereval.model.display import one_line

if TYPE_CHECKING:
    from pytest_browsereval.features.ray.request import Request

NOT_COPIED = (".git", ".venv", "node_modules", "__pycache__")
STORE_BYTES = 80 << 20
"""Of the object store: parts give back a few lines. Ray wants 75 MiB at least."""
POLL_S = 1.0
END_S = 30.0
"""How long tasks that are ended may take to be gone."""


@dataclass(frozen=True)
class Resources:
    """What a part takes."""

    cpus: float
    retries: int
    """How often a part is started again whose node or worker has died."""


@dataclass
class Ended:
    """What has become of the parts that were started."""

    results: dict[int, PartResult] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    """Why parts have no result."""
    not_begun: set[int] = field(default_factory=set)
    """Parts that were not begun since the budget is used up."""
    is_interrupted: bool = False


class Board:
    """An actor on the driver's node that knows how far each part is, and whether another one may begin."""

    def __init__(self) -> None:
        self._states: dict[int, PartState] = {}
        self._is_stopped = False

    def begin(self, number: int) -> bool:
        """Return whether a part may begin; one that a dead node has begun begins anew."""
        if self._is_stopped:
            return False
        self._states[number] = PartState()
        return True

    def put(self, number: int, state: PartState) -> None:
        """Note how far a part is."""
        self._states[number] = state

    def stop(self) -> None:
        """Have no part begin any more."""
        self._is_stopped = True

    def read(self) -> tuple[dict[int, PartState], set[int]]:
        """Return how far the parts are, and which have begun."""
        return self._states, set(self._states)


def check_installed() -> None:
    """Refuse to go on without Ray.

    Raises:
        UsageError: it is not installed.
    """
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise UsageError("this command needs an extra. Run `pip install 'pytest-browsereval[ray]'`")


@contextmanager
def connected(address: str | None, folder: Path | None, results: Path) -> Iterator[None]:
    """Start a cluster on this machine, or join one.

    Args:
        address: of a cluster; None for one that ends with this process.
        folder: what Ray copies to all nodes; None for nothing.
        results: the folder of runs, which is not copied.

    Raises:
        UsageError: there is no cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of its next version
    import ray

    own = {"address": "local", "include_dashboard": False, "object_store_memory": STORE_BYTES}
    copied: dict[str, Any] = {}
    if folder is not None:
        inside = [f"/{results.relative_to(folder).as_posix()}"] if results.is_relative_to(folder) else []
        copied = {"working_dir": str(folder), "excludes": [*NOT_COPIED, *inside]}
    try:
        ray.init(
            **(own if address is None else {"address": address}),
            runtime_env=copied or None,
            log_to_driver=False,
            logging_level="ERROR",
        )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "on this machine" if address is None else f"at {address}"
        raise UsageError(f"there is no cluster of Ray {where}: {one_line(str(error), 500)}") from None
    try:
        yield
    finally:
        with _no_signals():
            ray.shutdown()


def _count_nodes() -> int:
    import ray

    return sum(bool(node["Alive"]) for node in ray.nodes())


def _on_node(node_id: str, *, is_bound: bool = True) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node_id, soft=not is_bound)


def ask_nodes(question: Callable[[Sequence[str]], str], given: Sequence[str]) -> dict[str, list[str]]:
    """Return what each node answers to a question, and the addresses of the nodes with that answer.

    Args:
        question: a function that nodes can import.
        given: what it is called with.
    """
    import ray

    ask = ray.remote(num_cpus=0, max_retries=0)(question)
    nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
    asked = {name: ask.options(scheduling_strategy=_on_node(name)).remote(list(given)) for name in nodes}
    found: dict[str, list[str]] = {}
    for name, ref in asked.items():
        try:
            answer = str(ray.get(ref))
        except ray.exceptions.RayError as error:
            answer = describe_failure(error)
        found.setdefault(answer, []).append(str(nodes[name]))
    return found


def _wait_for(ref: Any) -> Any:
    """Return what a call of another process gives back.

    Not in the main thread: while that waits, Ray gives its core to the next part, and then both run on it.
    """
    import ray

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(ray.get, ref).result()


def _work(request: Request, number: int, board: Any) -> PartResult | None:
    """Run a part on a node; None if it is not to begin."""
    if not _wait_for(board.begin.remote(number)):
        return None
    result = run_part(request, number, lambda state: _wait_for(board.put.remote(number, state)))
    if result.stopped == BUDGET:  # before this worker takes the next part
        _wait_for(board.stop.remote())
    return result


def _start_board() -> Any:
    """Start the board; one that is killed is started again, and learns of the parts as they go on."""
    import ray

    own = ray.get_runtime_context().get_node_id()
    board = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Board)
    return board.options(scheduling_strategy=_on_node(own, is_bound=False)).remote()


def run_parts(request: Request, numbers: Collection[int], resources: Resources, progress: Progress) -> Ended:
    """Run parts until all have ended, or until somebody ends it: then nothing goes on anywhere.

    Args:
        request: the run.
        numbers: the parts.
        resources: of each.
        progress: says how far they are.
    """
    import ray

    board = _start_board()
    work = ray.remote(num_cpus=resources.cpus, max_retries=resources.retries, retry_exceptions=[PartKilled])(
        _work
    )
    given = ray.put(request)  # once, and not in the log that Ray keeps of tasks
    ended, refs = Ended(), {}
    try:
        with ending_signals(), progress.others():
            refs = {work.remote(given, number, board): number for number in numbers}
            _follow(refs, board, ended, progress, request.of - len(numbers))
    except ray.exceptions.RayError as error:  # the cluster is gone, or what of it is on this machine
        why = describe_failure(error)
        progress.note(why)
        known = ended.results.keys() | ended.not_begun
        ended.failures = {number: why for number in numbers if number not in known} | ended.failures
    except KeyboardInterrupt:
        ended.is_interrupted = True
        with _no_signals():
            for ref in refs:
                ray.cancel(ref, force=True)
            ray.wait(list(refs), num_returns=len(refs), timeout=END_S)
    return ended


def _follow(refs: dict[Any, int], board: Any, ended: Ended, progress: Progress, before: int) -> None:
    import ray

    done = before
    while refs:
        ready, _ = ray.wait(list(refs), num_returns=len(refs), timeout=POLL_S)
        for ref in ready:
            number = refs.pop(ref)
            done += 1
            _take(ref, number, ended, progress)
        states, begun = ray.get(board.read.remote())
        # A result is newer than what the part has said of itself last.
        states = {**states, **{number: result.state for number, result in ended.results.items()}}
        progress.show(states, done, len(begun & set(refs.values())), _count_nodes())


def _take(ref: Any, number: int, ended: Ended, progress: Progress) -> None:
    import ray

    try:
        result = ray.get(ref)
    except ray.exceptions.RayError as error:
        ended.failures[number] = describe_failure(error)
        progress.note(f"part {number}: {ended.failures[number]}")
        return
    if result is None:
        ended.not_begun.add(number)
        return
    ended.results[number] = result
    if result.stopped:  # another exit code may be that of a try that was taken over: the bucket tells
        progress.note(f"part {number}: {result.stopped}")


def describe_failure(error: Exception) -> str:
    """Return why a task has no result, in one line."""
    cause = getattr(error, "cause", None)
    text = str(cause if isinstance(cause, PartKilled) else error).strip()
    return one_line(f"{type(error).__name__}: {text.splitlines()[0] if text else ''}", 300)


# -- ends


@contextmanager
def ending_signals() -> Iterator[None]:
    """Have SIGTERM and a closed terminal end all as Ctrl-C does: Ray has a handler of its own."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _no_signals() -> Iterator[None]:
    """Ignore further ones while all is ended: else something would be left."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    raise KeyboardInterrupt(signal.Signals(number).name)
