"""``gate``: what a run's folder says of the rules."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

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


def gate(arguments: argparse.Namespace) -> int:
    """Decide by a run's folder whether it meets a gate; 1 if it does not."""
    from pytest_browsereval.analysis.evidence import contradicting
    from pytest_browsereval.analysis.gate import decide
    from pytest_browsereval.analysis.parts import lacking
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.features.compare.gate_report import make_report
    from pytest_browsereval.run.manifest import check_manifest
    from pytest_browsereval.run.selection import count_wanted
    from pytest_browsereval.runs.run import StoredRun

    run = find_run(arguments.door, arguments.run_name, arguments.config, with_files=False)
    check_manifest(run)
    stored = StoredRun(run, arguments.door)
    _check_judges(arguments, stored)
    rules = _find_rules(arguments, run, stored)
    selected = count_wanted(stored) if (count := stored.count_selected()) is None else count
    found = (_check_unlimited(stored, rules), lacking(stored), contradicting(stored))
    of_run = (rule for rule in found if rule is not None)
    results = (*decide(stored.summary, rules, arguments.door.judge_run(stored, rules)), *of_run)
    if arguments.junit_xml is not None:
        from pytest_browsereval.features.compare.gate_junit import junit

        write(arguments.junit_xml, junit(stored, rules, results))
    source = "the run's own" if arguments.config is None else format_path(arguments.config)
    write_reports(arguments, make_report(stored, selected, source, results))
    return 0 if all(result.is_met for result in results) else 1


def _check_judges(arguments: argparse.Namespace, stored: StoredRun) -> None:
    """Refuse to decide without a conftest or a package that decides rules of the run.

    Raises:
        UsageError: one of them is not here.
    """
    base = Path.cwd() if arguments.config is None else arguments.config.parent
    here, given = arguments.door.list_judges(base), stored.read_manifest().get("judged_by")
    if lacking := [str(one) for one in given if one not in here] if isinstance(given, list) else []:
        raise UsageError(
            f"{stored.name} was also judged by {', '.join(lacking)}, which this command has not loaded. For "
            "a conftest, which is named relative to the run's config, name that config with --config FILE. A "
            "package has to be installed, and not left out by -p no:NAME."
        )


def _check_unlimited(stored: StoredRun, gate: GateConfig) -> RuleResult | None:
    """Return a rule that is missed where trials did not pass that the gate does not decide about; else None.

    In pytest these rows are red by themselves.
    """
    data = [trial.last for trial in stored.summary.trials]
    bad = sum(one.verdict is not Verdict.PASSED and not gate.decides(one) for one in data)
    if not bad:
        return None
    why = "`rows: fail` allows none" if gate.rows == "fail" else "no rule says how many may not"
    message = f"{bad} of {len(data)} trials did not pass, and {why}"
    return RuleResult("rows", is_met=False, message=message)


def _find_rules(arguments: argparse.Namespace, run: Path, stored: StoredRun) -> GateConfig:
    """Return the rules, with the absolute path of their baseline.

    Raises:
        UsageError: there are no rules, or there is no baseline.
    """
    from pytest_browsereval.config import gate_from, load_gate
    from pytest_browsereval.features.compare.baseline import check_readable
    from pytest_browsereval.features.compare.rules import lacks_baseline

    sets, registry, config = [*arguments.eval_set], arguments.door.load_registry, arguments.config
    if arguments.baseline is not None:
        place = find_baseline(arguments.door, arguments.baseline, arguments.config, of=run).absolute()
        sets.append(f"gate.baseline={json.dumps(str(place))}")
    if config is not None:
        rules, base = load_gate(config, registry=registry, overrides=sets), config.absolute().parent
    else:
        block, name = stored.find_gate(), str(run / "manifest.json")
        try:
            rules = gate_from(block, name=name, registry=registry, overrides=sets)
        except ConfigError as error:
            # The run does not say which conftest brought its rules.
            has_own = isinstance(block, dict) and block.get("rules")
            hint = "\nFor a rule from a conftest, add --config FILE." if has_own else ""
            raise ConfigError(f"{error}{hint}") from None
        is_typed = any(one.partition("=")[0] in ("gate", "gate.baseline") for one in sets)
        # Next to its config: a file of that name elsewhere would decide by other results.
        base = Path.cwd() if is_typed else run / str(stored.read_manifest().get("config_folder", ""))
    if rules is None:
        # The defaults are nearly always met: exit 0 would look like a decision.
        raise UsageError(
            f"{config or run} has no `gate`. Name rules with --config FILE or --eval-set "
            "gate.min_pass_rate=0.9."
        )
    if message := lacks_baseline(rules):
        raise UsageError(message)
    if rules.baseline is not None:
        place = (base / rules.baseline).resolve()
        check_readable(place)
        return rules.model_copy(update={"baseline": place})
    return rules


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
