"""``browsereval ray`` without Ray: what is refused, and what the ends of parts come to."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.ray import command, tasks
from pytest_browsereval.features.ray import request as asked
from pytest_browsereval.features.ray.request import Request
from pytest_browsereval.features.ray.tasks import PartResult, run_part
from pytest_browsereval.testing.evals import EvalRun
from tests.features.remote.conftest import bucket, cache
from tests.hooks.small_evals import Evals, row

__all__ = ["bucket", "cache"]

CONFTEST = """
def pytest_browsereval_register(registry):
    from pytest_browsereval.testing.blank import BlankBrowserConfig
    registry.register(BlankBrowserConfig)
"""
ROWS = [row(f"r{number}") for number in range(8)]
"""Of 3 parts each has some."""
BLANKS = ("-p", "pytest_browsereval.testing.blank")

CUTTING = """
import shutil
from pathlib import Path

def solve(context):
    shutil.rmtree({place!r}, ignore_errors=True)
    Path({place!r}).write_text("")
    return "right"
"""

Act = Callable[[int], str]


@pytest.fixture
def small(evals: Evals, cache: Path) -> Evals:
    """Return an eval of right rows that any process can run."""
    (evals.path / "conftest.py").write_text(CONFTEST)
    evals.write(ROWS)
    return evals


class Engine:
    """Stands in for Ray: runs the parts here, one after another."""

    def __init__(self, evals: Evals) -> None:
        self.evals = evals
        self.numbers: list[int] = []
        self.lost: frozenset[int] = frozenset()
        """Parts that no node brings to an end."""
        self.interrupted_at: int | None = None

    def run_pytest(self, words: Collection[str], limit_s: float, **_: object) -> str:
        run = self._run(*words)
        return f"{run.stdout.str()}\n{run.stderr.str()}"

    def _run(self, *words: str) -> EvalRun:
        options, self.evals.options = (
            self.evals.options,
            self.evals.options[2:],
        )  # the conftest has the windows
        try:
            return self.evals.run(*words)
        finally:
            self.evals.options = options

    def run_parts(self, request: Request, numbers: Collection[int], cpus: int) -> dict[int, PartResult]:
        results: dict[int, PartResult] = {}
        self.numbers = list(numbers)
        for number in numbers:
            if number == self.interrupted_at:
                raise KeyboardInterrupt
            if number in self.lost:
                results[number] = PartResult(None, ("NodeDiedError: \x1b[31mthe node is gone",))
                continue
            home = self.evals.path / "tmp" / str(number)
            run = self._run(*request.arguments(number, home))
            results[number] = tasks.sum_up(int(run.ret), home, run.stdout.str())
        return results


@pytest.fixture
def engine(small: Evals, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Have the command start its parts by a stand-in."""

    @contextlib.contextmanager
    def connected(*_: object) -> Iterator[None]:
        yield

    made = Engine(small)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr(tasks, "connected", connected)
    monkeypatch.setattr(tasks, "run_parts", made.run_parts)
    monkeypatch.setattr(asked, "run_pytest", made.run_pytest)
    return made


def start(evals: Evals, *words: str, parts: int = 3) -> EvalRun:
    return evals.run_command("ray", "shop.eval.yaml", "--parts", str(parts), *words)


# -- what is refused


