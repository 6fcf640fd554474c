"""``--eval-dashboard``: a page of the running run."""

from __future__ import annotations

import argparse

import pytest

from pytest_browsereval.hooks.names import is_controlled_key, is_worker, runs_nothing


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("browsereval").addoption(
        "--eval-dashboard",
        nargs="?",
        const=0,
        type=port_number,
        metavar="PORT",
        help="serve a live page of the run, on this machine only (needs the extra `dashboard`)",
    )


def port_number(text: str) -> int:
    """Return the port. A file behind the option is refused, which argparse takes for its value."""
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not 0 <= number <= 65535:
        advice = "Write `--eval-dashboard=PORT`, or put `--eval-dashboard` behind the files"
        raise argparse.ArgumentTypeError(f"{text!r} is not a port. {advice}")
    return number


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Serve the page if the option is given."""
    port: int | None = config.getoption("eval_dashboard")
    if port is None:
        return
    config.stash[is_controlled_key] = True  # in workers too: their attempts obey the page's controls
    if is_worker(config) or runs_nothing(config):
        return
    from pytest_browsereval.features.dashboard.hooks import LiveView
    from pytest_browsereval.hooks.controller import controller_key
    from pytest_browsereval.hooks.session import eval_session_key

    view = LiveView(config.stash[eval_session_key], config.stash[controller_key], port)
    config.pluginmanager.register(view, "browsereval-dashboard")
