"""``browsereval record`` as it is typed: from the window to the row, and pytest's run of that row."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.features.record import recorder as module
from pytest_browsereval.features.record import validation
from pytest_browsereval.features.record.recorder import Prove, Recorder
from pytest_browsereval.features.record.steps import ItemList
from tests.features.record.hands import FINISH, Hands
from tests.forks import Forked
from tests.hooks.small_evals import Evals
from tests.support import LEFT_OUT, PageServer

Act = Callable[[Hands], Awaitable[None]]
Drive = Callable[[Act], None]

SECRET = "hunter-two-22"
SHOP = """<!doctype html><title>Shop</title><h1>Shop</h1>
<form action=welcome.html
 onsubmit="sessionStorage.who = user.value + (pw.value === 'hunter-two-22' ? '' : '?')">
<label>User <input id=user></label> <label>Password <input id=pw type=password></label>
<button>Log in</button></form>"""
WELCOME = """<!doctype html><title>Welcome</title><h1></h1><p>Nice to see you</p>
<script>document.querySelector('h1').textContent = 'Hello ' + sessionStorage.who</script>"""


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> Drive:
    """Return a function that lets somebody act in the window that the command opens."""

    def take(act: Act) -> None:
        async def record(window: PlaywrightWindow, items: ItemList, prove: Prove) -> bool:
            recorder = Recorder(window, items, prove)
            await recorder.begin()
            hands = Hands(window, recorder)
            await hands.ready()
            await act(hands)
            return await asyncio.wait_for(hands.waiting, 120)

        monkeypatch.setattr(module, "record", record)

    return take


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try rows in a forked pytest; the test from the window to a green run starts a new one."""

    def run_pytest(arguments: Sequence[str], limit_s: float, **options: Any) -> str:
        command = [sys.executable, "-m", "pytest", *LEFT_OUT, *arguments]
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with Forked(command, **streams, **options) as process:
            return str(process.communicate(timeout=limit_s)[0])

    monkeypatch.setattr(validation, "run_pytest", run_pytest)


@pytest.fixture
def shop(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a config with a site where one logs in; the current folder is its own."""
    monkeypatch.chdir(evals.path)
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    (evals.path / "shop").mkdir()
    (evals.path / "shop/index.html").write_text(SHOP)
    (evals.path / "shop/welcome.html").write_text(WELCOME)
    return evals.write_config(sites={"shop": {"static": "shop"}}, browser="playwright")


async def log_in(hands: Hands, password: str = SECRET) -> None:
    page = hands.page
    await page.get_by_label("User").click()
    await page.keyboard.type("ada")
    await page.keyboard.press("Tab")
    await page.keyboard.type(password)
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", name="Hello").wait_for()


async def check_greeting(hands: Hands) -> None:
    await hands.press("Check text")
    await hands.page.get_by_role("heading").click()


def record_row(shop: Path, query: str) -> int:
    """Record a row of the shop into a file; returns the exit code."""
    given = ["--config", str(shop), "--headless", "--out", "rows.jsonl"]
    return main(["record", "{shop}/", *given, "--query", query])


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_from_the_window_to_a_green_run(
    evals: Evals,
    shop: Path,
    drive: Drive,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The row is written once it is proved, names the site and the variable, and passes in pytest."""

    async def act(hands: Hands) -> None:
        await log_in(hands)
        await check_greeting(hands)
        await hands.press("Check address")
        await hands.press(FINISH)

    drive(act)
    Path("rows.jsonl").write_text('{"query_id": "other", "query": "Other."}')  # without an end of its line
    assert record_row(shop, "Log in as ada.") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "Added 'log-in-as-ada' to rows.jsonl." in err
    assert "Write `variables: [SHOP_PASSWORD]` in the config and `trusted: true` in the block" in err
    other, row = read(Path("rows.jsonl"))
    assert other["query_id"] == "other"
    assert row == {
        "query_id": "log-in-as-ada",
        "query": "Log in as ada.",
        "graders": ["page_state"],
        "start_url": "{shop}/",
        "checks": [{"text": "Hello ada"}, {"url": "{shop}/welcome.html?"}],
        "solution": [
            {"tool": "fill", "target": 'role=textbox[name="User"]', "text": "ada"},
            {"tool": "fill", "target": 'role=textbox[name="Password"]', "text": "${SHOP_PASSWORD}"},
            {"tool": "press_key", "key": "Enter", "target": 'role=textbox[name="Password"]'},
            {"tool": "done", "answer": "Done."},
        ],
    }
    evals.write_config(
        sites={"shop": {"static": "shop"}},
        browser="playwright",
        dataset=[{"path": "rows.jsonl", "trusted": True}],
        variables=["SHOP_PASSWORD"],
    )
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    run = evals.run("-k", "log-in-as-ada")
    run.assert_outcomes(passed=1, deselected=1)
    files = (path for path in evals.path.rglob("*") if path.is_file() and path.suffix != ".html")
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in files)
    assert SECRET not in err + run.stdout.str() + run.stderr.str()


