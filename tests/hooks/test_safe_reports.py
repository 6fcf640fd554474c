"""Whole runs: what pytest itself shows of rows, and of the tests beside them, has no secrets."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

KEY = "AzCANARYAPIKEYq7w9"
PARTS = [KEY[place : place + 6] for place in range(len(KEY) - 5)]

AGENT = """
import asyncio, logging, os, subprocess, sys, threading, warnings

KEY = os.environ["SHOP_KEY"]

class Dying:
    def __del__(self):
        raise ValueError("dying " + KEY)

def fail():
    raise ValueError("thread " + KEY)

async def solve(context):
    match context.task.query_id:
        case "child":
            command = "import os, sys; sys.stderr.write('child ' + os.environ['SHOP_KEY'])"
            subprocess.run([sys.executable, "-c", command])
            os.write(1, b"descriptor " + KEY.encode())
        case "warning":
            warnings.warn("warned of " + KEY)
        case "thread":
            thread = threading.Thread(target=fail)
            thread.start()
            thread.join()
        case "dying":
            Dying()
        case "print":
            print("printed", KEY)
            logging.getLogger("shop").warning("logged " + KEY)
    return "wrong"
"""
RAISING_HOOK = """
import os

def pytest_browsereval_task_done():
    raise RuntimeError("done " + os.environ["SHOP_KEY"])
"""
FIXTURE = """
import os, pytest

@pytest.fixture(autouse=True)
def shop(record_property):
    local = os.environ["SHOP_KEY"]
    record_property("shop", local)
    cut = "x" * {pad} + local + "y" * 300
    {before}
    yield
    raise RuntimeError("torn down " + local)
"""
SUMMARY = """
import os

def pytest_browsereval_run_summary():
    print("summed up", os.environ["SHOP_KEY"])
    {more}
"""


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)


def write(evals: Evals, *names: str, conftest: str = "") -> None:
    (evals.path / "my_agent.py").write_text(AGENT)
    (evals.path / "conftest.py").write_text(conftest)
    function = {"type": "function", "function": "my_agent:solve", "options": {"api_key": "${SHOP_KEY}"}}
    evals.write((row(name, says=None) for name in names), agent=function)


def shown(evals: Evals, *options: str) -> str:
    """Return all that a run shows or leaves but files of the user."""
    reports = ("--junit-xml=out/junit.xml", "--html=out/report.html", "-o", "junit_logging=all")
    given = ("-vv", "--tb=long", "--showlocals", "-p", "no:cacheprovider")
    run = evals.run("shop.eval.yaml", *given, *reports, *options)
    folders = (evals.path / "out", evals.path / "results")
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    texts = [path.read_text(errors="replace") for path in files]
    return "\n".join([run.stdout.str(), run.stderr.str(), *texts])


def leaks(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(part in line for part in PARTS)]


WORKERS = pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=["alone", "workers"]
)


SAID = {"child": "child", "warning": "warned of", "thread": "thread", "dying": "dying", "print": "printed"}


@WORKERS
@pytest.mark.parametrize("name", SAID)
def test_what_the_code_of_an_attempt_leaves_is_redacted(
    evals: Evals, name: str, workers: tuple[str, ...]
) -> None:
    """Children, warnings, threads: pytest captures them by itself."""
    write(evals, name)
    text = shown(evals, "--capture=fd", *workers)
    assert f"{SAID[name]} [redacted]" in text
    assert leaks(text) == []


@WORKERS
@pytest.mark.parametrize(
    ("conftest", "says"),
    [
        (RAISING_HOOK, "done"),
        (FIXTURE.format(pad=0, before="raise RuntimeError('set up ' + local)"), "set up"),
        (FIXTURE.format(pad=0, before=""), "torn down"),
    ],
    ids=["hook", "fixture", "teardown"],
)
def test_what_code_around_a_row_raises_is_redacted(
    evals: Evals, conftest: str, says: str, workers: tuple[str, ...]
) -> None:
    """In message, traceback, values of variables and properties: hooks and fixtures of the user."""
    write(evals, "a", conftest=conftest)
    text = shown(evals, *workers)
    assert f"{says} [redacted]" in text
    assert leaks(text) == []


def test_values_that_pytest_cuts_show_no_part(evals: Evals) -> None:
    """Long values of variables are cut by pytest, before others have them, at another place in each row."""
    pads = range(95, 120, 2)
    fixture = FIXTURE.format(pad="next(PADS)", before="raise RuntimeError('set up')")
    write(evals, *map(str, pads), conftest=f"PADS = iter({pads})\n{fixture}")
    run = evals.run("shop.eval.yaml", "--showlocals", "--tb=long")
    shown = [line for line in run.outlines if line.startswith("cut ") and "xxx" in line]
    assert len(shown) == len(pads)
    assert leaks(run.stdout.str()) == []


@pytest.mark.parametrize("more", ["", "raise ValueError('sum of ' + os.environ['SHOP_KEY'])"])
def test_what_a_hook_says_of_the_summary_is_redacted(evals: Evals, more: str) -> None:
    """What it prints, and what it raises."""
    write(evals, "a", conftest=SUMMARY.format(more=more))
    text = shown(evals)
    assert "summed up [redacted]" in text
    assert ("sum of [redacted]" in text) is bool(more)
    assert leaks(text) == []


def test_what_is_shown_at_once_is_redacted(evals: Evals) -> None:
    """Of an agent's prints with ``-s``, and of its records in the live log and in the log file."""
    write(evals, "print")
    text = shown(evals, "-s", "--log-cli-level=INFO", "--log-file=out/log.txt")
    assert "printed [redacted]" in text
    assert (evals.path / "out/log.txt").read_text().count("logged [redacted]") == 1
    assert leaks(text) == []


def test_tests_by_hand_are_redacted_too(evals: Evals) -> None:
    """A test that has an eval's key in an assertion, beside the rows or not."""
    write(evals, "a")
    (evals.path / "test_hand.py").write_text(
        "import os\n\ndef test_key():\n    assert os.environ['SHOP_KEY'] == 'no'\n"
    )
    text = shown(evals, "test_hand.py")
    assert "[redacted]" in text
    assert leaks(text) == []
