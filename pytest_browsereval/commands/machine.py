"""``doctor`` and ``install-browser``: what this machine has, and what it lacks."""

from __future__ import annotations

import argparse
import asyncio
import platform
import sys

from pytest_browsereval.commands import doctor as config_doctor
from pytest_browsereval.commands.base import Command, say, version_of
from pytest_browsereval.errors import UsageError

_PACKAGES = (
    "pytest-browsereval",
    "pytest",
    "pytest-xdist",
    "pytest-html",
    "playwright",
    "openai",
    "pydantic",
)


def doctor(arguments: argparse.Namespace) -> int:
    """Print the versions that matter, the browser's by launching it; of a config, all that it needs."""
    if arguments.config is not None:
        return config_doctor.examine_config(arguments)
    if given := next((name for name in config_doctor.OPTIONS if getattr(arguments, name)), None):
        option = {"runs": "run"}.get(given, given).replace("_", "-")
        raise UsageError(f"--{option} is about a config. Write  browsereval doctor CONFIG --{option}")
    from pytest_browsereval.browsers.binary import find_binary, playwright_features_off
    from pytest_browsereval.browsers.install import ways
    from pytest_browsereval.browsers.machine import this_machine

    say("python", f"{platform.python_version()} ({sys.executable})")
    for name in _PACKAGES:
        say(name, version_of(name))
    binary = asyncio.run(find_binary())
    say("browser", str(binary))
    if not binary.is_headless_shell:
        pop_ups = "" if playwright_features_off() else " (2.8 times here: its pop-ups cannot be switched off)"
        say("", f"a headless shell takes less: this one costs 1.5 times the CPU{pop_ups}. To get one:")
        say("", ways(this_machine())[0].strip())
    if not binary.draws_text:
        print("There is no font: pages with text crash. Type  browsereval install-browser", file=sys.stderr)
        return 1
    return 0


def install_browser(arguments: argparse.Namespace) -> int:
    """Make sure that a browser starts, and print which."""
    del arguments
    from pytest_browsereval.browsers import install

    print(asyncio.run(install.install_browser(lambda line: print(line, file=sys.stderr, flush=True))))
    return 0


COMMANDS = (
    Command(
        "doctor",
        "show versions and launch the browser that is used; with a config, try all that it needs",
        doctor,
        config_doctor.add_arguments,
    ),
    Command("install-browser", "make sure that there is a browser, and launch it", install_browser),
)
