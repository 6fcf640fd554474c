"""``install-browser``: make sure that there is a browser that starts."""

from __future__ import annotations

import argparse
import sys

from pytest_browsereval.commands.base import Command


def install_browser(_: argparse.Namespace) -> int:
    """Make sure that a browser starts, and print which."""
    import asyncio

    from pytest_browsereval.features.shared import browser_install

    # Progress goes to stderr: scripts read the path from stdout.
    print(asyncio.run(browser_install.install_browser(lambda line: print(line, file=sys.stderr, flush=True))))
    return 0


COMMANDS = (
    Command(
        "install-browser",
        "install a browser if there is none, and check that it starts",
        install_browser,
        group="start",
    ),
)
