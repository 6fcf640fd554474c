from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_browsereval.config import EvalConfig

Load = Callable[..., EvalConfig]
Refused = Callable[..., list[str]]

START = "agent: noop\ndataset: a.jsonl\ncapture:\n  "


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ("on", "on"),
        ("true", "on"),
        ("off", "off"),
        ("false", "off"),
        ("retain-on-failure", "retain-on-failure"),
    ],
)
def test_a_trace_is_switched_by_its_mode(load: Load, written: str, mode: str) -> None:
    """A boolean is a mode as well; everything is off by default."""
    capture = load(f"{START}trace: {written}").capture
    assert (capture.trace, capture.console, capture.dom, capture.har) == (mode, False, False, False)
    assert load(f"{START}console: true\n  dom: true").capture.trace == "off"


def test_another_word_is_refused(refused: Refused) -> None:
    """The message has the nearest mode."""
    (line,) = refused(f"{START}trace: retain-on-failures")
    assert "capture.trace: 'retain-on-failures' is not allowed. Did you mean 'retain-on-failure'?" in line
