"""Folders of `benchmarks` and `features` can be left out: the quickstart needs them for side effects only."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import pytest_browsereval
from pytest_browsereval import feature
from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row

PACKAGE = Path(pytest_browsereval.__file__).parent
QUICKSTART = PACKAGE.parent / "examples" / "quickstart"
LEAVES = sorted(
    path.parent.relative_to(PACKAGE).as_posix()
    for room in ("benchmarks", "features")
    for path in PACKAGE.glob(f"{room}/*/__init__.py")
    if path.parent.name != "shared"
)


@pytest.fixture
def without(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have processes use a copy of the package that lacks some folders."""
    copy = tmp_path / "less" / PACKAGE.name
    shutil.copytree(PACKAGE, copy)  # with its bytecode: to compile all of it takes two seconds
    for leaf in request.param:
        shutil.rmtree(copy / leaf)
    monkeypatch.setenv("PYTHONPATH", str(copy.parent))
    return copy


def make_halves(names: Sequence[str]) -> list[list[str]]:
    """Return few groups such that of any two names, each is in a group that lacks the other."""
    count = next(n for n in itertools.count(1) if math.comb(n, n // 2) >= len(names))
    # No choice of half the groups is part of another choice.
    places = dict(zip(names, itertools.combinations(range(count), count // 2), strict=False))
    return [[name for name in names if group in places[name]] for group in range(count)]


@pytest.fixture
def hidden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Hide folders of the package from this process: cheaper than a copy for each group."""
    names = [f"{PACKAGE.name}.{leaf.replace('/', '.')}" for leaf in request.param]
    for name in names:
        for module in [one for one in sys.modules if one.startswith(f"{name}.")]:
            monkeypatch.delitem(sys.modules, module)
        # A finder that misses it would come after pytest's, which finds it.
        monkeypatch.setitem(sys.modules, name, None)
        room, _, leaf = name.rpartition(".")
        monkeypatch.delattr(sys.modules[room], leaf, raising=False)
    found = feature.list_folders

    def list_others(room: str) -> tuple[str, ...]:
        return tuple(one for one in found(room) if f"{PACKAGE.name}.{room}.{one}" not in names)

    monkeypatch.setattr(feature, "list_folders", list_others)
    caches = (feature.list_features, feature.list_early)
    for one in caches:
        one.cache_clear()
    yield names
    for one in caches:
        one.cache_clear()


def run_quickstart(evals: Evals, run: Callable[..., EvalRun], rows: int) -> None:
    lines = (QUICKSTART / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines[:rows]]
    for one in found:  # what else they change is judged by a feature
        del one["effects"]
        one["graders"].remove("effects")
    evals.write(found, browser="playwright", sites={"shop": {"static": str(QUICKSTART / "sites" / "shop")}})
    result = run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    result.assert_outcomes(passed=rows)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", make_halves(LEAVES), indirect=True, ids=itertools.count(1))
def test_a_folder_can_be_left_out(hidden: list[str], evals: Evals) -> None:
    """Without its folder a row of the quickstart passes, in a browser, to its page and the gate.

    Half of them are left out at once, and of any two, each is there without the other.
    """
    run_quickstart(evals, evals.run, rows=1)
    for name in hidden:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_each_folder_is_left_out_beside_each_other() -> None:
    """Else a folder might need another one that is only ever left out with it."""
    groups = [set(group) for group in make_halves(LEAVES)]
    assert len(groups) <= 9
    for one, other in itertools.permutations(LEAVES, 2):
        assert any(one in group and other not in group for group in groups), (one, other)


@pytest.mark.slow
@pytest.mark.parametrize("without", [[*LEAVES, "features/shared"]], ids=["all"], indirect=True)
def test_all_folders_can_be_left_out(without: Path, evals: Evals) -> None:
    """Without any of them, and what they share, the quickstart passes in a process that has only the rest."""
    assert not list((without / "features").glob("*/__init__.py"))
    run_quickstart(evals, evals.run_process, rows=4)


@pytest.mark.parametrize(
    ("keys", "feature"),
    [
        ({"graders": [{"type": "command", "command": ["true"]}]}, "command_grader"),
        ({"agent": {"type": "function", "function": "a:b"}}, "function_agent"),
    ],
)
def test_a_member_of_a_feature_that_is_left_out_is_named(
    evals: Evals, keys: dict[str, Any], feature: str
) -> None:
    """Not guessed at by its spelling: the option that leaves it out is what is wrong."""
    done = evals.play([row("a")], "-p", f"no:browsereval.{feature}", **keys)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    text = done.stdout.str() + done.stderr.str()
    assert f"the feature that brings it is left out (-p no:browsereval.{feature})" in text
    assert "Did you mean" not in text


def test_a_key_of_a_feature_that_is_left_out_is_refused(evals: Evals) -> None:
    """It would have no effect."""
    keys: tuple[tuple[str, dict[str, Any]], ...] = (
        ("files", {"downloads": {"max_files": 1}}),
        ("traces", {"console": True}),
    )
    for name, capture in keys:
        evals.write([row("a")], capture=capture, browser="playwright")
        run = evals.run("-p", f"no:browsereval.{name}")
        assert run.ret == 4
        assert "the feature that acts on this key is left out" in str(run.stdout) + str(run.stderr), capture
