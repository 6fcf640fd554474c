"""One attempt never pastes what another one has copied."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.base import Browser, WindowRequest
from pytest_browsereval.browsers.playwright import clipboard
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.features.cdp_browser.browser import CdpBrowserConfig
from pytest_browsereval.features.traces.recording import Recording
from tests.browsers.listening import Listening
from tests.features.traces.consoles import read_console
from tests.support import PageServer, Run, Visit, Visits, until

FIELDS = """<input id=from><textarea id=to></textarea>
<button id=copies onclick="from.select(); document.execCommand('copy')">Copy</button>
<button id=writes>Copy</button><button id=later>Copy</button><button id=items>Copy</button><script>
const clipboard = navigator.clipboard, text = () => document.querySelector('#from').value;
const done = () => { document.title = `copied ${text()}`; };
writes.onclick = () => clipboard.writeText(text()).then(done);
later.onclick = () => fetch('/').then(() => clipboard.writeText(text())).then(done);
const blob = () => new Blob([text()], {type: 'text/plain'});
items.onclick = () => clipboard.write([new ClipboardItem({'text/plain': blob()})]).then(done);
</script>"""
COPIES = ("Control+C", "Control+Insert", "Control+x", "Shift+Delete")
PASTES = ("Control+V", "Control+Shift+V", "Shift+Insert")

Copies = Callable[[Visit, str], None]


def by_keys(keys: str) -> Copies:
    def copy(visit: Visit, text: str) -> None:
        visit.output("fill", target="#from", text=text)
        visit.output("press_key", key="Control+A", target="#from")
        visit.output("press_key", key=keys)

    return copy


def by_click(visit: Visit, text: str) -> None:
    visit.output("fill", target="#from", text=text)
    visit.output("click", target="#copies")


def by_promise(button: str) -> Copies:
    """As the *Copy* buttons of most pages do."""

    def copy(visit: Visit, text: str) -> None:
        visit.output("fill", target="#from", text=text)
        visit.output("click", target=button)
        copied = f"document.title === 'copied {text}'"
        visit.run(visit.window.page.wait_for_function(copied))

    return copy


def by_own_code(visit: Visit, text: str) -> None:
    """As an agent does that takes Playwright's page in its own hands."""
    page = visit.window.page
    visit.run(page.fill("#from", text))
    for keys in ("Control+A", "Control+C"):
        visit.run(page.press("#from", keys))


BUTTONS = [pytest.param(by_promise(button), id=button) for button in ("#writes", "#later", "#items")]


def paste(visit: Visit, keys: str = "Control+V") -> str:
    visit.output("fill", target="#to", text="")
    visit.output("press_key", key=keys, target="#to")
    return str(visit.js("to.value"))


def paste_by_own_code(visit: Visit) -> str:
    visit.run(visit.window.page.fill("#to", ""))
    visit.run(visit.window.page.press("#to", "Control+V"))
    return str(visit.js("to.value"))


WAYS = [*(pytest.param(by_keys(keys), id=keys) for keys in COPIES), by_click, by_own_code, *BUTTONS]


@pytest.mark.slow
@pytest.mark.parametrize("copy", WAYS)
def test_windows_paste_what_they_have_copied(visit: Visits, copy: Copies) -> None:
    """Two windows that are open at once copy and paste in turn: each has its own text, or none."""
    first, second = visit(FIELDS, "/first"), visit(FIELDS, "/second")
    copy(first, "of the first")
    assert [paste(second, keys) for keys in PASTES] == ["", "", ""]
    assert [paste(first, keys) for keys in PASTES] == ["of the first"] * 3
    copy(second, "of the second")
    assert paste_by_own_code(first) == "of the first"
    assert paste(second) == "of the second"
    assert (first.window.dialog, second.window.dialog) == (None, None)


