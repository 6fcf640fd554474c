"""Calls that a model has written as text, since a server did not read its form."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

WRITTEN_CALL = "a call written as text"
"""How a warning calls a reply of which a server did not read the call."""

_CALL_NAMES = re.compile(
    r"""<(?:tool_call|function_call)>\s*(\w+)|<invoke\s+name=["']?(\w+)|<function=(\w+)"""
    r"""|^\s*(?:Action|Tool): *(\w+) *[\[({]|^\s*\[?(\w+)\(.*\)\]?\s*$"""
    r"""|\bfunctions\.(\w+)|tool▁sep\uff5c>(\w+)|\[TOOL_CALLS\]\s*(\w+)""",  # gpt-oss, DeepSeek, Mistral
    re.MULTILINE,
)
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


def is_written_call(text: str, names: Collection[str] | None = None) -> bool:
    """Return whether a text is a call that was written out, as a server did not read the model's form.

    Args:
        text: what a model has said without a call.
        names: of the tools that it may mean; any by default.
    """

    def is_tool(name: object) -> bool:
        return isinstance(name, str) and (names is None or name in names)

    if any(is_tool(name) for match in _CALL_NAMES.finditer(text) for name in match.groups()):
        return True
    found = _OBJECT.search(text)
    try:
        value = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    block = value["function"] if isinstance(value.get("function"), dict) else value
    has_arguments = any(key in block for key in ("arguments", "parameters", "args", "params"))
    return has_arguments and any(is_tool(block.get(key)) for key in ("name", "tool", "action", "function"))