CART = """<!doctype html><title>Shop</title><h1>Shop</h1><p></p><script>
localStorage.shop ??= JSON.stringify({cart: [], coupon: ""});
function change(edit) { const s = JSON.parse(localStorage.shop); edit(s);
  localStorage.shop = JSON.stringify(s);
  document.querySelector("p").textContent = s.cart.length + " in cart"; }</script>
<button onclick="change((s) => s.cart.push({sku: 'mug', at: Math.random()}))">Add</button>
<button onclick="change((s) => s.coupon = 'SPRING')">Coupon</button>"""


@pytest.mark.slow
@pytest.mark.usefixtures("forked")
def test_what_changes_is_proposed(evals: Evals, shop: Path, drive: Drive) -> None:
    """The row says what its steps changed each time alike, without what differs, and passes with it."""
    (evals.path / "shop/index.html").write_text(CART)
    site = {"static": "shop", "state": {"storage": "local:shop", "key": "sku"}}
    evals.write_config(sites={"shop": site}, browser="playwright")

    async def act(hands: Hands) -> None:
        await hands.page.get_by_role("button", name="Add").click()
        await hands.page.get_by_role("button", name="Coupon").click()
        await hands.press("Check text")
        await hands.page.get_by_text("1 in cart").click()
        await hands.press(FINISH)

    drive(act)
    assert record_row(shop, "Add a mug.") == 0
    (row,) = read(Path("rows.jsonl"))
    assert row["graders"] == ["page_state", "effects"]
    assert row["effects"] == [
        {"changed": "coupon", "equals": "SPRING"},
        {"added": "cart", "equals": {"sku": "mug"}},
    ]
    evals.run().assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.usefixtures("forked")
