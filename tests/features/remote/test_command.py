"""Whatever takes a RUN takes the URL of one, or refuses it in one sentence."""

from __future__ import annotations

import argparse

import pytest

from pytest_browsereval.__main__ import make_parser
from pytest_browsereval.commands.base import open_door
from tests.features.remote.test_push_and_pull import objects, pushed, written
from tests.hooks.small_evals import Evals

COMMANDS: dict[str, tuple[str, ...]] = {
    "attacks": ("URL",),
    "calibrate": ("URL",),
    "causes": ("URL",),
    "compare": ("URL", "OTHER"),
    "doctor": ("shop.eval.yaml", "--run=URL"),
    "export": ("URL", "--to=online-mind2web", "-o", "exported"),
    "gate": ("URL", "--config=shop.eval.yaml", "--baseline=OTHER", "--eval-set=gate.max_drop=0.5"),
    "harvest": ("URL", "--config=shop.eval.yaml", "--to=rows", "--out=solved.jsonl"),
    "label": ("URL",),
    "merge": ("URL", "-o", "merged"),
    "prune": ("URL", "--keep=failed"),
    "push": ("URL", "s3://bucket/evals"),
    "runs": ("URL",),
    "view": ("URL",),
}
"""By command: arguments in which URL stands for that of a run."""

READ = {
    "attacks": "has no attempt under attack",
    "calibrate": "0 of 4 attempts are labelled",
    "causes": "1 trial failed, by cause",
    "compare": "tasks: 4 unchanged",
    "doctor": "row 'bad': its own solution fails",
    "export": "4 of 4 trials",
    "gate": "pass rate 75.0% (3 of 4 judged)",
    "harvest": "3 of 4 rows harvested in solved.jsonl",
    "merge": "one run cannot be merged alone",  # parts of one are: test_push_and_pull.py
    "runs": "4 selected, 3 passed, 1 failed",
    "view": "4 attempts",
}
"""By command: what it prints of the run; the others refuse it."""


def _takes_run(parser: argparse.ArgumentParser) -> bool:
    return any("its folder" in str(action.help) for action in parser._actions)


def test_all_commands_that_take_a_run_are_tested() -> None:
    """By their help, which says what a run is."""
    parser = make_parser(open_door())
    [commands] = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    assert {name for name, command in commands.choices.items() if _takes_run(command)} == COMMANDS.keys()


SLOW = ("doctor", "harvest")
"""Commands that start a browser."""


@pytest.mark.parametrize(
    "names",
    [tuple(COMMANDS.keys() - set(SLOW)), *(pytest.param((name,), marks=pytest.mark.slow) for name in SLOW)],
    ids=["quick", *SLOW],
)
def test_a_command_takes_a_url_or_refuses_it(
    evals: Evals, bucket: str, names: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    """Those that change a run say how to get a copy; nothing of the run there changes."""
    run = written(evals)
    (run / "labels.jsonl").write_text("")
    url, other = pushed(evals, run, bucket), pushed(evals, written(evals), bucket)
    before = {path: path.read_bytes() for path in objects(evals, "*")}
    for name in sorted(names):
        if name in SLOW:  # which know no blank windows
            evals.write_config(browser="playwright", gate={"min_pass_rate": 0.9})
        args = (part.replace("URL", url).replace("OTHER", other) for part in COMMANDS[name])
        result = evals.run_command(name, *args)
        printed = "".join((result.stdout.str(), result.stderr.str(), *capfd.readouterr()))
        assert "Traceback" not in printed
        assert {path: path.read_bytes() for path in objects(evals, "*")} == before
        if name in READ:
            assert READ[name] in printed
        else:
            assert (name, result.ret) == (name, 4)
            assert f"Run `browsereval pull {url} -o FOLDER`" in printed


def test_options_that_name_a_run_take_a_url(evals: Evals, bucket: str) -> None:
    """But for those that change the run."""
    url = pushed(evals, written(evals), bucket)
    args = ["--eval-baseline", url, "--eval-shard=1/2", "--eval-set", "gate={}"]
    run = evals.run("shop.eval.yaml", *args)
    assert run.ret in (0, 1)
    assert len(run.attempts) == 2
    assert "compared with its baseline" in run.stdout.str()


def test_options_name_a_run_that_is_there(evals: Evals, bucket: str) -> None:
    """Else one sentence says so, and nothing runs."""
    written(evals)
    url = f"{bucket}/shop/gone"
    for name in ("resume", "regrade"):
        run = evals.run("shop.eval.yaml", f"--eval-{name}={url}")
        assert (name, run.ret, run.folders) == (name, pytest.ExitCode.USAGE_ERROR, ())
        assert f"Run `browsereval pull {url} -o FOLDER`" in run.stdout.str() + run.stderr.str()
    run = evals.run("shop.eval.yaml", f"--eval-baseline={url}")
    assert (run.ret, run.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    printed = run.stdout.str() + run.stderr.str()
    assert "there is no such bucket or folder" in printed or f"there is no run at {url}" in printed
    assert "Traceback" not in printed
