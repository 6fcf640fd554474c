"""``compare``, ``gate`` and ``baseline``: what run folders say of each other and of the rules."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.commands.base import Command
from pytest_browsereval.errors import UsageError

if TYPE_CHECKING:
    from pytest_browsereval.config import GateConfig


def compare(arguments: argparse.Namespace) -> int:
    """Compare two runs; 0 whatever comes of it."""
    from pytest_browsereval.analysis.baseline import read_run
    from pytest_browsereval.analysis.compare import as_json
    from pytest_browsereval.analysis.compare import compare as compare_runs
    from pytest_browsereval.report import comparison
    from pytest_browsereval.report.comparison_markdown import markdown

    found = compare_runs(
        read_run(arguments.a),
        read_run(arguments.b),
        margin=arguments.margin,
        with_edited=arguments.with_edited,
        variants=arguments.variants,
    )
    _tell(
        arguments,
        text=lambda: "\n".join(comparison.text(found)) + "\n",
        content=lambda: as_json(found),
        markdown=lambda: markdown(found),
    )
    return 0


def gate(arguments: argparse.Namespace) -> int:
    """Decide by a run's folder whether it meets a gate; 1 if it does not."""
    from pytest_browsereval.analysis.baseline import against_baseline, lacks_baseline
    from pytest_browsereval.analysis.gate import complete, decide
    from pytest_browsereval.analysis.outcomes import check_run, outcomes_of
    from pytest_browsereval.analysis.quarantine import quarantined
    from pytest_browsereval.analysis.summary import summary_of
    from pytest_browsereval.report import gate as report
    from pytest_browsereval.run.store import RunStore

    check_run(arguments.run_folder)
    rules, base = _rules(arguments)
    if told := lacks_baseline(rules):
        raise UsageError(told.replace("--eval-baseline", "--baseline"))
    store = RunStore(arguments.run_folder)
    summary = summary_of(store)
    compared = None
    if rules.baseline is not None:
        out = quarantined(rules, (trial.metadata for trial in summary.trials))
        compared = against_baseline(rules, base, outcomes_of(store, summary), left_out=out)
    selected = store.selected()
    lacking = complete(summary, selected, store.skipped())
    results = (*decide(summary, rules, compared), *([lacking] if lacking else []))
    _tell(
        arguments,
        text=lambda: report.text(store.root, summary, selected, results),
        content=lambda: report.as_json(store.root, summary, selected, results),
        markdown=lambda: report.markdown(store.root, summary, selected, results),
    )
    return 0 if all(result.is_met for result in results) else 1


def _rules(arguments: argparse.Namespace) -> tuple[GateConfig, Path]:
    """Return the rules and the folder that their baseline is relative to: of a config, else of the run."""
    from pytest_browsereval.config import GateConfig, gate_from, load_gate
    from pytest_browsereval.run.store import RunStore

    sets = [*arguments.eval_set]
    if arguments.baseline is not None:
        sets.append(f"gate.baseline={json.dumps(str(arguments.baseline.absolute()))}")
    if arguments.config is not None:
        return load_gate(arguments.config, overrides=sets), arguments.config.absolute().parent
    run = arguments.run_folder
    stored = RunStore(run).manifest().get("config")
    block = stored.get("gate") if isinstance(stored, dict) else None
    rules = gate_from(block, name=str(run / "manifest.json"), overrides=sets)
    if rules == GateConfig() and not sets:
        told = "has no gate of its own" if block else "has no manifest that tells its gate"
        raise UsageError(f"{run} {told}. Name rules by --config FILE or --eval-set gate.min_pass_rate=0.9.")
    parents = run.resolve().parents  # BASE/results/NAME/RUN
    return rules, parents[min(2, len(parents) - 1)]


