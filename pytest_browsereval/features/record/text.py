"""What the bar says of steps and checks, in plain words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import yaml
from pydantic import JsonValue

from pytest_browsereval.browsers.playwright.origins import shorten

_shorten = partial(shorten, limit=60)

_WORDS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_PLAIN = ("key", "direction", "url")
_WAYS = (
    (re.compile(r'role=(\w+)\[name=("(?:[^"\\]|\\.)*")\]'), r"\1 \2"),
    (re.compile(r"\b(?:text|label)="), ""),
)


def describe_step(content: Mapping[str, JsonValue], hidden: str = "") -> str:
    """Return what a person did, as an order.

    Args:
        content: the tool call.
        hidden: what stands for its text, if that is a secret.
    """
    tool = str(content["tool"])
    shown = {key: _format_argument(key, value) for key, value in content.items()}
    shown["value"] = shown.get("values", shown.get("value", ""))
    if hidden:
        shown["text"] = hidden
    key, more = _WORDS["ends"].get(tool, ("", ""))
    said: str = (_WORDS["steps"][tool] + (more if key in content else "")).format_map(shown)
    kind = "Right-click" if content.get("button") == "right" else ""
    kind = kind or ("Double-click" if content.get("click_count") == 2 else "")
    return said.replace("Click", kind, 1) if kind else said


def describe_check(content: Mapping[str, JsonValue], target: str = "") -> str:
    """Return what a check requires, as the end of a sentence.

    Args:
        content: the check.
        target: of the field that it is about.
    """
    if "text" in content:
        return f"the page shows {_quote(content['text'])}"
    if "url" in content:
        return f"the address is {_shorten(str(content['url']))}"
    field = _quote(content["field"]) if "field" in content else format_target(target)
    value = content["equals"]
    if isinstance(value, bool):
        return f"{field} is {'checked' if value else 'not checked'}"
    return f"{field} has the value {_quote(value)}"


def format_target(target: str) -> str:
    """Return a target in fewer signs: a role and a name, or a text."""
    for pattern, words in _WAYS:
        target = pattern.sub(words, target)
    return _shorten(target)


def _format_argument(key: str, value: JsonValue) -> str:
    if key in ("target", "source"):
        return format_target(str(value))
    if key == "accept":
        return "Accept" if value else "Dismiss"
    if isinstance(value, list):
        return ", ".join(str(one) if isinstance(one, int) else _quote(one) for one in value) or "nothing"
    return _shorten(str(value)) if key in _PLAIN or not isinstance(value, str) else _quote(value)


def _quote(value: JsonValue) -> str:
    return json.dumps(_shorten(str(value)), ensure_ascii=False)
