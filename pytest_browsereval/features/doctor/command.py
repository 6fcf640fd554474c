"""``doctor``: tries all that a run needs, and checks its rows, before money is spent."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import date
from pathlib import Path

from pytest_browsereval.commands.base import Command, add_overrides, say, version_of
from pytest_browsereval.commands.runs import note_edited
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.reporting import add_reports, write_reports

# Whose versions are shown.
PACKAGES = (
    *("pytest-browsereval", "pytest", "pytest-xdist", "pytest-html"),
    *("playwright", "openai", "pydantic"),
)

# Options that need a config.
OPTIONS = (
    "online",
    "runs",
    "last",
    "validate",
    "learn_volatile",
    "ask_judge",
    "eval_set",
    "all",
    "json",
    "markdown",
)


def doctor(arguments: argparse.Namespace) -> int:
    """Print what this machine has; with a config, try what that needs."""
    if arguments.config is not None:
        return examine_config(arguments)
    if given := next((name for name in OPTIONS if getattr(arguments, name)), None):
        option = {"runs": "run"}.get(given, given).replace("_", "-")
        raise UsageError(f"--{option} is about a config. Run `browsereval doctor CONFIG --{option}`.")
    return examine_machine()


def examine_machine() -> int:
    """Print the versions, the keys and the browser's name, by launching it; 1 if something is missing."""
    import asyncio

    from pytest_browsereval.features.shared.browser_binary import find_binary
    from pytest_browsereval.features.shared.browser_install import describe_ways, this_machine
    from pytest_browsereval.providers import PROVIDERS

    say("python", f"{platform.python_version()} ({sys.executable})")
    for name in PACKAGES:
        say(name, version_of(name))
    variables = sorted({one.key_variable for one in PROVIDERS.values() if one.key_variable})
    for state, is_set in ("set", True), ("not set", False):
        say(f"keys {state}", ", ".join(key for key in variables if (key in os.environ) is is_set) or "none")
    binary = asyncio.run(find_binary())
    say("browser", str(binary))
    if not binary.is_headless_shell:
        say("", "a headless shell needs less: this browser takes 1.5 times its CPU. To get one:")
        say("", describe_ways(this_machine())[0].strip())
    if not binary.draws_text:
        print("There is no font: pages with text crash. Run `browsereval install-browser`.", file=sys.stderr)
        return 1
    return 0


def examine_config(arguments: argparse.Namespace) -> int:
    """Print what was tried and what was found; 1 if a run would fail, or an earlier one was edited."""
    from pytest_browsereval.config import load_config
    from pytest_browsereval.features.doctor.doctor import Options, examine
    from pytest_browsereval.features.doctor.report import make_report
    from pytest_browsereval.features.shared.named_runs import find_named_runs
    from pytest_browsereval.runs.run import StoredRun

    registry = arguments.door.load_registry()
    config = load_config(Path(arguments.config), registry=registry, overrides=arguments.eval_set)
    if arguments.learn_volatile and not any(site.state for site in config.sites.values()):
        raise UsageError(
            "--learn-volatile is about the state of sites, but no site has one. "
            "Write `sites: {shop: {state: {storage: local:shop}}}`, or `sqlite`, `url`, `files` or `command`."
        )
    named = argparse.Namespace(**{**vars(arguments), "run_names": arguments.runs, "config": config.path})
    runs = find_named_runs(named) if arguments.runs or arguments.last else []
    options = Options(
        today=date.today(),  # noqa: DTZ011 rows mean the reader's own day
        runs=tuple(StoredRun(one, arguments.door) for one in runs),
        online=arguments.online,
        ask_judge=arguments.ask_judge,
        validate=arguments.validate,
        learn_volatile=arguments.learn_volatile,
        sets=tuple(arguments.eval_set),
    )
    done = examine(config, registry, options)
    write_reports(arguments, make_report(done, lists_all=arguments.all))
    return int(note_edited(options.runs) or done.has_errors)


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
        help="run each row twice: its solution has to pass, and an agent that does nothing has to fail; run "
        "rows with effects again with another row's steps added, which must count as a side effect",
    )
    parser.add_argument(
        "--learn-volatile",
        action="store_true",
        help="run rows with effects twice with their solutions and with an agent that does nothing, and "
        "propose `volatile` for the sites: what differs although no effect names it",
    )
    parser.add_argument(
        "--ask-judge", action="store_true", help="also ask the models of judges, which costs a little"
    )
    add_overrides(parser)
    parser.add_argument("--all", action="store_true", help="list all findings")
    add_reports(parser)


COMMANDS = (
    Command(
        "doctor",
        "show versions and keys, and start the browser; with a config, check everything that it needs",
        doctor,
        add_arguments,
        group="start",
    ),
)
