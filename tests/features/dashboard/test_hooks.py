"""``--eval-dashboard`` in real runs: the address, controls over all processes, what is refused."""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_browsereval.features.dashboard.queue import Queue
from tests.features.dashboard.asking import Asker, until
from tests.hooks.launched import FUNCTION, Launched, verdicts, wait_for, write_agent
from tests.hooks.small_evals import Evals, row

AGENT = """
async def solve(context):
    name = begins(context)
    await context.tools.call("wait", {"seconds": 0.01})
    home = pathlib.Path(str(context.base_dir))
    while not any((home / flag).exists() for flag in (f"go{name}", "go-all")):
        await asyncio.sleep(0.02)
    if name.startswith("breaks"):
        raise RuntimeError("no")
    return "right"
"""
"""Each attempt waits until the test lets it go on."""

PLACES = pytest.mark.parametrize(
    "args", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=["lanes", "workers"]
)


@contextmanager
def watched(evals: Evals, *args: str) -> Iterator[tuple[Launched, Asker]]:
    """Launch a run with a dashboard; yield it with somebody who has the address."""
    launched = Launched(evals, *args, "--eval-dashboard")
    try:
        found: list[str] = []

        def is_told() -> bool:
            found[:] = re.findall(r"dashboard: (http://\S+)\n", launched.output)
            return bool(found) or launched.process.poll() is not None

        wait_for(is_told, "the address is printed")
        assert found, launched.output
        yield launched, Asker.of(found[0])
    finally:
        launched.kill()


def go(evals: Evals, name: str = "-all") -> None:
    (evals.path / f"go{name}").touch()


def begun(evals: Evals, *names: str) -> Callable[[], bool]:
    return lambda: all((evals.path / f"{name}.begun").exists() for name in names)


def finished(evals: Evals, name: str) -> Callable[[], list[Path]]:
    return lambda: list(evals.path.glob(f"results/shop/*/tasks/{name}/*/*/*/metadata.json"))


@PLACES
@pytest.mark.slow
def test_stop_after_this(evals: Evals, args: tuple[str, ...]) -> None:
    """What is in flight is finished, the rest is skipped and the run not green; it can be resumed."""
    write_agent(evals, AGENT)
    names = "abcdefgh"
    evals.write((row(name) for name in names), agent=FUNCTION, lanes=2)
    flying = "abcd" if args else "ab"
    with watched(evals, "shop.eval.yaml", "-rs", *args) as (launched, asker):
        wait_for(begun(evals, *flying), "all lanes are busy")
        assert asker.want("stop") == 200
        go(evals)
        assert launched.wait() == pytest.ExitCode.TESTS_FAILED, launched.output
    rest = len(names) - len(flying)
    assert f"{len(flying)} passed, {rest} skipped" in launched.output
    assert f"not run, since they were cancelled in the dashboard: {rest} of 8 trials:" in launched.output
    assert "dashboard: the run was stopped there" in launched.output
    assert verdicts(evals.summary()) == dict.fromkeys(flying, "passed")
    assert (evals.summary()["called_off"], evals.summary()["skipped"]) == (rest, 0)
    launched.assert_nothing_left()
    again = evals.run("shop.eval.yaml", "--eval-resume", "--eval-dashboard")
    again.assert_outcomes(passed=8)


@PLACES
@pytest.mark.slow
def test_a_pause_holds_tasks_back(evals: Evals, args: tuple[str, ...]) -> None:
    """Although a lane is free, however long; what is in flight goes on meanwhile."""
    write_agent(evals, AGENT)
    evals.write((row(name) for name in "abcdef"), agent=FUNCTION, lanes=1, limits={"timeout_ms": 60_000})
    flying, later = ("ab", "cdef") if args else ("a", "bcdef")
    with watched(evals, "shop.eval.yaml", *args) as (launched, asker):
        wait_for(begun(evals, *flying), "all lanes are busy")
        assert asker.want("pause") == 200
        for name in flying:
            go(evals, name)
        for name in flying:
            wait_for(finished(evals, name), "what was in flight is finished")
        data = asker.data()["live"]
        assert data["states"]["control"] == {"paused": True, "stopped": False}
        assert not any(begun(evals, name)() for name in later)
        go(evals)
        assert asker.want("resume") == 200
        assert launched.wait() == pytest.ExitCode.OK, launched.output
    assert verdicts(evals.summary()) == dict.fromkeys([*flying, *later], "passed")


@PLACES
@pytest.mark.slow
def test_the_news_of_a_run(evals: Evals, args: tuple[str, ...]) -> None:
    """Each verdict, the queue, the workers, and the exit code at the end."""
    write_agent(evals, AGENT)
    evals.write([row("a"), row("b", answer="other"), row("c"), row("d")], agent=FUNCTION, lanes=2)
    with watched(evals, "shop.eval.yaml", *args) as (launched, asker):
        wait_for(begun(evals, "a", "b"), "attempts are in flight")
        data = asker.data()
        flights = data["live"]["states"]["lanes"]
        assert flights["workers"] == (["gw0", "gw1"] if args else ["main"])
        assert {one["key"].partition("/")[0] for one in flights["flights"]} >= {"a", "b"}
        news = asker.listen(data["live"]["last"])
        go(evals)
        told = until(news, lambda one: one.kind == "end" and one.data["exit_code"] is not None)
        assert launched.wait() == 1, launched.output
    assert told[-1].data["exit_code"] == 1
    rows = {one["id"]: one["verdict"] for news in told if news.kind == "rows" for one in news.data}
    assert rows == {"a": "passed", "b": "failed", "c": "passed", "d": "passed"}
    queue = [one.data for one in told if one.kind == "queue"][-1]
    assert (queue["trials"], queue["over"], queue["waiting"]) == (4, 4, 0)


