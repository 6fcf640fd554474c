"""``doctor`` without a config: the versions that matter, and the browser that is used."""

from __future__ import annotations

import asyncio
import platform
import sys

from pytest_browsereval.commands.base import say, version_of

_PACKAGES = (
    "pytest-browsereval",
    "pytest",
    "pytest-xdist",
    "pytest-html",
    "playwright",
    "openai",
    "pydantic",
)


def examine_machine() -> int:
    """Print the versions, the browser's by launching it; 1 if something is missing."""
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
        print("There is no font: pages with text crash. Run `browsereval install-browser`.", file=sys.stderr)
        return 1
    return 0
