"""MiniWoB tasks whose agent answers at once: ours, plain async Playwright, pytest-playwright, BrowserGym.

All play the same rows of the example with its policies, in the same browser, on pages of one server that no
figure counts, and take turns. Each runs with a few rows and with all: the difference is the cost of a task,
and what is left of the few is the start.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from measuring import control_group, median
from peers.environments import NotMeasured, python_of, versions
from rows import EXAMPLE, HERE, PAGES, seeds_of, served, write
from table import GoalKind, Line, against, missing
from watching import OUTPUT, Watched, watch

from pytest_browsereval.browsers.binary import candidates, launch_options

FEW = 2
SEEDS_A_ROUND = 2
LEFT_OUT = {
    "search-engine": "its links change the address, and BrowserGym then ends the episode without a reward"
}
"""Pages that not every runner can solve, and why."""
PLAYED = tuple(page for page in PAGES if page not in LEFT_OUT)
PASSED = re.compile(r"\b(\d+) passed")
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
ARTEFACTS = ("--screenshot", "on", "--tracing", "on", "--output", "artefacts")


@dataclass(frozen=True)
class Variant:
    """A way to run the rows."""

    name: str
    runner: str
    lanes: int = 1
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    switches: tuple[str, ...] = ()
    """Of the browser, in the config's ``browser.args``."""


_PICTURES = {"BENCHMARK_PICTURES": "pictures"}
OURS_1 = Variant("ours, 1 lane", "ours")
OURS_NO_3D = Variant("ours without WebGL, 1 lane", "ours", switches=("--disable-software-rasterizer",))
OURS_2 = Variant("ours, 2 lanes", "ours", lanes=2)
OURS_4 = Variant("ours, 4 lanes", "ours", lanes=4)
RAW_1 = Variant("plain Playwright, 1 lane", "raw")
RAW_2 = Variant("plain Playwright, 2 lanes", "raw", lanes=2)
RAW_4 = Variant("plain Playwright, 4 lanes", "raw", lanes=4)
PEER = Variant("pytest-playwright, no pictures", "pytest-playwright")
PEER_JPEG = Variant("pytest-playwright, the same JPEG", "pytest-playwright", env=_PICTURES)
PEER_OWN = Variant("pytest-playwright --screenshot on --tracing on", "pytest-playwright", arguments=ARTEFACTS)
PEER_BOTH = Variant(
    "pytest-playwright --screenshot on --tracing on, and the same JPEG",
    "pytest-playwright",
    arguments=ARTEFACTS,
    env=_PICTURES,
)
PEER_TWO = Variant(
    "pytest-playwright -n 2, the same JPEG", "pytest-playwright", arguments=("-n", "2"), env=_PICTURES
)
GYM = Variant("BrowserGym as shipped", "browsergym")
GYM_TUNED = Variant("BrowserGym tuned", "browsergym", arguments=("tuned",))
VARIANTS = (
    *(OURS_1, RAW_1, OURS_NO_3D, OURS_2, RAW_2, OURS_4, RAW_4),
    *(PEER, PEER_JPEG, PEER_OWN, PEER_BOTH, PEER_TWO),
    *(GYM, GYM_TUNED),
)


@dataclass(frozen=True)
class Ratio:
    """A figure of one variant to that of another, of the same round."""

    what: str
    figure: str
    of: Variant
    to: Variant
    kind: GoalKind | None = None
    goal: float = 0

    def measured(self, rounds: Mapping[str, Sequence[Mapping[str, float]]]) -> list[float]:
        """Return it for each round."""
        pairs = zip(rounds[self.of.name], rounds[self.to.name], strict=True)
        return [mine[self.figure] / other[self.figure] for mine, other in pairs]


