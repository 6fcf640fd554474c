"""``gate``: what a run's folder says of the rules."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.commands.base import Command, add_overrides
from pytest_browsereval.commands.runs import HELP, HELP_OF_BASELINE, find_run
from pytest_browsereval.errors import ConfigError, UsageError
from pytest_browsereval.features.compare.lookup import find_baseline
from pytest_browsereval.features.shared.reporting import add_reports, write, write_reports
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult

if TYPE_CHECKING:
    from pytest_browsereval.config import GateConfig
    from pytest_browsereval.runs.run import StoredRun
    from pytest_browsereval.runs.summary import RunSummary


def gate(arguments: argparse.Namespace) -> int:
    """Decide by a run's folder whether it meets a gate; 1 if it does not."""
    from pytest_browsereval.analysis.evidence import contradicting
    from pytest_browsereval.analysis.gate import decide
    from pytest_browsereval.analysis.parts import lacking
    from pytest_browsereval.features.compare.baseline import check_readable, lacks_baseline
    from pytest_browsereval.features.compare.gate_report import make_report
    from pytest_browsereval.run.manifest import check_manifest
    from pytest_browsereval.run.selection import count_wanted
    from pytest_browsereval.runs.run import StoredRun

    run = find_run(arguments.door, arguments.run_name, arguments.config, with_files=False)
    check_manifest(run)
    stored = StoredRun(run, arguments.door)
    manifest = stored.read_manifest()
    _check_judges(arguments, run, manifest.get("judged_by"))
    rules, base = _rules(arguments, run, stored, manifest)
    if message := lacks_baseline(rules):
        raise UsageError(message.replace("--eval-baseline", "--baseline"))
    if rules.baseline is not None:
        check_readable(place := base / rules.baseline)
        rules = rules.model_copy(update={"baseline": place})
    summary = stored.summary
    selected = count_wanted(stored) if (count := stored.count_selected()) is None else count
    found = (_check_unlimited(summary, rules), lacking(stored), contradicting(stored))
    of_run = (rule for rule in found if rule is not None)
    results = (*decide(summary, rules, arguments.door.judge_run(stored, rules)), *of_run)
    if arguments.junit_xml is not None:
        from pytest_browsereval.features.compare.gate_junit import junit

        write(arguments.junit_xml, junit(stored, rules, results))
    write_reports(arguments, make_report(run, stored, selected, results))
    return 0 if all(result.is_met for result in results) else 1


def _check_judges(arguments: argparse.Namespace, run: Path, given: object) -> None:
    """Refuse to decide without a conftest or a package that decides rules of the run.

    Raises:
        UsageError: one of them is not here.
    """
    from pytest_browsereval.config_text import format_path

    base = Path.cwd() if arguments.config is None else arguments.config.parent
    here = arguments.door.list_judges(base)
    if lacking := [str(one) for one in given if one not in here] if isinstance(given, list) else []:
        raise UsageError(
            f"{format_path(run)} was judged by {', '.join(lacking)} too, which this command has not loaded. "
            "Conftests are named relative to the run's config: name it with --config FILE, and the conftests "
            "of its folder are loaded. A package has to be installed, and not left out by -p no:NAME."
        )


def _check_unlimited(summary: RunSummary, gate: GateConfig) -> RuleResult | None:
    """Return a rule that is missed where trials did not pass that the gate does not decide about; else None.

    In pytest these rows are red by themselves.
    """
    data = [trial.last for trial in summary.trials]
    bad = sum(one.verdict is not Verdict.PASSED and not gate.decides(one) for one in data)
    if not bad:
        return None
    why = "`rows: fail` allows none" if gate.rows == "fail" else "no rule says how many may not"
    message = f"{bad} of {len(data)} trials did not pass, and {why}"
    return RuleResult("rows", is_met=False, message=message)