def baseline(arguments: argparse.Namespace) -> int:
    """Write a run as a small file that can be committed."""
    from pytest_browsereval.analysis.baseline import write_baseline
    from pytest_browsereval.analysis.outcomes import read_outcomes
    from pytest_browsereval.documents import shown

    run = read_outcomes(arguments.run_folder)
    write_baseline(run, arguments.file)
    rate = run.rate
    told = "no trial judged" if rate.value is None else f"pass rate {rate.value:.1%} of {rate.judged}"
    print(f"{shown(arguments.file)}: {len(run.trials)} trials, {told}")
    return 0


def _uncollected(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Have a command run without the garbage collector: it would look through all trials again and again."""

    def command(arguments: argparse.Namespace) -> int:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return run(arguments)
        finally:
            if was_on:
                gc.enable()

    return command


def _tell(
    arguments: argparse.Namespace,
    *,
    text: Callable[[], str],
    content: Callable[[], dict[str, Any]],
    markdown: Callable[[], str],
) -> None:
    """Write the reports that are asked for; ``-`` gives one the place of the terminal's own."""
    reports = {
        arguments.json: lambda: _json(content()),
        arguments.markdown: markdown,
    }
    if arguments.json == arguments.markdown != None:  # noqa: E711
        raise UsageError(f"--json and --markdown are both to be written to {arguments.json}. Name two files.")
    for place, made in reports.items():
        if place is not None and str(place) != "-":
            _write(place, made())
    _print(reports.get(Path("-"), text)())


def _json(content: dict[str, Any]) -> str:
    """Return it with a line for each entry of its last list: indented, 20,000 of them would take seconds."""
    *head, (last, tasks) = content.items()
    if not isinstance(tasks, list) or not tasks:
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    lines = ",\n".join(f"  {json.dumps(task, ensure_ascii=False)}" for task in tasks)
    start = json.dumps(dict(head), ensure_ascii=False, indent=1).removesuffix("\n}")
    return f"{start},\n {json.dumps(last)}: [\n{lines}\n ]\n}}\n"


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def _write(path: Path, text: str) -> None:
    from pytest_browsereval.capture.trajectory import write_whole

    try:
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from None


def _margin(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1; 0.05 is 5 points")
    return value


def _two(text: str) -> tuple[str, str]:
    first, equals, second = text.partition("=")
    if not (first and equals and second):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NAME: a variant of A and one of B")
    return first, second


def _reports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures; - is standard output")
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="write a report for a comment; - as well"
    )


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "a", metavar="A", type=Path, help="the baseline: a run's folder, or a baseline's file"
    )
    parser.add_argument("b", metavar="B", type=Path, help="the run that is compared with it")
    parser.add_argument(
        "--margin",
        metavar="X",
        type=_margin,
        default=0.05,
        help="how much lower B's pass rate may be and still be not worse (0.05, 5 points)",
    )
    parser.add_argument(
        "--variants",
        metavar="A=B",
        type=_two,
        help="compare one variant of A with one of B, which may differ",
    )
    parser.add_argument(
        "--with-edited",
        action="store_true",
        help="count rows that were edited between the runs as if they were the same",
    )
    _reports(parser)


def _gate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", type=Path, help="the run's folder")
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="the config with the gate (default: as the run had it)"
    )
    parser.add_argument(
        "--eval-set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a key of the gate: gate.min_pass_rate=0.9 (repeatable)",
    )
    parser.add_argument(
        "--baseline", metavar="RUN", type=Path, help="the baseline: a run's folder or a baseline's file"
    )
    _reports(parser)


def _baseline_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", type=Path, help="the run's folder")
    parser.add_argument("file", metavar="FILE", type=Path, help="the file to write, such as baseline.json")


COMMANDS = (
    Command(
        "compare",
        "compare two runs task by task: which is better, and how sure",
        _uncollected(compare),
        _compare_arguments,
    ),
    Command(
        "gate",
        "decide again by a run's folder whether it meets its gate; exit 1 if not",
        _uncollected(gate),
        _gate_arguments,
    ),
    Command(
        "baseline", "write a run as a small file to commit, for gate.baseline", baseline, _baseline_arguments
    ),
)
