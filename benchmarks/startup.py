"""CPU that the plugin adds to a start of pytest without evals: installed, against `-p no:browsereval`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measuring import arguments, cost_of, median, report

BUDGET_MS = 30
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
SETTINGS = {
    "alone": (ALONE, [], ["-p", "browsereval"]),
    "beside the plug-ins of this environment": ({}, ["-p", "no:browsereval"], []),
}
"""Variables, arguments without the plugin, arguments with it."""
TESTS = "def test_nothing():\n    pass\n"


def main() -> None:
    """Let all take turns; the first round, which fills caches, does not count."""
    options = arguments(__doc__ or "", rounds=21).parse_args()
    used: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in SETTINGS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_nothing.py").write_text(TESTS)
        for number in range(options.rounds + 1):
            for setting, (env, *variants) in SETTINGS.items():
                for which in (number % 2, 1 - number % 2):
                    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
                    cost = cost_of([*command, *variants[which]], folder, env=env)
                    if number:
                        used[setting][which].append(cost.cpu_s * 1000)
    figures = {setting: _figures(*values) for setting, values in used.items()}
    report({"budget_ms": BUDGET_MS, **figures, "rounds": used}, options.json)


def _figures(without: list[float], installed: list[float]) -> dict[str, float | bool]:
    added = median([mine - plain for mine, plain in zip(installed, without, strict=True)])
    return {
        "without_ms": median(without),
        "installed_ms": median(installed),
        "added_ms": added,
        "is_met": added <= BUDGET_MS,
    }


if __name__ == "__main__":
    main()
