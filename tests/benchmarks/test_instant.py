"""How figures of the benchmarks are reckoned and judged; what they measure is no business of a test."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "benchmarks", ROOT / "examples")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import a module of the benchmarks as their programs do; nothing of it is left in this process."""
    monkeypatch.setattr(sys, "path", [str(FOLDERS[0]), *sys.path])
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file and any(folder in Path(file).parents for folder in FOLDERS):
            del sys.modules[name]


@pytest.fixture
def instant(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("instant")


def test_the_start_is_no_part_of_a_task(instant: ModuleType) -> None:
    """The cost of a task is what the further rows cost; the start is what is left of the few."""
    watching = sys.modules["watching"]

    def ran(rows: int, peak: float) -> object:
        cpu_s, wall_s = 1.5 + 0.25 * rows, 2 + 0.5 * rows
        samples = (
            watching.Sample(100, 0, 0, 0),
            watching.Sample(101, 1, peak, 7),
            watching.Sample(102, cpu_s, 0, 0),
        )
        return watching.Watched(100, 100 + wall_s, samples)

    figures = instant.figures_of(ran(2, 300), ran(50, 400), 50)
    assert figures == {
        "cpu_s_per_task": pytest.approx(0.25),
        "tasks_per_second": pytest.approx(2),
        "peak_pss_mib": 400,
        "processes": 7,
        "start_cpu_s": pytest.approx(1.5),
        "start_wall_s": pytest.approx(2),
    }


def test_rounds_take_turns_through_all_seeds(load: Callable[[str], ModuleType]) -> None:
    """Five rounds of two play ten seeds, and the sixth begins again."""
    rows = load("rows")
    played = [rows.seeds_of(number, 2) for number in range(6)]
    assert sorted(chain(*played[:5])) == sorted(rows.SEEDS)
    assert len(rows.SEEDS) == 10
    assert played[5] == played[0]


def test_a_peer_that_is_not_there_leaves_its_goals_open(instant: ModuleType) -> None:
    """Its ratios say why they are missing, the others are judged by the median of their rounds."""
    table = sys.modules["table"]
    fast = {
        "cpu_s_per_task": 0.3,
        "tasks_per_second": 5.0,
        "peak_pss_mib": 400.0,
        "start_cpu_s": 1,
        "start_wall_s": 1,
    }
    slow = {**fast, "cpu_s_per_task": 0.25}
    gyms = {instant.GYM.name, instant.GYM_TUNED.name}
    rounds = {each.name: [fast, fast, fast] for each in instant.VARIANTS if each.name not in gyms}
    rounds[instant.RAW_1.name] = [slow, fast, slow]
    figures = {
        "unmeasured": dict.fromkeys(gyms, "no wheel"),
        "variants": {name: instant._spread(of) for name, of in rounds.items()},
        "rounds": rounds,
    }
    lines = instant.lines(figures)
    assert [line.measured for line in lines if line.is_missing] == ["not measured: no wheel"] * 3
    judged = {line.what: (line.measured, line.is_met, line.note) for line in lines if line.is_met is not None}
    assert judged["CPU of a task, to plain Playwright, 1 lane each"] == (
        "1.20 x",
        False,
        "rounds: 1.00 to 1.20",
    )
    assert judged["the same, 2 lanes each"][:2] == ("1.00 x", True)
    assert table.exit_code(lines) == 2
    assert table.exit_code([line for line in lines if not line.is_missing]) == 1


def test_a_table_lines_up(load: Callable[[str], ModuleType]) -> None:
    """Every line of the table is as wide as the others, and a goal is judged before rounding."""
    table = load("table")
    near = table.against("CPU", 1.104, "at most", 1.1)
    shown = table.table(
        [near, table.against("speed of it all", 9, "at least", 8, note="busy"), table.missing("a", "", "b")]
    )
    assert len({len(line) for line in shown.splitlines()}) == 1
    assert "1.10 x" in shown
    assert "MISSED" in shown
    assert "| met " in shown
    assert not near.is_met
