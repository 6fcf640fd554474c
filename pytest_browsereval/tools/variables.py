"""Types the value of a variable where a call has its name: ``${CODE}``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_browsereval.browsers.playwright.origins import origin_of
from pytest_browsereval.tools.base import Refusal, ToolContext

TYPING = frozenset({"fill", "type_text", "type_at", "type_keys"})
"""The tools whose ``text`` may be a variable: what other tools take stays as it is."""

_NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def find_value(name: str, arguments: Mapping[str, Any], context: ToolContext | None, url: str) -> str | None:
    """Return what a call types by its name; None if it types its text.

    Args:
        name: of the tool.
        arguments: of the call.
        context: with the values of variables.
        url: of the page; another one than the row's may have talked the agent into it.

    Raises:
        Refusal: the page is neither of the origin that the row starts at nor of a site.
    """
    match = _NAMED.fullmatch(str(arguments.get("text"))) if name in TYPING else None
    if match is None or context is None or match[1] not in context.variables:
        return None
    own = (context.task.start_url or "", *context.site_urls.values())
    allowed = {origin_of(one) for one in own if one.startswith("http")}
    if origin_of(url) not in allowed:
        places = ", ".join(sorted(allowed)) or "the row's start_url, but it has none"
        raise Refusal(f"{match[0]} is typed only on pages of {places}.")
    return context.variables[match[1]]
