"""``doctor``: tries all that a run needs, and checks its rows, before money is spent."""

from __future__ import annotations

import argparse
import asyncio
import platform
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command, add_overrides, registry_near, say, version_of
from pytest_browsereval.commands.reporting import refuse_unwritable
from pytest_browsereval.commands.runs import find_runs
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.display import format_count

if TYPE_CHECKING:
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.features.doctor.doctor import Report
    from pytest_browsereval.features.doctor.lint.base import Finding
    from pytest_browsereval.features.doctor.validation import Validated

# Findings of a rule; `--all` lists all of them.
SHOWN = 5

# Whose versions are shown.
PACKAGES = (
    *("pytest-browsereval", "pytest", "pytest-xdist", "pytest-html"),
    *("playwright", "openai", "pydantic"),
)

# Options that need a config.
OPTIONS = ("online", "runs", "last", "validate", "ask_judge", "eval_set", "all", "html")


def doctor(arguments: argparse.Namespace) -> int:
    """Print what this machine has; with a config, try what that needs."""
    if arguments.config is not None:
        return examine_config(arguments)
    if given := next((name for name in OPTIONS if getattr(arguments, name)), None):
        option = {"runs": "run"}.get(given, given).replace("_", "-")
        raise UsageError(f"--{option} is about a config. Run `browsereval doctor CONFIG --{option}`.")
    return examine_machine()


def examine_machine() -> int:
    """Print the versions, the browser's by launching it; 1 if something is missing."""
    from pytest_browsereval.browsers.binary import find_binary, playwright_features_off
    from pytest_browsereval.browsers.machine import this_machine
    from pytest_browsereval.features.browser_install import ways

    say("python", f"{platform.python_version()} ({sys.executable})")
    for name in PACKAGES:
        say(name, version_of(name))
    binary = asyncio.run(find_binary())
    say("browser", str(binary))
    if not binary.is_headless_shell:
        pop_ups = "" if playwright_features_off() else " (2.8 times here: its pop-ups cannot be switched off)"
        say("", f"a headless shell needs less: this browser takes 1.5 times its CPU{pop_ups}. To get one:")
        say("", ways(this_machine())[0].strip())
    if not binary.draws_text:
        print("There is no font: pages with text crash. Run `browsereval install-browser`.", file=sys.stderr)
        return 1
    return 0


def _find_runs(config: EvalConfig, given: Sequence[str], last: int | None) -> list[Path]:
    from pytest_browsereval.run.lookup import earlier, run_folder

    found: list[Path] = []
    for one in given:
        found += find_runs([one]) if "://" in one else [run_folder(config, one, Path.cwd())]
    if last is not None:
        if len(found) != 1:
            raise UsageError(f"--last adds earlier runs to one run, and --run names {len(found)}. Name one.")
        found += islice(earlier(found[0]), last)
    return found


def examine_config(arguments: argparse.Namespace) -> int:
    """Print what was tried and what was found; 1 if a run would fail."""
    from pytest_browsereval.config import load_config
    from pytest_browsereval.features.doctor.doctor import Options, examine
    from pytest_browsereval.features.doctor.page import RowsPage
    from pytest_browsereval.report.links import check_page

    registry = registry_near(Path(arguments.config))
    config = load_config(Path(arguments.config), registry=registry, overrides=arguments.eval_set)
    if arguments.html is not None:
        check_page(arguments.html)
    runs = _find_runs(config, arguments.runs, arguments.last)
    options = Options(
        today=date.today(),  # noqa: DTZ011 rows mean the reader's own day
        runs=tuple(runs),
        online=arguments.online,
        ask_judge=arguments.ask_judge,
        validate=arguments.validate,
        sets=tuple(arguments.eval_set),
    )
    report = examine(config, registry, options)
    if arguments.html is not None:
        with refuse_unwritable(arguments.html):
            RowsPage(report.findings, report.rows, Path(arguments.config), len(runs)).write(arguments.html)
    for line in _lines(report, most=None if arguments.all else SHOWN):
        print(line)
    return int(report.has_errors)


def _lines(report: Report, most: int | None) -> Iterator[str]:
    width = min(max((len(one.subject) for one in report.checks), default=0), 40)
    for one in report.checks:
        first, *more = one.message.splitlines() or [""]
        yield f"{one.state:<9}{one.area:<9}{one.subject:<{width}}  {first}".rstrip()
        yield from (f"{'':<{20 + width}}{line}" for line in more)
    if report.validated is not None:
        yield from _proofs(report.validated)
    yield from _findings(report.findings, most)
    errors = sum(one.state == "error" for one in report.checks)
    errors += sum(found.level == "error" for found in report.findings)
    yield format_count(errors, "error") if errors else "no errors: a run can begin"


def _proofs(done: Validated) -> Iterator[str]:
    proved = format_count(len(done.proved), "row is", "rows are")
    yield f"{'ok' if done.proved else 'skipped':<9}{'proof':<9}{proved} proved"
    for why, ids in done.unproved.items():
        more = ", ..." * (len(ids) > SHOWN)
        yield (
            f"{'skipped':<9}{'proof':<9}{format_count(len(ids), 'row')}: {why}: "
            f"{', '.join(ids[:SHOWN])}{more}"
        )


def _findings(findings: tuple[Finding, ...], most: int | None) -> Iterator[str]:
    by_rule: dict[tuple[str, str], list[Finding]] = {}
    for found in findings:
        by_rule.setdefault((found.level, found.rule), []).append(found)
    for (level, rule), same in by_rule.items():
        yield f"{level:<9}{rule}: {len(same)}"
        yield from (f"{'':<9}{found}" for found in same[:most])
        if most is not None and len(same) > most:
            yield f"{'':<9}... and {len(same) - most} more; --all lists them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the config and what to do with it."""
    from pytest_browsereval.hooks.names import positive_integer

    parser.add_argument(
        "config",
        metavar="CONFIG",
        nargs="?",
        help="an eval config to check; without one, check this machine only",
    )
    parser.add_argument(
        "--online", action="store_true", help="also check that start pages and remote models answer"
    )
    parser.add_argument(
        "--run",
        dest="runs",
        metavar="RUN",
        action="append",
        default=[],
        help="also check the rows against an earlier run: its folder, its URL, its id, or 'latest' "
        "(repeatable)",
    )
    parser.add_argument(
        "--last",
        metavar="N",
        type=positive_integer,
        help="with --run, include the N runs of the config before it",
    )
    parser.add_argument(
        "--validate",
        action="store_true",
        help="run each row twice: its own solution has to pass, and an agent that does nothing has to fail",
    )
    parser.add_argument(
        "--ask-judge", action="store_true", help="also ask the models of judges, which costs a little"
    )
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="write a page that says which rows to mend, and how"
    )
    add_overrides(parser)
    parser.add_argument("--all", action="store_true", help="list all findings")


COMMANDS = (
    Command(
        "doctor",
        "show versions and start the browser; with a config, check everything that it needs",
        doctor,
        add_arguments,
    ),
)
