"""Noticing where a program of another process is at work: no call of ours tells in which tab it clicks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

_WORLD = "browsereval"
"""A world of scripts of its own: the page does not see what runs there."""
_BINDING = "browserevalAtWork"
_LISTEN = f"""for (const kind of ['pointerdown', 'click', 'keydown', 'input', 'wheel'])
  addEventListener(kind, () => globalThis.{_BINDING}?.(kind), {{capture: true, passive: true}})"""


async def notice(session: CDPSession, at_work: Callable[[], None]) -> None:
    """Call a function whenever somebody clicks, types or scrolls in a page.

    Args:
        session: of the page.
        at_work: quick, and raises nothing.
    """

    def on_called(event: dict[str, Any]) -> None:
        if event["name"] == _BINDING:
            at_work()

    session.on("Runtime.bindingCalled", on_called)
    await session.send("Runtime.enable")
    await session.send("Runtime.addBinding", {"name": _BINDING, "executionContextName": _WORLD})
    script = {"source": _LISTEN, "worldName": _WORLD, "runImmediately": True}
    await session.send("Page.addScriptToEvaluateOnNewDocument", script)
