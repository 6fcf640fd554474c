"""What goes into the pages of an attempt: texts in fields, in editable parts, and in prompts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_browsereval.features.attacks.frames import evaluate_in_frames

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

_REPORT = "browserevalReportInput"
_WATCH = """(texts, report) => {
  if (document.browserevalInput) return;
  const note = (value) => texts.forEach((text, place) => {
    if (String(value ?? '').includes(text)) globalThis[report](place);
  });
  const look = (event) => {
    const field = event.composedPath()[0];  // in an open shadow tree too
    note(field && ('value' in field ? field.value : field.textContent));
  };
  const listen = () => ['input', 'change'].forEach((kind) => addEventListener(kind, look, true));
  Object.defineProperty(document, 'browserevalInput', {value: true});
  listen();
  // `document.open` takes all listeners away; what has been added already is not added again.
  new MutationObserver(listen).observe(document, {childList: true});
  const ask = globalThis.prompt;
  globalThis.prompt = function prompt(...given) {
    const answer = ask.apply(this, given);
    note(answer);
    return answer;
  };
}"""


async def watch_input(context: BrowserContext, texts: Sequence[str], report: Callable[[int], object]) -> None:
    """Look from now on whether texts are typed into pages: those that are open, and those that come.

    Args:
        context: where the pages are.
        texts: what is looked for.
        report: called with the place of a text, each time that it stands in a field.
    """
    await context.expose_binding(_REPORT, lambda _source, place: report(int(place)))
    # In every document from its beginning: frames without an address and windows written by scripts as well.
    script = f"({_WATCH})({json.dumps([*texts])}, {json.dumps(_REPORT)})"
    await context.add_init_script(script)

    async def begin(page: Page) -> None:
        await evaluate_in_frames(page, script)

    # The browser puts a second document into a window that is opened without an address, and no script in it.
    context.on("page", begin)
    for page in context.pages:
        await begin(page)


async def receive_input(context: BrowserContext) -> None:
    """Wait until pages have said what was typed up to now."""
    await asyncio.gather(*(evaluate_in_frames(page, "0") for page in context.pages))