def test_a_page_with_permissions_reads_its_own_clipboard(visit: Visits) -> None:
    """An agent's code may grant what no eval does; images and late answers are nobody else's either."""
    first, second = visit(FIELDS, "/first"), visit(FIELDS, "/second")
    for one in (first, second):
        one.run(one.window.context.grant_permissions(["clipboard-read", "clipboard-write"]))
    by_promise("#writes")(first, "SECRET")
    assert second.js("navigator.clipboard.readText()") == ""
    by_click(first, "SECRET")
    kinds = "navigator.clipboard.read().then((items) => items.flatMap((item) => item.types))"
    assert "SECRET" not in second.js("navigator.clipboard.readText()")
    assert second.js(kinds) in ([], ["text/plain"])
    assert first.js("navigator.clipboard.readText()") == "SECRET"
    by_promise("#items")(second, "OTHER")
    assert first.js("navigator.clipboard.readText()") == "SECRET"
    assert (first.window.dialog, second.window.dialog, second.window.dead) == (None, None, None)


UNASKED = """<script>
const image = new ClipboardItem({'image/png': new Blob([''], {type: 'image/png'})});
const calls = [clipboard.readText(), clipboard.read(), clipboard.writeText('a'), clipboard.write([image])];
Promise.allSettled(calls).then((all) => { window.names = all.map((one) => one.reason?.name); });
</script>"""


def test_what_nobody_has_clicked_is_refused(visit: Visits) -> None:
    """Without a permission a page can neither read nor, without a click, write."""
    opened = visit(f"{FIELDS}{UNASKED}")
    opened.run(opened.window.page.wait_for_function("window.names"))
    assert opened.js("names") == ["NotAllowedError"] * 4


def test_what_an_attempt_has_copied_ends_with_it(visit: Visits) -> None:
    """A window that opens when another one has closed pastes nothing, with its tools or with its own code."""
    first = visit(FIELDS, "/first")
    by_keys("Control+C")(first, "SECRET")
    first.run(first.window.close())
    assert paste(visit(FIELDS, "/second")) == ""
    assert paste_by_own_code(visit(FIELDS, "/third")) == ""


def test_it_lasts_over_pages_and_tabs(visit: Visits) -> None:
    """What was copied on one page is pasted on the next one, in a pop-up and in a frame."""
    opened, other = visit(FIELDS, "/first"), visit(FIELDS, "/other")
    by_click(opened, "COPIED")
    assert paste(other) == ""
    opened.output("navigate", url=other.window.url)
    assert paste(opened) == "COPIED"
    opened.js("void window.open(location.href)")
    opened.output("list_tabs")
    opened.output("select_tab", tab_id=2)
    assert paste(opened) == "COPIED"
    opened.js("document.body.innerHTML = '<iframe srcdoc=\"<textarea autofocus></textarea>\"></iframe>'")
    frame = opened.window.page.frame_locator("iframe").locator("textarea")
    opened.run(frame.press("Control+V"))
    assert opened.run(frame.input_value()) == "COPIED"


def test_the_keys_that_follow_reach_the_page(visit: Visits, tmp_path: Path) -> None:
    """Nothing stops a page that has pasted: the next key would be lost. Its console is its own."""
    opened, stops = visit(FIELDS), list[str]()
    opened.window.context.on("dialog", lambda dialog: stops.append(dialog.message))
    recording = Recording(tmp_path, trace="off", console=True, redact=str)
    opened.run(recording.begin(opened.window))
    by_keys("Control+C")(opened, "again")
    for _ in range(5):
        opened.run(opened.window.page.press("#to", "Control+V"))
    opened.js("console.log('last')")
    opened.run(until(lambda: any(line.text == "last" for line in read_console(tmp_path)), 60))
    assert opened.js("to.value") == "again" * 5
    assert set(stops) == {clipboard.QUESTION}
    assert [line.text for line in read_console(tmp_path)] == ["last"]


