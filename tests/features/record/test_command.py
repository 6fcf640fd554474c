"""``browsereval record`` as it is typed: from the window to the row, and pytest's run of that row."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.features.record import recorder as module
from pytest_browsereval.features.record.recorder import Recorder
from pytest_browsereval.features.record.steps import Item
from tests.features.record.hands import Hands
from tests.hooks.small_evals import Evals

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
        async def record(window: PlaywrightWindow) -> list[Item] | None:
            recorder = Recorder(window)
            await recorder.begin()
            waiting = asyncio.ensure_future(recorder.wait())
            hands = Hands(window, recorder)
            await hands.ready()
            await act(hands)
            return recorder.list.items if await waiting else None

        monkeypatch.setattr(module, "record", record)

    return take


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
        await hands.press("Finish")

    drive(act)
    Path("rows.jsonl").write_text('{"query_id": "other", "query": "Other."}')  # without an end of its line
    command = [
        "record",
        "{shop}/",
        "--config",
        str(shop),
        "--out",
        "rows.jsonl",
        "--query",
        "Log in as ada.",
        "--headless",
    ]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "Added 'log-in-as-ada' to rows.jsonl." in err
    assert "Write `variables: [SHOP_PASSWORD]` in the config, and set it where the eval runs." in err
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
    evals.write_config(sites={"shop": {"static": "shop"}}, browser="playwright", variables=["SHOP_PASSWORD"])
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    run = evals.run("-k", "log-in-as-ada")
    run.assert_outcomes(passed=1, deselected=1)
    written = b"".join(
        path.read_bytes() for path in evals.path.rglob("*") if path.is_file() and path.suffix != ".html"
    )
    assert SECRET.encode() not in written
    assert SECRET not in err + run.stdout.str() + run.stderr.str()
