"""Records what a person does in a window.

A script listens in each frame, in a *world* of its own: it shares the page's elements and none of its
variables, so the page's scripts find neither the script nor the function by which it reports here; both
have names made for this recording besides. It takes the events that the browser made of real input only
(``isTrusted``), and hears them before the page does. The bar is in a closed shadow tree.

What remains to a hostile page: it chooses the names and texts of its elements, which are bounded, one line
each, and only ever become strings of the row. It can move things under the pointer, the element that holds
the bar too, so a person may press *Finish* or *Cancel* who meant to click elsewhere, or click a thing that
vanishes; it can remove the bar for a third of a second at a time. It can ask by ``window.find`` whether a
text is in the bar, where secrets are hidden. It cannot add a step without real input, nor select what the bar
says.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue, ValidationError

from pytest_browsereval.browsers.playwright.clipboard import QUESTION
from pytest_browsereval.browsers.playwright.page_text import READ_TEXT
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, playwright_error, quietly
from pytest_browsereval.features.record.calls import make_call, make_checks
from pytest_browsereval.features.record.checks import Judge
from pytest_browsereval.features.record.event import Signal, View
from pytest_browsereval.features.record.files import find_files
from pytest_browsereval.features.record.steps import SHORTEST_FOUND, Item, ItemList, Kind, find_leak
from pytest_browsereval.features.record.text import describe_check
from pytest_browsereval.tools.targets import locate

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Frame, Page

    from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow

ANSWER_S = 1.0
"""How long a page may take to answer the recorder; a person waits for it."""
AT_ONCE_MS = 500
"""How soon after a click a script goes through the history; people take longer to press *Back*."""
LONGEST_SIGNAL = 100_000
LONGEST_TYPED = 2_000
"""Characters that are typed into a dialog."""
SCRIPTS = ("target.js", "bar.js", "redaction.js", "survey.js", "recorder.js")

START = "Do the task, then point at what proves that it is done."
HINTS = {
    "": START,
    "text": "Click the text that proves it. Esc cancels.",
    "value": "Click a field. Its value now is the one required at the end. Esc cancels.",
}
_ROLE = re.compile(r"role=\w+(?=\[)")
_QUIET = ("hello", "look", "traverse", "place", "nothing", "dialog")
"""What a person does not press while they are asked whether to cancel."""

Prove = Callable[[list[Item]], Awaitable[list[str]]]
"""Tries what was recorded as a row; returns why it does not hold, nothing if it does."""

Heard = tuple[View | None, int, Signal]


class Recorder:
    """Records what is done in a window, until the person has finished.

    Args:
        window: at its start page.
        items: where what is done is kept, with the secrets that are known.
        prove: tries a row before the recording ends.
    """

    def __init__(self, window: PlaywrightWindow, items: ItemList, prove: Prove) -> None:
        self.list = items
        self._prove = prove
        self.window = window
        self._heard: asyncio.Queue[Heard] = asyncio.Queue()
        self._views: list[View] = []
        self._tab = window.tab_id
        self._judge = Judge(window)
        self._mode = ""
        self._said, self._is_warning, self._is_busy, self._asks = START, False, False, False
        self._place, self._is_open = (500, 1000), False
        self._requested_at = 0.0
        self._verified: dict[tuple[str, ...], str] = {}
        self._bridge, self._world = f"b{secrets.token_hex(16)}", secrets.token_hex(16)
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self) -> None:
        """Listen to the pages of the window, and to those that will open."""
        context = self.window.context
        context.on("page", lambda page: self._spawn(self._attach(page)))
        context.on("close", lambda _: self._put(None, Signal(kind="closed")))
        context.on("request", self._on_requested)
        await self._judge.begin()
        for page in context.pages:
            await self._attach(page)

    async def wait(self) -> bool:
        """Record until the person has finished; return whether there is to be a row."""
        try:
            while True:
                view, context, signal = await self._heard.get()
                is_wanted = await self._take(view, context, signal)
                self._heard.task_done()
                if is_wanted is not None:
                    return is_wanted
        finally:
            for task in self._tasks:
                task.cancel()

    # -- listening

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _put(self, view: View | None, signal: Signal, context: int = 0) -> None:
        self._heard.put_nowait((view, context, signal))

    async def _attach(self, page: Page, frame: Frame | None = None) -> None:
        """Listen to a page, or to a frame of it that has a process of its own."""
        try:
            session = await self.window.context.new_cdp_session(frame or page)
            view = View(page, session)
            session.on("Runtime.bindingCalled", partial(self._on_called, view))
            session.on("Runtime.executionContextCreated", partial(self._on_context, view))
            session.on("Runtime.executionContextDestroyed", partial(self._on_context_gone, view))
            session.on("Page.frameRequestedNavigation", partial(self._on_request, view))
            session.on("Page.javascriptDialogOpening", partial(self._on_dialog_opened, view))
            session.on("Page.javascriptDialogClosed", partial(self._on_dialog_closed, view))
            for method in ("Page.enable", "Runtime.enable"):
                await session.send(method)
            if frame is None:  # what was there before the start page is nowhere to go back to
                await quietly(session.send("Page.resetNavigationHistory"), ANSWER_S)
            named = {"name": self._bridge, "executionContextName": self._world}
            await session.send("Runtime.addBinding", named)
            source = {"source": _read_script(self._bridge), "worldName": self._world, "runImmediately": True}
            await session.send("Page.addScriptToEvaluateOnNewDocument", source)
        except playwright_error():
            return  # it has gone again, or the frame has no process of its own
        self._views.append(view)
        if frame is None:
            page.on("framenavigated", self._on_frame)
            page.on("close", self._on_page_closed)

    def _on_frame(self, frame: Frame) -> None:
        if frame.parent_frame is not None:
            self._spawn(self._attach(frame.page, frame))

    def _on_page_closed(self, page: Page) -> None:
        self._views = [view for view in self._views if view.page is not page]
        if not self.window.context.pages:
            self._put(None, Signal(kind="closed"))

    def _on_context(self, view: View, event: dict[str, Any]) -> None:
        context = event["context"]
        if context["name"] == self._world:
            view.contexts[context["id"]] = str(context.get("auxData", {}).get("frameId", ""))

    def _on_context_gone(self, view: View, event: dict[str, Any]) -> None:
        view.contexts.pop(event["executionContextId"], None)

    def _on_request(self, view: View, event: dict[str, Any]) -> None:
        if event.get("disposition", "currentTab") == "currentTab":
            view.is_requested = True

    def _on_requested(self, _: object) -> None:
        self._requested_at = time.time() * 1000

    def _on_called(self, view: View, event: dict[str, Any]) -> None:
        if event["name"] != self._bridge or len(event["payload"]) > LONGEST_SIGNAL:
            return
        try:
            signal = Signal.model_validate_json(event["payload"])
        except ValidationError:
            return
        self._put(view, signal, event["executionContextId"])

    def _on_dialog_opened(self, view: View, event: dict[str, Any]) -> None:
        view.dialog = "" if event["message"].startswith(QUESTION) else event["type"]

    def _on_dialog_closed(self, view: View, event: dict[str, Any]) -> None:
        kind, view.dialog = view.dialog, ""
        self.window.forget_dialogs(view.page)
        if kind and kind != "beforeunload":
            said = str(event.get("userInput", ""))[:LONGEST_TYPED] if kind == "prompt" else ""
            self._put(view, Signal(kind="dialog", is_on=event["result"], text=said, how=kind))

    # -- what was heard

    async def _take(self, view: View | None, context: int, signal: Signal) -> bool | None:
        """Record what was done; return whether there is to be a row once that is decided."""
        if signal.kind == "closed" or (signal.kind == "cancel" and (self._asks or not self.list.items)):
            return False
        self._asks = signal.kind == "cancel" or (self._asks and signal.kind in _QUIET)
        if view is None:
            return None
        if signal.kind == "dialog":
            has_text = signal.is_on and signal.how == "prompt"
            text: dict[str, JsonValue] = {"text": signal.text} if has_text else {}
            self._move(view, "handle_dialog", accept=signal.is_on, **text)
        elif signal.kind == "look":
            await self._verify(view, signal.targets, is_untouched=True)
            return None
        elif signal.kind in ("hello", "traverse"):
            await self._note_document(view, context, signal)
        elif signal.kind == "finish":
            if await self._is_complete(view) and await self._is_proved():
                return True
        else:
            await self._note(view, context, signal)
        await self._show()
        return None

    async def _note(self, view: View, context: int, signal: Signal) -> None:
        if signal.kind == "mode":
            self._mode = signal.mode
            self._say(HINTS[signal.mode])
        elif signal.kind == "cancel":
            self._say(
                "End without a row? The terminal shows what was recorded. Press Cancel again, or continue.",
                is_warning=True,
            )
        elif signal.kind == "place":
            self._place, self._is_open = signal.point or self._place, signal.is_on
        elif signal.kind == "remove":
            self.list.remove(signal.way)
            self._say("Removed. The page is unchanged." if self.list.items else "Nothing is recorded.")
        elif signal.kind == "nothing":
            if self._requested_at < signal.at and self.list.drop_click(signal.key):
                self._say("A click that changed nothing is not a step.")
        elif signal.kind == "note":
            self._say(signal.text, is_warning=True)
        elif signal.kind in ("text", "value", "address"):
            await self._add_check(view, signal)
        else:
            await self._add_step(view, context, signal)

    def _say(self, text: str, *, is_warning: bool = False) -> None:
        self._said, self._is_warning = text, is_warning

    async def _add_step(self, view: View, context: int, signal: Signal) -> None:
        self._follow(view)
        view.acted_at = signal.at
        target = await self._verify(view, signal.targets)
        to = await self._verify(view, signal.to)
        names: list[str] = []
        if signal.kind == "files":
            paths = await find_files(view, context, signal.values)
            if paths is None:
                self._say("That file is not on this machine. The choice is not recorded.", is_warning=True)
                return
            names = [self.list.name_file(path) for path in paths]
        kind: Kind = signal.kind  # type: ignore[assignment]
        self._add(Item(kind, make_call(signal, target, to, names), signal.key, signal.secret))

    def _add(self, item: Item) -> None:
        self.list.add(item)
        last = self.list.items[-1]
        short = [one for one in self.list.items if 0 < len(one.typed) < SHORTEST_FOUND]
        hint = f" Use a password of at least {SHORTEST_FOUND} characters; a shorter one cannot be hidden."
        self._say(f"{last.text}.{hint * bool(short)}", is_warning=short not in ([], [last]))

    def _follow(self, view: View) -> None:
        """Note that the person has gone to another tab."""
        tab = self.window.tab_of(view.page)
        if tab is not None and tab != self._tab:
            self._tab = tab
            self.list.add(Item("move", {"tool": "select_tab", "tab_id": tab}))

    async def _verify(self, view: View, targets: tuple[str, ...], *, is_untouched: bool = False) -> str:
        """Return the best target that Playwright finds once.

        Args:
            view: where.
            targets: those that the script has found to match one element, the best first.
            is_untouched: whether nothing was done to the page yet; later, what is not there may have been.
        """
        if targets in self._verified or not targets:
            return self._verified.get(targets, "")
        for target in targets:
            count = await self._count(view, target)
            if count is None:  # the page is on its way, or a dialog has stopped it
                break
            if count == 0 and is_untouched:  # by its role, what has been hidden meanwhile is not found
                count = await self._count(view, _ROLE.sub(r"\g<0>[include-hidden=true]", target))
            if count == 1 or (count == 0 and not is_untouched):
                if is_untouched:
                    self._verified[targets] = target
                return target
        return targets[0]

    async def _count(self, view: View, target: str) -> int | None:
        """Return how many elements a target matches; None if the page does not answer."""
        if self.window.dialog is not None:
            return None
        try:
            return await self.window.watch(locate(view.page, target).count(), ANSWER_S)
        except (DialogOpened, TimeoutError, playwright_error()):
            return None

    # -- documents

    async def _note_document(self, view: View, context: int, signal: Signal) -> None:
        """Note how a person has come to a document other than by what is recorded already."""
        if signal.kind == "traverse":
            if signal.is_same and signal.by_user and abs(signal.way) == 1:
                self._move(view, "go_back" if signal.way < 0 else "go_forward")
        elif not signal.is_top:
            if not signal.has_prefix:
                await self._tell_prefix(view, context)
        else:
            is_first, view.has_begun = not view.has_begun, True
            is_requested, view.is_requested = view.is_requested, False
            acted_at, view.acted_at = view.acted_at, 0.0
            was, view.place = view.place, await self._read_place(view)
            if is_first:
                await self._note_tab(view, signal.url)
            elif not is_requested:
                self._note_arrival(view, signal, was, is_at_once=0 <= signal.at - acted_at < AT_ONCE_MS)

    def _note_arrival(self, view: View, signal: Signal, was: int, *, is_at_once: bool) -> None:
        """Note a document that no page has asked for: the person did, by the browser's own buttons."""
        if signal.how == "reload":
            self._move(view, "reload")
        elif signal.how == "back_forward" and is_at_once:
            pass  # a script that goes through the history asks for nothing: a click has made it do so
        elif signal.how == "back_forward" and abs(view.place - was) == 1:
            self._move(view, "go_back" if view.place < was else "go_forward")
        elif signal.url.startswith(("http://", "https://")):
            self._move(view, "navigate", url=signal.url)

    def _move(self, view: View, tool: str, **arguments: JsonValue) -> None:
        self._follow(view)
        self._add(Item("move", {"tool": tool, **arguments}))

    async def _note_tab(self, view: View, url: str) -> None:
        """Note a new tab; one that a page opens becomes current by itself when a row is played."""
        tab = self.window.tab_of(view.page)
        if tab is None or tab == self._tab:
            return
        if await quietly(view.page.opener(), ANSWER_S) is None:
            is_address = url.startswith(("http://", "https://"))
            view.has_begun = is_address  # else its first address is still to come
            if not is_address:
                return
            self._add(Item("move", {"tool": "open_tab", "url": url}))
        self._tab = tab

    async def _read_place(self, view: View) -> int:
        history = await quietly(view.session.send("Page.getNavigationHistory"), ANSWER_S)
        return int(history["currentIndex"]) if history else 0

    async def _tell_prefix(self, view: View, context: int) -> None:
        """Tell the script of a frame of another site what its targets begin with: it cannot look outside."""
        frame = view.contexts.get(context, "")
        for outer in (view, *(other for other in self._views if other.page is view.page)):
            owner = await quietly(outer.session.send("DOM.getFrameOwner", {"frameId": frame}), ANSWER_S)
            if owner is None:
                continue
            for above in list(outer.contexts):
                node = {"backendNodeId": owner["backendNodeId"], "executionContextId": above}
                found = await quietly(outer.session.send("DOM.resolveNode", node), ANSWER_S)
                if found:
                    prefix = await _call(
                        outer.session, "browserevalRecorder.frameTarget(this)", found["object"]
                    )
                    script = f"browserevalRecorder.prefix = {json.dumps(prefix)}"
                    await self._evaluate(view, context, script)
                    return

    # -- checks

    async def _add_check(self, view: View, signal: Signal) -> None:
        self._follow(view)
        self._mode = ""
        for content in make_checks(signal, view.page.url):
            item = Item("check", content, about=signal.target)
            if find_leak([item], self.list.secrets):
                self._say("The page shows a secret there. It is not recorded.", is_warning=True)
                return
            if not await self._judge.find_unmet([item]):
                break
        else:
            self._say("That cannot be checked: graders do not see it on this page.", is_warning=True)
            return
        self.list.add(item)
        is_old = signal.is_same and view.page.url == self._judge.start_url
        is_old = is_old or self._judge.held_at_start(content)
        hint = " It was true from the start: alone it proves nothing." * is_old
        self._say(f"Check added: {describe_check(content, signal.target)}.{hint}", is_warning=is_old)

    async def _is_complete(self, view: View) -> bool:
        """Return whether what was recorded makes a row; else the bar says what is missing."""
        self._follow(view)
        checks = self.list.checks
        if not checks:
            self._say("Add a check first: point at what proves that the task is done.", is_warning=True)
        elif leak := find_leak(self.list.items, self.list.secrets):
            self._say(f"Secret found in: {leak.content.get('tool', 'a check')}. Remove it.", is_warning=True)
        elif unmet := await self._judge.find_unmet(checks):
            self._say(
                f"This does not hold here: {unmet[0].text}. Remove it, or go where it holds.", is_warning=True
            )
        else:
            return True
        return False

    async def _is_proved(self) -> bool:
        """Return whether the row holds; else the bar says why not, and the recording goes on."""
        self._is_busy = True
        self._say("Trying the row in new windows: its steps have to pass, and doing nothing has to fail ...")
        await self._show()
        try:
            problems = await self._prove(self.list.items)
        finally:
            self._is_busy = False
        if problems:
            more = "Change the list (▴ at the red dot) or continue, and try again."
            self._say("\n".join((f"The test of the row failed. {more}", *problems)), is_warning=True)
        return not problems

    # -- the bar

    async def _show(self) -> None:
        if self.window.dialog is not None:
            return  # the page stands still; once it is answered, all is shown
        state = {
            "items": [{"text": item.text, "isCheck": item.is_check} for item in self.list.items],
            "steps": len(self.list.steps),
            "checks": len(self.list.checks),
            "mode": self._mode,
            "said": self._said,
            "isWarning": self._is_warning,
            "isBusy": self._is_busy,
            "asks": self._asks,
            "place": self._place,
            "isOpen": self._is_open,
        }
        script = f"browserevalRecorder.show({json.dumps(state)})"
        shown = [
            self._evaluate(view, context, script) for view in self._views for context in list(view.contexts)
        ]
        await asyncio.gather(*shown)

    async def _evaluate(self, view: View, context: int, script: str) -> None:
        await quietly(
            view.session.send("Runtime.evaluate", {"expression": script, "contextId": context}), ANSWER_S
        )


async def record(window: PlaywrightWindow, items: ItemList, prove: Prove) -> bool:
    """Record what a person does in an open window; return whether they have finished, with a row that holds.

    Args:
        window: at its start page.
        items: where what is done is kept.
        prove: tries a row before the recording ends.
    """
    recorder = Recorder(window, items, prove)
    await recorder.begin()
    return await recorder.wait()


async def _call(session: CDPSession, expression: str, target: dict[str, Any]) -> str:
    function = {"functionDeclaration": f"function() {{ return {expression} }}", "returnByValue": True}
    reply = await quietly(
        session.send("Runtime.callFunctionOn", {**function, "objectId": target["objectId"]}), ANSWER_S
    )
    return str(reply["result"].get("value", "")) if reply else ""


def _read_script(bridge: str) -> str:
    """Return the script that listens; it runs once in each document."""
    folder = files("pytest_browsereval.features.record") / "script"
    parts = "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
    listening = f"const bridge = globalThis.{bridge};\n{READ_TEXT}\n{parts}"
    return f"if (!globalThis.browserevalRecorder) {{ {listening}\n}}"