@pytest.mark.slow
def test_windows_that_copy_at_the_same_time(visit: Visits, run: Run) -> None:
    """Presses that overlap never mix texts up, and none waits for another attempt's end."""
    opened = [visit(FIELDS, f"/{n}") for n in range(4)]

    async def course(one: Visit, name: str) -> list[str]:
        page, seen = one.window.page, []
        for n in range(4):
            await page.fill("#from", f"{name}{n}")
            await page.press("#from", "Control+A")
            await page.press("#from", "Control+C")
            await page.fill("#to", "")
            await page.press("#to", "Control+V")
            seen.append(await page.input_value("#to"))
        return seen

    async def all_at_once() -> list[list[str]]:
        return await asyncio.gather(*(course(one, name) for one, name in zip(opened, "abcd", strict=True)))

    assert run(all_at_once()) == [[f"{name}{n}" for n in range(4)] for name in "abcd"]


def test_the_middle_button_pastes_no_selection(visit: Visits) -> None:
    """On Linux it pastes what was selected last, in whatever window; here it does not."""
    first, second = visit(FIELDS, "/first"), visit(f"{FIELDS}<script>n = 0; onauxclick = () => n++</script>")
    first.output("fill", target="#from", text="SELECTED")
    first.output("click", target="#from", click_count=3)
    second.output("click", target="#to", button="middle")
    assert second.js("[to.value, n]") == ["", 1]


FORGER = """<textarea id=to></textarea><script>
for (const name of ['key', 'ctrlKey', 'metaKey'])
  Object.defineProperty(KeyboardEvent.prototype, name, {get: () => ''});
window.confirm = () => true;
Event.prototype.preventDefault = Event.prototype.stopImmediatePropagation = () => {};
Reflect.apply = () => true; Function.prototype.call = () => true;
addEventListener('paste', (event) => event.stopImmediatePropagation(), true);
</script>"""


def test_a_page_cannot_help_itself(visit: Visits) -> None:
    """A page that changes events and dialogs gets nothing of another window."""
    first, second = visit(FIELDS, "/first"), visit(FORGER)
    by_keys("Control+C")(first, "SECRET")
    assert paste_by_own_code(second) == ""
    assert paste(first) == "SECRET"


def test_a_frame_without_dialogs_pastes_nothing(visit: Visits) -> None:
    """A sandboxed frame that may open no dialog cannot ask: it neither copies nor pastes."""
    first = visit(FIELDS, "/first")
    second = visit("<iframe sandbox='allow-scripts allow-same-origin' srcdoc='<textarea id=to>'></iframe>")
    by_keys("Control+C")(first, "SECRET")
    field = second.window.page.frame_locator("iframe").locator("textarea")
    second.run(field.press("Control+V"))
    assert second.run(field.input_value()) == ""


def test_a_clipboard_that_cannot_be_kept_apart_ends_the_window(
    visit: Visits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt errs then, and nothing is pasted: it is not failed for what it could not do."""
    first, second = visit(FIELDS, "/first"), visit(FIELDS, "/second")
    by_keys("Control+C")(first, "SECRET")

    async def broken(*_: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(clipboard, "_write", broken)
    paste_by_own_code(second)
    assert second.js("to.value") == ""
    assert "clipboard could not be isolated" in str(second.window.dead)
    assert first.window.dead is None


@pytest.mark.slow
def test_attempts_that_share_a_context_paste_nothing_of_each_other(
    run: Run, chromium: Listening, pages: PageServer
) -> None:
    """In the context of a browser that runs already, too, what an attempt has copied ends with it."""
    url = pages.page("/shared", f"<!doctype html><title>Shared</title>{FIELDS}")

    async def attempt(attached: Browser, text: str) -> str:
        window = await attached.open_window(WindowRequest("shared", url))
        assert isinstance(window, PlaywrightWindow)
        page = window.page
        await page.press("#to", "Control+V")
        seen = await page.input_value("#to")
        await page.fill("#from", text)
        await page.click("#copies")
        await page.press("#to", "Control+V")
        seen += await page.input_value("#to")
        await window.close()
        return seen

    async def use() -> list[str]:
        attached = CdpBrowserConfig(url=chromium.url, sessions="shared").build()
        await attached.start()
        seen = [await attempt(attached, text) for text in ("first", "second")]
        await attached.close()
        return seen

    assert run(asyncio.wait_for(use(), 120)) == ["first", "second"]