def test_without_ray_the_command_says_what_to_install(small: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, and nothing was started."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    run = start(small)
    assert run.ret == 4
    assert run.errlines == [
        "browsereval: this command needs an extra. Run `pip install 'pytest-browsereval[ray]'`"
    ]
    assert not (small.path / "results").exists()


OUT = ("--output", "runs")
REFUSED = {
    ("--address", "auto"): "needs an --output that all its nodes reach",
    ("--address", "ray://far:10001", *OUT): "ray:// is for Ray's client",
    ("--address", "127.0.0.1:9", *OUT): "--address '127.0.0.1:9': nothing answers there",
    ("--address", "head", *OUT): "Write HOST:PORT",
    ("--", "--eval-baseline=gone"): "gone",
    ("--cpus", "9999"): "--cpus can be up to",
    ("--env", "NOT_SET_ANYWHERE"): "--env 'NOT_SET_ANYWHERE': write only the name of a variable",
    ("--env", "KEY=s3cret"): "--env 'KEY': write only the name of a variable",
    ("--", "--eval-shard=1/2"): "--eval-shard cannot be given to parts of a run.",
    ("--", "--eval-set", "agent.nothing=1"): "nothing",
    ("--", "-k", "no_such_row"): "pytest selects rows of 0 evals and 0 tests outside evals",
    ("--", "--version"): "pytest made no plan for this run",
    ("--", "--eval-set"): "the options of pytest cannot be read: ",
    ("--", "--no-such-option"): "unrecognized arguments: --no-such-option",
    ("--", "test_more.py"): "rows of 1 eval and 1 test outside evals",
    ("--name", "../up"): "--name '../up': use up to 100 characters",
    ("--output", "s3://bucket/evals"): "AWS_ACCESS_KEY_ID",
    ("--output", "rows.jsonl"): "rows.jsonl",
}
"""What is typed, and what is said of it."""


def test_bad_input_is_refused_before_anything_is_started(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Exit code 4, with a sentence that says what to do; what no gate knows of could fail unseen."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    (engine.evals.path / "test_more.py").write_text("def test_more(): assert False\n")
    for words, message in REFUSED.items():
        with subtests.test(words=words):
            run = start(engine.evals, *words)
            assert (run.ret, engine.numbers) == (4, [])
            assert message in run.stderr.str()
    for words in (("--parts", "0"), ("--parts", "x"), ("--cpus", "0")):  # as argparse refuses them
        assert start(engine.evals, *words).ret == 2


# -- what ends come to


def test_all_parts_become_one_run(engine: Engine) -> None:
    """It has a result for each trial and a page, and all passed: 0."""
    run = start(engine.evals, "--name", "nightly")
    assert run.ret == 0, run.stdout.str() + run.stderr.str()
    assert engine.numbers == [1, 2, 3]
    whole = engine.evals.path / "results" / "shop" / "nightly"
    assert (whole / "index.html").is_file()
    run.stdout.fnmatch_lines(["pass rate 100.0% (8 of 8 judged)*", "3 runs, 8 trials: *", "gate met: *"])
    some = start(engine.evals, "--", "-k", "r0 or r2", parts=2)  # both may be in one part
    assert some.ret == 0
    some.stdout.fnmatch_lines(["*2 of 2 judged*"])


GATED: dict[str, Any] = {"gate": {"min_pass_rate": 0.5}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "wrong", "words", "code"),
    [
        ({}, 1, (), 1),
        (GATED, 1, (), 0),
        (GATED, 5, (), 1),
        ({}, 1, ("--", "--eval-min-pass-rate=0.5"), 0),
        (GATED, 1, ("--", "--eval-set", "gate.min_pass_rate=0.9"), 1),
        (GATED, 1, ("--", "-k", "r1 or r2 or r3"), 0),
    ],
)
def test_the_gate_of_the_whole_run_decides(
    engine: Engine, keys: Mapping[str, Any], wrong: int, words: tuple[str, ...], code: int
) -> None:
    """Without one each row has to pass."""
    engine.evals.write_rows(*(row(f"r{n}", says="wrong" if n < wrong else "right") for n in range(8)))
    engine.evals.write_config(**keys)
    run = start(engine.evals, *words)
    assert run.ret == code, run.stdout.str() + run.stderr.str()


def test_an_errored_row_is_not_green_without_a_gate(engine: Engine) -> None:
    """However few they are."""
    bad = row("bad", start_url="http://127.0.0.1:9/")
    engine.evals.write_rows(*(row(f"r{n}") for n in range(30)), bad)
    assert start(engine.evals).ret == 1


def test_a_part_that_has_no_result_is_never_green(engine: Engine) -> None:
    """What there is is merged, and the same name runs the rest and no more."""
    engine.lost = frozenset({2})
    engine.evals.write_config(**GATED)
    run = start(engine.evals, "--name", "nightly")
    assert run.ret == 3
    text = run.stdout.str()
    assert "part 2: no result\nNodeDiedError:  [31mthe node is gone" in text
    assert "\x1b" not in text
    assert "1 of 3 parts missing, so the run is not complete. To continue:" in text
    line = next(one.strip() for one in run.outlines if one.startswith("  browsereval ray "))
    assert line == "browsereval ray shop.eval.yaml --parts 3 --name nightly --again"
    engine.lost = frozenset()
    again = engine.evals.run_command(*line.split()[1:])
    assert again.ret == 0
    assert engine.numbers == [2]
    again.stdout.fnmatch_lines(["run nightly in 3 parts, 2 of them done*", "*8 of 8 judged*"])


@pytest.mark.slow
def test_a_name_that_never_changes_is_not_green_each_night(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was run, so it is refused, with what merges and decides again; no node is needed for that."""
    assert start(engine.evals, "--name", "nightly").ret == 0
    monkeypatch.setattr(tasks, "connected", None)
    shutil.rmtree(engine.evals.path / "results" / "shop")
    run = start(engine.evals, "--name", "nightly")
    assert run.ret == 4, "a fresh checkout of each night"
    assert "was done already, and nothing was run. Use another --name" in run.stdout.str()
    assert engine.evals.run_command(*run.outlines[-1].split()[1:]).ret == 0
    assert (engine.evals.path / "results" / "shop" / "nightly").is_dir()


def test_parts_that_were_made_of_other_rows_are_not_green(engine: Engine) -> None:
    """A part that is done counts for the rows that it had, which are those of other options of pytest."""
    for name, options in (("limit", ("--eval-limit=4",)), ("some", ("-k", "r0 or r1 or r2"))):
        engine.lost = frozenset({3})
        assert start(engine.evals, "--name", name, "--", *options).ret == 3
        engine.lost = frozenset()
        run = start(engine.evals, "--name", name)
        assert run.ret == 3
        assert "divide the rows differently" in run.stdout.str()
    assert start(engine.evals, "--name", "nightly").ret == 0
    shutil.rmtree(engine.evals.path / "results" / "shop")
    run = start(engine.evals, "--name", "nightly", "--again", "--", "-k", "r1 or r2 or r3 or r4")
    assert run.ret == 3
    assert "the run has 8 trials and this command selects 4: parts were made with other" in run.stdout.str()


def test_what_cannot_be_decided_is_not_green(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows have been run, so it is not wrong usage; the same command decides once the reason is gone."""

    def fail(*_: object) -> int:
        raise UsageError("the bucket is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(command, "run_command", fail)
        run = start(engine.evals, "--name", "nightly")
    assert run.ret == 3
    run.stdout.fnmatch_lines(["the run cannot be decided: the bucket is gone.", "*--name nightly --again"])
    engine.numbers = []
    assert start(engine.evals, "--name", "nightly", "--again").ret == 0
    assert engine.numbers == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "gate", "says"),
    [
        (0, {}, "met min_pass_rate: pass rate 100.0% (24/24) meets 50.0%; decided after 2 of 4"),
        (4, {}, "UNDECIDED min_pass_rate: pass rate 50.0% (16/32) neither meets nor misses"),
        (2, {"quarantine": {"r0": "2126-01-01", "r1": "2126-01-01"}}, "met min_pass_rate: pass rate 100.0%"),
    ],
)
def test_parts_make_rounds_until_they_are_decided(
    engine: Engine, wrong: int, gate: Mapping[str, Any], says: str
) -> None:
    """Each by the pass rates of the gate; the gate itself is decided by all rows."""
    engine.evals.write_rows(*(row(f"r{n}", says="wrong" if n < wrong else "right") for n in range(8)))
    rounds = {"max": 4}
    engine.evals.write_config(trials=rounds, gate={"min_pass_rate": 0.5, **gate})
    run = start(engine.evals, "--name", "nightly", parts=2)
    assert run.ret == int(wrong == 4), run.stdout.str()
    assert says in " ".join(line.strip() for line in run.outlines)
    assert start(engine.evals, "--name", "nightly", parts=2).ret == 4  # it is done


def test_rounds_that_a_part_cannot_decide_are_refused(engine: Engine) -> None:
    """A part may have no row with the tag, and would make one round."""
    engine.evals.write_config(trials={"max": 8}, gate={"tags": {"smoke": 0.5}})
    run = start(engine.evals)
    assert (run.ret, engine.numbers) == (4, [])
    assert "Write `min_pass_rate` too, or a number of trials: `trials: 3`." in run.stderr.str()


def test_a_name_of_another_division_or_config_is_refused(engine: Engine) -> None:
    """Parts of two runs would make none that is whole."""
    engine.lost = frozenset({2})
    assert start(engine.evals, "--name", "nightly").ret == 3
    run = start(engine.evals, "--name", "nightly", parts=4)
    assert run.ret == 4
    assert "is a run in 3 parts. Write --parts 3, or another --name." in run.stderr.str()
    engine.evals.write_config(limits={"max_steps": 7})
    engine.lost = frozenset()
    run = start(engine.evals, "--name", "nightly")
    assert run.ret == 3
    assert "limits.max_steps" in run.stdout.str()


def test_an_interrupt_says_how_to_go_on(engine: Engine) -> None:
    """Exit code 2; nothing is merged, since the rest is still to be run."""
    engine.interrupted_at = 2
    run = start(engine.evals, "--name", "nightly", "--", "-k", "r1 or r2 or r3")
    assert run.ret == 2
    run.stdout.fnmatch_lines(
        [
            "interrupted. To continue:",
            "  browsereval ray shop.eval.yaml --parts 3 --name nightly --again -- -k 'r1 or r2 or r3'",
        ]
    )
    assert not (engine.evals.path / "results" / "shop").exists()


@pytest.mark.slow
def test_a_part_that_the_budget_stops_leaves_no_folder(
    small: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it is at the URL; only where something could not be sent the folder is needed."""
    left = small.path / "left"
    left.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(left))
    plan: dict[str, Any] = {"part_gate": {}}
    request = Request("shop.eval.yaml", "nightly", 1, bucket, folder=str(small.path), plan=plan)
    small.write_config(budget={"max_minutes": 0.0000001})
    result = run_part(request, 1)
    assert "the budget is used up" in " ".join(result.tail)
    assert list(left.glob("browsereval-part-*")) == []
    place = url2pathname(urlsplit(bucket).path)
    (small.path / "cutting.py").write_text(CUTTING.format(place=place))
    small.write_config(agent={"type": "function", "function": "cutting:solve"})
    result = run_part(request, 1)
    [kept] = left.glob("browsereval-part-*/*")
    assert (result.code, result.tail[-1]) == (3, f"its run folder is still on the node: {kept}")


def test_a_budget_that_is_used_up_is_not_green(engine: Engine) -> None:
    """It holds for all parts together; the part that it stops does not count."""
    engine.evals.write_config(budget={"max_minutes": 0.0000001}, **GATED)
    run = start(engine.evals)
    assert run.ret == 3
    assert "part 1: exit code 1, 0 of 0 trials passed" in run.stdout.str()
    assert "budget" in run.stdout.str()
