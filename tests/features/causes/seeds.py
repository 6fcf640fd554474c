"""Failures of known cause: what an agent does wrong on purpose, and what a person would say of it.

Cause and step were written by hand before the rules were run on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Seed:
    """An attempt that goes wrong on purpose."""

    name: str
    row: str
    """The row of the example; those of miniwob have no solution, and a passed attempt beside them."""
    steps: tuple[Step, ...]
    cause: str
    step: int
    setup: str = ""
    """What is added to the script of the start page."""


def click(target: str) -> Step:
    return {"tool": "click", "target": target}


def button(name: str) -> Step:
    return click(f'role=button[name="{name}"]')


def link(name: str) -> Step:
    return click(f'role=link[name="{name}"]')


def fill(target: str, text: str) -> Step:
    return {"tool": "fill", "target": target, "text": text}


def choose(target: str, value: str) -> Step:
    return {"tool": "select_option", "target": target, "value": value}


def check(target: str) -> Step:
    return {"tool": "check", "target": target}


def go(url: str) -> Step:
    return {"tool": "navigate", "url": url}


def read(target: str = "main") -> Step:
    return {"tool": "read_text", "target": target}


def done(answer: str = "Done") -> Step:
    return {"tool": "done", "answer": answer}


def wait(text: str, seconds: float) -> Step:
    return {"tool": "wait_for_text", "text": text, "timeout_s": seconds}


def again(times: int, *steps: Step) -> tuple[Step, ...]:
    return steps * times


MINIWOB = (
    Seed("types nonsense", "enter-text-2-1",
         (fill("#tt", "nonsense"), click("#subbtn"), done()), "wrong_value", 1),
    Seed("logs in as somebody else", "login-user-1",
         (fill("#username", "nobody"), fill("#password", "x"), click("#subbtn"), done()), "wrong_value", 1),
    Seed("fills one field of two", "enter-password-1",
         (read("#query"), fill("#password", "{quoted}"), click("#subbtn"), done()), "step_left_out", 3),
    Seed("a button with another name", "click-button-1",
         (*again(2, click('#area button:text-is("no such button")')), done()), "target_not_found", 1),
    Seed("reads and gives up", "click-link-1",
         (read("#query"), done("I cannot find the link.")), "gave_up", 2),
    Seed("opens and closes a section", "click-collapsible-nodelay-1",
         again(8, click("#area h3")), "repeated_action", 2),
    Seed("submits without a choice", "choose-list-1", (click("#area button"), done()), "step_left_out", 1),
    Seed("a wrong day", "enter-date-1",
         (fill("#tt", "2000-01-01"), click("#subbtn"), done()), "wrong_value", 1),
    Seed("calculates wrongly", "simple-arithmetic-1",
         (read("#math-problem"), fill("#math-answer", "9999"), click("#subbtn"), done()), "wrong_value", 2),
    Seed("types into what is not a field", "read-table-1",
         (*again(2, fill("#area table", "x")), done()), "same_error", 1),
)  # fmt: skip
