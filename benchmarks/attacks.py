"""What attacks cost: CPU of the quickstart's rows under attack against as many plain trials, in one run each.

    python benchmarks/attacks.py                          # 40 attacks x 50 rows: half an hour
    python benchmarks/attacks.py --attacks 10 --rows 10   # two minutes

The agent is `careful` in both: it plays the solutions of the rows, and closes what covers the page. CPU is
that of Python, driver, browser and the attacker's origin.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from measuring import Cost, arguments, cost_of, median, report
from table import against, exit_code, table

from pytest_browsereval.features.attacks.suites import read_suite

QUICKSTART = Path(__file__).parent.parent / "examples" / "quickstart"
GOAL = 1.15
SITES = {
    name: {**site, "static": str(QUICKSTART / site["static"])}
    for name, site in yaml.safe_load((QUICKSTART / "eval.yaml").read_text(encoding="utf-8"))["sites"].items()
}


def make_attacks(count: int) -> list[dict[str, Any]]:
    """Return attacks of the standard suite as they can be delivered to every row, all channels among them."""
    suite = read_suite("standard")
    by_type: dict[str, list[dict[str, Any]]] = {}
    for attack in suite["attacks"]:
        by_type.setdefault(attack["type"], []).append(attack)
    in_turns = sorted(
        ((place, attack) for attacks in by_type.values() for place, attack in enumerate(attacks)),
        key=lambda pair: pair[0],
    )
    made = []
    for _, attack in in_turns[:count]:
        goal = attack["goal"] if attack["name"].startswith("any-") else "request"
        rest = {key: value for key, value in attack.items() if key not in ("goal", "say", "select")}
        made.append({**rest, "goal": suite["goals"][goal]})
    return made


def write_configs(folder: Path, attacks: list[dict[str, Any]], rows: int) -> None:
    """Write the two evals: one with attacks, one with as many plain trials."""
    common: dict[str, Any] = {
        "agent": {"type": "careful"},
        "dataset": [{"path": str(QUICKSTART / "tasks.jsonl"), "select": {"sample": rows}}],
        "sites": SITES,
        "lanes": 4,
        "limits": {"timeout_ms": 60_000, "max_steps": 60},
    }
    kinds: dict[str, dict[str, Any]] = {"attacked": {"attacks": attacks}, "plain": {"trials": len(attacks)}}
    for name, more in kinds.items():
        (folder / f"{name}.eval.json").write_text(json.dumps({**common, "name": name, **more}))


def measure(folder: Path, name: str) -> Cost:
    """Run one of the evals."""
    chosen = ["-m", "attack"] if name == "attacked" else []
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", f"{name}.eval.json"]
    return cost_of([*command, *chosen, "--eval-output=out"], folder, in_group=True)


def main() -> int:
    """Measure both in turns and tell."""
    parser = arguments((__doc__ or "").partition("\n")[0], rounds=1)
    parser.add_argument("--attacks", type=int, default=40, help="how many attacks")
    parser.add_argument("--rows", type=int, default=50, help="how many rows")
    options = parser.parse_args()
    costs: dict[str, list[Cost]] = {"plain": [], "attacked": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_configs(folder, make_attacks(options.attacks), options.rows)
        for _ in range(options.rounds):
            for kind, measured in costs.items():
                measured.append(measure(folder, kind))
                print(f"{kind}: {measured[-1].cpu_s:.0f} s of CPU, {measured[-1].wall_s:.0f} s")
    ratio = median(
        [one.cpu_s / other.cpu_s for one, other in zip(costs["attacked"], costs["plain"], strict=True)]
    )
    what = f"{options.attacks} attacks x {options.rows} rows to as many plain trials: CPU"
    lines = [against(what, ratio, "at most", GOAL)]
    print(table(lines), end="\n\n")
    report(
        {"ratio": ratio, "rounds": {k: [asdict(one) for one in v] for k, v in costs.items()}}, options.json
    )
    return exit_code(lines)


if __name__ == "__main__":
    sys.exit(main())