CPU, SPEED = "cpu_s_per_task", "tasks_per_second"
RATIOS = (
    Ratio("CPU of a task, to plain Playwright, 1 lane each", CPU, OURS_1, RAW_1, "at most", 1.10),
    Ratio("the same, 2 lanes each", CPU, OURS_2, RAW_2, "at most", 1.10),
    Ratio("the same, 4 lanes each", CPU, OURS_4, RAW_4, "at most", 1.10),
    Ratio("tasks/s, to plain Playwright, 2 lanes each", SPEED, OURS_2, RAW_2, "at least", 0.90),
    Ratio("tasks/s, to plain Playwright, 4 lanes each", SPEED, OURS_4, RAW_4, "at least", 0.90),
    Ratio("tasks/s of 4 lanes, to BrowserGym as shipped", SPEED, OURS_4, GYM, "at least", 8),
    Ratio("the same of 1 lane", SPEED, OURS_1, GYM),
    Ratio("tasks/s of 4 lanes, to BrowserGym tuned", SPEED, OURS_4, GYM_TUNED, "at least", 4.5),
    Ratio("the same of 1 lane", SPEED, OURS_1, GYM_TUNED),
    Ratio("CPU of a task, 1 lane, to BrowserGym tuned", CPU, OURS_1, GYM_TUNED, "at most", 0.30),
    Ratio(
        "CPU of a task, 1 lane, to pytest-playwright with its artefacts",
        CPU,
        OURS_1,
        PEER_OWN,
        "at most",
        0.65,
    ),
    Ratio("the same, with its artefacts and the same JPEG", CPU, OURS_1, PEER_BOTH, "at most", 0.65),
    Ratio("the same, to pytest-playwright with the same JPEG", CPU, OURS_1, PEER_JPEG),
    Ratio("the same, to pytest-playwright without pictures", CPU, OURS_1, PEER),
    Ratio("CPU of a task, 1 lane without WebGL, to BrowserGym tuned", CPU, OURS_NO_3D, GYM_TUNED),
    Ratio("the same, to pytest-playwright with its artefacts and the same JPEG", CPU, OURS_NO_3D, PEER_BOTH),
    Ratio("the same, to 1 lane with it", CPU, OURS_NO_3D, OURS_1),
    Ratio("CPU of a task, 1 lane of plain Playwright, to BrowserGym tuned", CPU, RAW_1, GYM_TUNED),
    Ratio("tasks/s of 4 lanes, to pytest-playwright -n 2 with the same JPEG", SPEED, OURS_4, PEER_TWO),
    Ratio("memory at the peak, of the same", "peak_pss_mib", OURS_4, PEER_TWO),
)


# -- the runners