@pytest.mark.slow
def test_a_run_that_is_interrupted_says_so(evals: Evals) -> None:
    """Ctrl-C: pages are told before the server goes."""
    write_agent(evals, AGENT)
    evals.write([row("a")], agent=FUNCTION)
    with watched(evals, "shop.eval.yaml") as (launched, asker):
        wait_for(begun(evals, "a"), "it is in flight")
        news = asker.listen(asker.data()["live"]["last"])
        launched.send(signal.SIGINT)
        told = until(news, lambda one: one.kind == "end" and one.data["exit_code"] is not None)
        assert told[-1].data["exit_code"] == 2
        assert launched.wait() == 2
    launched.assert_nothing_left()


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> list[Queue]:
    """Return the queues of the runs of sessions that have ended."""
    ended: list[Queue] = []
    end = Queue.end

    def note(queue: Queue, exit_code: int) -> None:
        ended.append(queue)
        end(queue, exit_code)

    monkeypatch.setattr(Queue, "end", note)
    return ended


def test_nobody_looks(evals: Evals, queues: list[Queue]) -> None:
    """The address is printed as well."""
    result = evals.play([row("a")], "--eval-dashboard", "-q", "-s")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["dashboard: http://127.0.0.1:*/*/"])
    (queue,) = queues
    assert [(one.key.query_id, one.is_over, one.why) for one in queue.trials.values()] == [("a", True, "")]
    assert queue.exit_code == 0
    assert not (evals.run_folder() / "control.json").exists()


def test_tests_by_hand_have_the_address(evals: Evals) -> None:
    """No row of an eval waits then, and the page shows what is in flight."""
    evals.write([row("a")])
    test = "async def test_it(eval_task, run_eval):\n    await run_eval(eval_task)\n"
    mark = "import pytest\n@pytest.mark.browsereval(config='shop.eval.yaml')\n"
    (evals.path / "test_it.py").write_text(mark + test)
    result = evals.run("test_it.py", "--eval-dashboard=0")
    assert result.ret == 0
    assert str(result.stdout).count("dashboard: http://127.0.0.1:") == 1


HELD = """
import pathlib, time, pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol():
    while not pathlib.Path("go-all").exists():
        time.sleep(0.02)
"""


BREAKS = """
import os, pytest

@pytest.fixture(scope="session", autouse=True)
def login():
    raise RuntimeError("refused for " + os.environ["SHOP_KEY"])
"""


@pytest.mark.slow
def test_what_is_not_graded_again_keeps_its_grades(evals: Evals) -> None:
    """To stop is no fault of a trial; what is told goes on with the grading, not with the run."""
    evals.play([row("a"), row("b")])
    evals.pytester.makeconftest(HELD)
    with watched(evals, "shop.eval.yaml", "--eval-regrade=latest") as (launched, asker):
        wait_for(lambda: asker.want("stop") == 200, "the eval is known")
        go(evals)
        assert launched.wait() == pytest.ExitCode.TESTS_FAILED, launched.output
    told = "not regraded, since they were cancelled in the dashboard: 2 of 2 trials:"
    assert told in launched.output
    assert "Regrade the rest with" in launched.output
    assert f"--eval-regrade={evals.run_folder().name}" in launched.output
    assert verdicts(evals.summary()) == {"a": "passed", "b": "passed"}


def test_secrets_are_not_in_the_queue(
    evals: Evals, queues: list[Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that holds one is redacted, and so is one that a fixture names in its error."""
    monkeypatch.setenv("SHOP_KEY", "hush-hush-0123456789")
    evals.write_rows(row("a", query="Say hush-hush-0123456789."))
    model = {"provider": "openai-compatible", "model": "m", "base_url": "http://x.test"}
    evals.write_config(judge={**model, "api_key": "SHOP_KEY"})
    assert evals.run("shop.eval.yaml", "--eval-dashboard").ret == 0
    evals.pytester.makeconftest(BREAKS)
    evals.run("shop.eval.yaml", "--eval-dashboard").assert_outcomes(errors=1)
    sound, broken = (one for queue in queues for one in queue.trials.values())
    assert sound.query == "Say [redacted]."
    assert broken.why.startswith("broke before its attempt: RuntimeError: refused for")
    assert "hush-hush" not in broken.why


def test_a_port_that_cannot_be_used(evals: Evals) -> None:
    """Taken, or a file that was taken for one: exit code 4, and nothing is spent."""
    evals.write([row("a")])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = evals.run("shop.eval.yaml", f"--eval-dashboard={port}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"--eval-dashboard={port}: the port cannot be used" in result.stderr.str() + result.stdout.str()
    for words, said in (
        (["--eval-dashboard=70000", "shop.eval.yaml"], "'70000' is not a port"),
        (["--eval-dashboard", "shop.eval.yaml"], "is not a port. Write `--eval-dashboard=PORT`"),
    ):
        result = evals.run(*words)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert said in result.stderr.str() + result.stdout.str()
    assert not (evals.path / "results").exists()