def test_a_row_that_does_not_hold(shop: Path, drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """Doing nothing must not pass: the bar says so and the window stays; what is given up is printed."""

    async def act(hands: Hands) -> None:
        await hands.press("Check text")
        await hands.page.get_by_role("heading", name="Shop").click()
        await hands.press(FINISH)
        assert "the agent `noop` passes: all checks hold on the start page" in await hands.said()
        for _ in range(2):
            await hands.press("Cancel")

    drive(act)
    assert record_row(shop, "Look.") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "The test of the row failed: the agent `noop` passes: all checks hold on the start page" in err
    assert '{"query_id": "look"' in err
    assert not Path("rows.jsonl").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("forked")
def test_a_row_is_printed_where_no_file_is_named(
    drive: Drive, pages: PageServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard output has the row alone; the query is asked for on a terminal."""
    url = pages.page(
        "/plain", "<!doctype html><button onclick=\"out.append('Done it')\">Do</button><p id=out>"
    )

    async def act(hands: Hands) -> None:
        await hands.page.get_by_role("button", name="Do").click()
        await hands.press("Check text")
        await hands.page.get_by_text("Done it").click()
        await hands.press(FINISH)

    drive(act)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda: "Do it now")
    assert main(["record", url, "--headless"]) == 0
    line, err = capsys.readouterr()
    assert err.startswith("What is an agent to do? ")
    assert (json.loads(line)["query_id"], json.loads(line)["start_url"]) == ("do-it-now", url)


@pytest.mark.slow
@pytest.mark.usefixtures("forked")
def test_a_file_that_is_chosen(
    evals: Evals, drive: Drive, pages: PageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is copied next to the dataset, and the row's agent uploads it, in the proof already."""
    url = pages.page(
        "/upload",
        """<!doctype html><label>CV <input type=file onchange="this.files[0].text().then(
        (text) => said.textContent = text)"></label><p id=said></p>""",
    )
    (evals.path / "home").mkdir()
    (evals.path / "home/cv.txt").write_text("I am Ada")

    async def act(hands: Hands) -> None:
        async with hands.page.expect_file_chooser() as opened:
            await hands.page.get_by_label("CV").click()
        await (await opened.value).set_files(evals.path / "home/cv.txt")
        await hands.page.get_by_text("I am Ada").wait_for()
        await hands.press("Check text")
        await hands.page.get_by_text("I am Ada").click()
        await hands.press(FINISH)

    drive(act)
    out = evals.path / "rows.jsonl"
    command = ["record", url, "--headless", "--query", "Upload it."]
    assert main([*command, "--out", str(out)]) == 0, capsys.readouterr().err
    (row,) = read(out)
    assert row["files"] == ["files/cv.txt"]
    upload = {"tool": "upload_file", "target": 'role=button[name="CV"]', "files": ["cv.txt"]}
    assert row["solution"][0] == upload
    assert (evals.path / "files/cv.txt").read_text() == "I am Ada"


@pytest.mark.slow
@pytest.mark.usefixtures("forked")
def test_nothing_is_lost(
    shop: Path, drive: Drive, capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    """Ctrl-C, a closed window, a file that takes nothing: what was recorded is printed, no secret is."""

    async def interrupt(hands: Hands) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await hands.waiting

    async def close(hands: Hands) -> None:
        await hands.page.close()

    async def block(hands: Hands) -> None:
        await check_greeting(hands)
        Path("rows.jsonl").mkdir()  # noqa: ASYNC240
        await hands.press(FINISH)

    for end, code in ((interrupt, 130), (close, 1), (block, 4)):
        with subtests.test(end.__name__):

            async def act(hands: Hands, end: Act = end) -> None:
                await log_in(hands)
                button = f"<button>{SECRET}</button>"
                await hands.page.evaluate(f"document.querySelector('p').outerHTML = '{button}'")
                await hands.page.get_by_role("button").click()
                await hands.settle()
                if end is block:
                    await hands.press("Undo")
                await end(hands)

            drive(act)
            assert record_row(shop, "Log in.") == code
            out, err = capsys.readouterr()
            assert out == ""
            assert "So that nothing is lost, this is what was recorded:" in err
            (line,) = [line for line in err.splitlines() if line.startswith('{"query_id": "log-in"')]
            assert '"text": "${SHOP_PASSWORD}"' in line
            assert SECRET not in err
            steps = [step["tool"] for step in json.loads(line)["solution"]]
            assert steps == ["fill", "fill", "press_key", *["click"] * (end is not block), "done"]


@pytest.mark.slow
def test_variables_of_the_config_are_known(evals: Evals, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their values are secrets in whichever field they are typed."""
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    evals.write_config(sites={"shop": {"static": "shop"}}, browser="playwright", variables=["SHOP_PASSWORD"])
    given: list[str] = []

    async def record(window: PlaywrightWindow, items: ItemList, *_: object, **__: object) -> bool:
        given.extend(items.secrets)
        return False

    monkeypatch.setattr(module, "record", record)
    assert main(["record", "{shop}/", "--config", str(shop), "--query", "Look.", "--headless"]) == 1
    assert given == [SECRET]


WRONG = (
    ("shop.test --query x", "which has no scheme. Write https://shop.test"),
    ("file:///etc/passwd", "is not an address of a page. Write http:// or https://, or {site}/."),
    ("shop", "'shop' is not an address of a page."),
    ("{shop}/ --query x", "'shop' is not a site of the config. Sites: none."),
    ("{shap}/ --query x --config shop.eval.yaml", "Did you mean 'shop'? Sites: shop."),
    ("http://x.test/", 'there is no query. Write --query "..."'),
    ("http://x.test/ --query x --out rows.csv", "Name a file *.jsonl"),
    ("http://x.test/ --query x --out rows.jsonl --id old", "rows.jsonl:2 has the id 'old'"),
    ("http://x.test/ --query x --eval-set a=b", "Name one with --config."),
)


@pytest.mark.usefixtures("shop")
def test_wrong_usage_opens_no_window(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """It is refused with what to write: exit 4, before a query is asked for or a window opens."""
    monkeypatch.setattr(module, "record", None)
    Path("rows.jsonl").write_text('{"query_id": "first", "query": "x"}\n{"query_id": "old", "query": "x"}\n')
    for arguments, message in WRONG:
        with subtests.test(arguments):
            assert main(["record", *arguments.split(), "--headless"]) == 4
            assert message in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a display")
def test_without_a_display(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names what to type."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert main(["record", "http://x.test/", "--query", "x"]) == 4
    err = capsys.readouterr().err
    assert "there is no display to show a window on" in err
    assert "`xvfb-run browsereval record ...`" in err