def command_of(variant: Variant, first: int, rows: Path, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command that plays the first rows in a folder, and its variables.

    Raises:
        NotMeasured: the runner cannot be installed.
    """
    if variant.runner == "ours":
        return [sys.executable, *PYTEST, "-p", "browsereval", *_ours(variant, first, rows, folder)], ALONE
    if variant.runner == "raw":
        return [
            sys.executable,
            str(HERE / "raw_playwright.py"),
            str(variant.lanes),
            str(first),
            str(rows),
        ], {}
    python = str(python_of(variant.runner))
    if variant.runner == "browsergym":
        script = HERE / "peers" / "browsergym_episodes.py"
        return [python, str(script), str(rows), str(first), *variant.arguments], {}
    tests = HERE / "peers" / "pytest_playwright"
    given = [f"--config-file={tests / 'pytest.ini'}", str(tests / "rows_played.py"), *variant.arguments]
    env = {"BENCHMARK_ROWS": str(rows), "BENCHMARK_FIRST": str(first)}
    env |= {name: str(folder / value) for name, value in variant.env.items()}
    return [python, *PYTEST, *given], env


def _ours(variant: Variant, first: int, rows: Path, folder: Path) -> list[str]:
    """Write the example's config with other rows, whose pages are served already."""
    config = yaml.safe_load((EXAMPLE / "eval.yaml").read_text(encoding="utf-8"))
    del config["sites"]
    config["dataset"] = str(rows)
    if variant.switches:
        config["browser"] = {**config.get("browser", {}), "args": list(variant.switches)}
    (folder / "eval.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    shutil.copy(EXAMPLE / "policies.py", folder)
    return ["--eval-config=eval.yaml", f"--eval-lanes={variant.lanes}", f"--eval-limit={first}"]


def browser_of_all() -> dict[str, str]:
    """Return the variables that give every runner the same browser.

    Raises:
        SystemExit: none that all can be pointed at.
    """
    found = next((each for each in candidates() if each.path), None)
    if found is None:
        raise SystemExit("No Chromium on PATH. Set BROWSEREVAL_BROWSER to the path of a headless shell.")
    options = json.dumps(launch_options(found), default=str)
    return {"BROWSEREVAL_BROWSER": str(found.path), "BENCHMARK_BROWSER": options}


def run(variant: Variant, first: int, rows: Path, browser: Mapping[str, str]) -> Watched:
    """Play the first rows.

    Raises:
        NotMeasured: the runner cannot be installed.
        SystemExit: it failed, or did not solve them all.
    """
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        folder = Path(name)
        command, env = command_of(variant, first, rows, folder)
        watched = watch(command, folder, env={**browser, **env})
        output = (folder / OUTPUT).read_text(errors="replace")
    passed = [int(number) for number in PASSED.findall(output)]
    if passed != [first]:
        sys.exit(f"{variant.name}: not all of {first} rows were solved:\n{output[-3000:]}")
    return watched


# -- all of them


def figures_of(few: Watched, many: Watched, rows: int) -> dict[str, float]:
    """Return what a task costs, and what is left for the start."""
    more = rows - FEW
    cpu_s = (_cpu_s(many) - _cpu_s(few)) / more
    wall_s = (_wall_s(many) - _wall_s(few)) / more
    return {
        CPU: cpu_s,
        SPEED: 1 / wall_s,
        "peak_pss_mib": max(sample.pss_mib for sample in many.samples),
        "processes": max(sample.processes for sample in many.samples),
        "start_cpu_s": _cpu_s(few) - FEW * cpu_s,
        "start_wall_s": _wall_s(few) - FEW * wall_s,
    }


def _cpu_s(watched: Watched) -> float:
    return watched.samples[-1].cpu_s


def _wall_s(watched: Watched) -> float:
    return watched.ended - watched.began


def measure(
    rounds: int, folder: Path, *, variants: Sequence[Variant] = VARIANTS, pages: Sequence[str] = PLAYED
) -> dict[str, Any]:
    """Let all variants take turns and return each one's figures by round.

    Raises:
        SystemExit: a variant has failed, or nothing here can count the CPU of all its processes.
    """
    with control_group() as group:
        if group is None:
            raise SystemExit("Without a control group (root has the right) the CPU of browsers is not known.")
    browser = browser_of_all()
    unmeasured = _prepare(variants)
    ready = [each for each in variants if each.name not in unmeasured]
    found: dict[str, list[dict[str, float]]] = {each.name: [] for each in ready}
    with served() as url:
        for number in range(rounds):
            file = folder / f"rows-{number}.jsonl"
            count = len(write(file, seeds_of(number, SEEDS_A_ROUND), pages, url))
            for variant in ready if number % 2 == 0 else reversed(ready):
                few, many = (run(variant, first, file, browser) for first in (FEW, count))
                found[variant.name].append(figures_of(few, many, count))
                _tell(number, variant, found[variant.name][-1])
    return {
        "browser": browser["BROWSEREVAL_BROWSER"],
        "pages": list(pages),
        "left_out": LEFT_OUT,
        "seeds_a_round": SEEDS_A_ROUND,
        "versions": _versions(unmeasured),
        "unmeasured": unmeasured,
        "variants": {name: _spread(of) for name, of in found.items()},
        "rounds": found,
    }


def _prepare(variants: Sequence[Variant]) -> dict[str, str]:
    """Have what is not there installed, and return why some variants cannot be measured."""
    unmeasured = {}
    for variant in variants:
        if variant.runner not in {"ours", "raw"}:
            try:
                python_of(variant.runner)
            except NotMeasured as why:
                unmeasured[variant.name] = str(why)
    return unmeasured


def _versions(unmeasured: Mapping[str, str]) -> dict[str, dict[str, str]]:
    versions_of = {"ours": versions(Path(sys.executable), "pytest", "playwright")}
    if PEER.name not in unmeasured:
        versions_of[PEER.runner] = versions(
            python_of(PEER.runner), "pytest", "playwright", "pytest-playwright", "pytest-xdist"
        )
    if GYM.name not in unmeasured:
        versions_of[GYM.runner] = versions(
            python_of(GYM.runner), "playwright", "browsergym-core", "browsergym-miniwob"
        )
    return versions_of


def _tell(number: int, variant: Variant, figures: Mapping[str, float]) -> None:
    text = f"{figures[SPEED]:.2f} tasks/s, {figures[CPU]:.3f} CPU-s a task, load {os.getloadavg()[0]:.1f}"
    print(f"round {number + 1}: {variant.name}: {text}", file=sys.stderr, flush=True)


def _spread(of: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the median, the least and the most of each figure."""
    values = {key: [each[key] for each in of] for key in of[0]}
    return {key: [median(each), round(min(each), 4), round(max(each), 4)] for key, each in values.items()}


def lines(figures: Mapping[str, Any]) -> list[Line]:
    """Return the ratios beside their goals, then what each variant was measured at."""
    return [*(_ratio_line(ratio, figures) for ratio in RATIOS), *_plain(figures)]


def _ratio_line(ratio: Ratio, figures: Mapping[str, Any]) -> Line:
    rounds = figures["rounds"]
    goal = f"{'≤' if ratio.kind == 'at most' else '≥'} {ratio.goal:g} x" if ratio.kind else ""
    lacking = [each.name for each in (ratio.of, ratio.to) if not rounds.get(each.name)]
    if lacking:
        why = figures["unmeasured"].get(lacking[0], f"{lacking[0]} was left out")
        return missing(ratio.what, goal, why)
    values = ratio.measured(rounds)
    if median(values) <= 0:
        return missing(ratio.what, goal, "few rows took as long as all, so busy is this machine")
    note = f"rounds: {min(values):.2f} to {max(values):.2f}"
    if ratio.kind is None:
        return Line(ratio.what, "", f"{median(values):.2f} x", None, note)
    return against(ratio.what, median(values), ratio.kind, ratio.goal, note=note)


def _plain(figures: Mapping[str, Any]) -> Iterator[Line]:
    for name, of in figures["variants"].items():
        speed, cpu, memory, cpu_s, wall_s = (
            of[key][0] for key in (SPEED, CPU, "peak_pss_mib", "start_cpu_s", "start_wall_s")
        )
        note = f"{memory:.0f} MiB at the peak; start {cpu_s:.1f} CPU-s, {wall_s:.1f} s"
        yield Line(name, "", f"{speed:.2f} tasks/s, {cpu:.3f} CPU-s a task", None, note)
    for name, why in figures["unmeasured"].items():
        yield missing(name, "", why)