def _rules(
    arguments: argparse.Namespace, run: Path, stored: StoredRun, manifest: Mapping[str, Any]
) -> tuple[GateConfig, Path]:
    """Return the rules and the folder that their baseline is relative to: that of a config.

    Raises:
        UsageError: there are no rules, or the baseline of a run's own gate is missing.
    """
    from pytest_browsereval.config import gate_from, load_gate

    sets = [*arguments.eval_set]
    if arguments.baseline is not None:
        place = find_baseline(arguments.door, arguments.baseline, arguments.config, of=run).absolute()
        sets.append(f"gate.baseline={json.dumps(str(place))}")
    if arguments.config is not None:
        config: Path = arguments.config
        rules = load_gate(config, registry=arguments.door.load_registry, overrides=sets)
        if rules is None:
            raise UsageError(_describe_no_gate(config, "has no `gate`"))
        _note_other_eval(run, manifest.get("name"), config)
        return rules, config.absolute().parent
    block = stored.find_gate()
    try:
        name = str(run / "manifest.json")
        rules = gate_from(block, name=name, registry=arguments.door.load_registry, overrides=sets)
    except ConfigError as error:
        # The run does not say which conftest brought its rules.
        if not (isinstance(block, dict) and block.get("rules")):
            raise
        raise ConfigError(f"{error}\nA rule of a conftest is known with --config FILE.") from None
    if rules is None:
        raise UsageError(_describe_no_gate(run, "has no gate of its own, or its manifest is missing"))
    is_typed = any(one.partition("=")[0] in ("gate", "gate.baseline") for one in sets)
    return rules, Path.cwd() if is_typed else _find_base(run, manifest.get("config_folder"), rules)


def _describe_no_gate(place: Path, why: str) -> str:
    # The defaults are nearly always met: exit 0 would look like a decision.
    return f"{place} {why}. Name rules with --config FILE or --eval-set gate.min_pass_rate=0.9."


def _note_other_eval(run: Path, name: object, config: Path) -> None:
    """Say that the rules are those of another eval: one gate for several is fine, a wrong file is not."""
    from pytest_browsereval.config import load_place
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.model.display import one_line

    place = None
    with suppress(ConfigError):  # the rest of the file has to be right for a run, and not for this
        place = load_place(config)
    if place is not None and isinstance(name, str) and name != place[1]:
        own, other = (one_line(one, 60) for one in (name, place[1]))
        print(
            f"note: {format_path(run)} is a run of the eval {own!r}; the rules are those of {other!r}, from "
            f"{format_path(config)}",
            file=sys.stderr,
        )


def _find_base(run: Path, folder: object, rules: GateConfig) -> Path:
    """Return the folder that the baseline of a run's own gate is relative to: that of its config.

    Raises:
        UsageError: it is unknown, or there is no baseline. Another file of that name elsewhere
            would decide by other results.
    """
    if rules.baseline is None or rules.baseline.is_absolute():
        return run
    base = run.resolve() / folder if isinstance(folder, str) else None
    if base is None or not (base / rules.baseline).resolve().exists():
        where = "the run does not say where that is" if base is None else f"there is none at {base.resolve()}"
        raise UsageError(
            f"the gate of {run} compares with {rules.baseline}, a path next to its config, and {where}: it "
            "is merged, older, or was moved. Name the config with --config FILE, or the baseline with "
            "--baseline FILE."
        )
    return base


def _gate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="the config with the gate (default: that of the run)"
    )
    add_overrides(parser, "override a key of the gate: gate.min_pass_rate=0.9 (repeatable)")
    parser.add_argument(
        "--baseline", metavar="RUN", help=f"the baseline: {HELP_OF_BASELINE}. 'latest' is the run before RUN"
    )
    add_reports(parser)
    parser.add_argument(
        "--junit-xml", metavar="FILE", type=Path, help="write trials and rules as a JUnit file for CI systems"
    )


COMMANDS = (
    Command(
        "gate",
        "check again whether a run meets its gate; exit 1 if it does not",
        gate,
        _gate_arguments,
        group="ci",
    ),
)
