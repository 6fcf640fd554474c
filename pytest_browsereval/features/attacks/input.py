"""What goes into the pages of an attempt: texts in fields, in editable parts, and in prompts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.features.shared.world_script import WorldScript
from pytest_browsereval.model.messages import AnyMessage, ToolCallMessage, ToolResultMessage

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

_WATCH = Path(__file__).with_name("input.js").read_text(encoding="utf-8")


TYPING = frozenset({"fill", "type_text", "type_keys", "type_at"})


def list_typed(messages: Iterable[AnyMessage]) -> Iterator[tuple[int, str]]:
    """Yield what calls of tools have typed, each with the number of its step.

    A page can draw its own fields, or stop the events of a document that it has written anew.
    """
    calls: dict[str, tuple[int, str]] = {}
    steps = itertools.count(1)
    for one in messages:
        if isinstance(one, ToolCallMessage):
            step = next(steps)
            calls[one.tool_call_id] = step, str(one.params.get("text") or "") if one.tool in TYPING else ""
        elif isinstance(one, ToolResultMessage) and not one.is_error and one.tool_call_id in calls:
            yield calls[one.tool_call_id]


async def watch_input(
    context: BrowserContext, texts: Sequence[str], report: Callable[[int], object]
) -> WorldScript:
    """Look from now on whether texts are typed into pages: those that are open, and those that come.

    Args:
        context: where the pages are.
        texts: what is looked for.
        report: called with the place of a text, each time that it was typed into a field or a prompt.
    """

    def on_dialog_closed(event: dict[str, Any]) -> None:
        said = str(event.get("userInput", "")) if event["result"] else ""
        for place, text in enumerate(texts):
            if text in said:
                report(place)

    script = _WATCH.replace("TEXTS", json.dumps([*texts]))
    watch = WorldScript(context, script, report, {"Page.javascriptDialogClosed": on_dialog_closed})
    await watch.begin()
    return watch
