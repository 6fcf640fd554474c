"""CPU of a start: what the plugin adds to pytest without evals, and what there is to the first window.

Beside the plugin stand the plug-ins of the libraries that come with it, which pytest loads as well wherever
they are installed.
The second figure is that of the pytest process, from the command line to where the first attempt of the
MiniWoB example asks for its window; driver and browser are processes of their own.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from measuring import arguments, cost_of, median, report

EXAMPLE = Path(__file__).parent.parent / "examples" / "miniwob" / "eval.yaml"
BUDGET_SHARE = 0.04
"""Of the CPU of a start with the plug-ins of the libraries that come with this one."""
WINDOW_GOAL_MS = 600
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
COME_WITH_IT = (
    "xdist.plugin",
    "xdist.looponfail",
    "pytest_html.plugin",
    "pytest_metadata.plugin",
    "anyio.pytest_plugin",
)
WITH_OTHERS = "what comes with it"
SETTINGS = {
    "alone": (ALONE, [], ["-p", "browsereval"]),
    WITH_OTHERS: (ALONE, [], [word for name in COME_WITH_IT for word in ("-p", name)]),
    "with the plug-ins of this environment": ({}, ["-p", "no:browsereval"], []),
}
"""Variables, arguments without the plugin, arguments with it."""
TESTS = "def test_nothing():\n    pass\n"

FIRST_WINDOW = """
import json, time
from pathlib import Path
import pytest

MARKS = {"loaded_ms": time.process_time() * 1000}

@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish():
    from pytest_browsereval.browsers.playwright.manager import WindowManager
    ask = WindowManager.create_window

    def noted(self, *given, **named):
        if "window_ms" not in MARKS:
            MARKS["window_ms"] = time.process_time() * 1000
            Path("marks.json").write_text(json.dumps(MARKS))
        return ask(self, *given, **named)

    MARKS["collected_ms"] = time.process_time() * 1000
    WindowManager.create_window = noted
"""
"""Notes the CPU of its own process on the way to the first window."""
PLAYWRIGHT = (
    "import asyncio, time; begun = time.process_time(); import playwright.async_api; "
    "open('playwright.txt', 'w').write(str((time.process_time() - begun) * 1000))"
)


def main() -> None:
    """Let all take turns; the first round, which fills caches, does not count."""
    options = arguments(__doc__ or "", rounds=21).parse_args()
    used: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in SETTINGS}
    marks: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_nothing.py").write_text(TESTS)
        (folder / "first_window.py").write_text(FIRST_WINDOW)
        for number in range(options.rounds + 1):
            for setting, (env, *variants) in SETTINGS.items():
                for which in (number % 2, 1 - number % 2):
                    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
                    cost = cost_of([*command, *variants[which]], folder, env=env)
                    if number:
                        used[setting][which].append(cost.cpu_s * 1000)
            marks += [_to_first_window(folder)] if number else []
    figures = {setting: _figures(*values) for setting, values in used.items()}
    others = "with the plug-ins of this environment"
    figures[others]["is_met"] = figures[others]["added_share"] <= BUDGET_SHARE
    steps = {name: median([of[name] for of in marks]) for name in marks[0]}
    steps = {**steps, "goal_ms": WINDOW_GOAL_MS, "is_met": steps["window_ms"] <= WINDOW_GOAL_MS}
    record = {"budget_share": BUDGET_SHARE, **figures, "first window": steps}
    report({**record, "rounds": {**used, "first window": marks}}, options.json)


def _to_first_window(folder: Path) -> dict[str, float]:
    """Return the CPU until pytest had loaded its plug-ins, the row was collected, and a window was asked for.

    What importing Playwright takes, which is part of the last, is measured in a process of its own.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "browsereval"]
    what = [f"--eval-config={EXAMPLE}", "--eval-limit=1", f"--eval-output={folder / 'results'}"]
    env = {**ALONE, "PYTHONPATH": str(folder)}
    cost_of([*command, "-p", "first_window", *what], folder, env=env)
    cost_of([sys.executable, "-c", PLAYWRIGHT], folder)
    found: dict[str, float] = json.loads((folder / "marks.json").read_text())
    return {**found, "of_it_playwright_ms": float((folder / "playwright.txt").read_text())}


def _figures(without: list[float], installed: list[float]) -> dict[str, float]:
    added = median([mine - plain for mine, plain in zip(installed, without, strict=True)])
    return {
        "without_ms": median(without),
        "installed_ms": median(installed),
        "added_ms": added,
        "added_share": added / median(without),
    }


if __name__ == "__main__":
    main()
