"""Where an attempt is shown."""

from __future__ import annotations

from pathlib import Path

from pytest_browsereval.report.links import page_of


def test_the_address_of_an_attempt_in_the_page_of_its_run() -> None:
    """The page of the run that the attempt's folder is in, and the path from there."""
    attempt = Path("/results/shop/run-1/tasks/buy/default/1/attempt-2")
    assert page_of(attempt) == "/results/shop/run-1/index.html#/buy/default/1/attempt-2"
