"""Steps of agents in designed failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Step = Mapping[str, Any]


def click(target: str) -> Step:
    return {"tool": "click", "target": target}


def button(name: str) -> Step:
    return click(f'role=button[name="{name}"]')


def link(name: str) -> Step:
    return click(f'role=link[name="{name}"]')


def fill(target: str, text: str) -> Step:
    return {"tool": "fill", "target": target, "text": text}


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
