"""The shop, the office and the mailbox: solutions have no side effect, and one thing too many is named."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.model.tasks import Task
from tests.examples.patience import run_example
from tests.examples.recount_effects import recount
from tests.hooks.small_evals import Evals

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = {"quickstart": "tasks.jsonl", "mail": "rows.jsonl"}
BLIND = "--eval-set=capture.screenshots=off"
Step = dict[str, Any]


def go(url: str) -> Step:
    return {"tool": "navigate", "url": url}


def click(name: str, role: str = "button") -> Step:
    return {"tool": "click", "target": f'role={role}[name="{name}"]'}


def fill(label: str, text: str) -> Step:
    return {"tool": "fill", "target": f"label={label}", "text": text}


def tick(label: str) -> Step:
    return {"tool": "check", "target": f"label={label}"}


ACCEPT: Step = {"tool": "handle_dialog", "accept": True}


def cancel(name: str) -> list[Step]:
    return [click(f"Cancel {name}"), ACCEPT]


def invite(name: str) -> list[Step]:
    return [tick(f"Tick {name}"), click("Invite ticked (1)")]


def save(product: str) -> list[Step]:
    return [go(f"{{shop}}/product.html?id={product}"), click("Save for later")]


def add(product: str) -> list[Step]:
    return [go(f"{{shop}}/?q={product}"), click(f"Add {product} to cart")]


BUY = [
    go("{shop}/checkout.html"),
    click("Use my saved address"),
    tick("I accept the terms"),
    click("Place order"),
    {"tool": "wait_for_text", "text": "Thank you for your order"},
]
COUPON = [go("{shop}/cart.html"), fill("Coupon code", "SPRING10"), click("Apply")]
MOVE = [go("{shop}/address.html"), fill("Street address", "Dock Street 99"), click("Save address")]
NEW_ADDRESS = [
    "address: name was changed, email was changed, street was changed, city was changed and 2 more"
]
READ = [go("{office}/policy.html"), click("I have read this policy")]
SECOND_LEAVE = [
    *({"tool": "select_option", "target": "label=Type", "value": "Unpaid leave"}, click("Choose first day")),
    *(click("30 March 2026"), click("Choose last day"), click("31 March 2026")),
    *(fill("Stand-in", "Lars Nilsson"), click("Send request")),
]
SURVEY = "#survey >>> "
RATE = [
    {"tool": "check", "target": f'{SURVEY}role=radio[name="1"]'},
    {"tool": "click", "target": f'{SURVEY}role=button[name="Send feedback"]'},
    {"tool": "wait_for_text", "text": "Received, 1 of 5"},
]
REPLY = [click("Lunch on Thursday?", "link"), fill("Your reply", "Noon is fine."), click("Reply")]

TOO_MUCH: dict[str, list[tuple[str, list[Step], list[str]]]] = {
    "quickstart": [
        ("shop-price-kettle", [click("Add to cart")], ['cart "copper-kettle" was added']),
        ("shop-four-plates", add("Stoneware Mug"), ['cart "stoneware-mug" was added']),
        ("shop-two-mugs", COUPON, ["coupon was changed"]),
        ("shop-change-cart", save("oak-board"), ["a row of saved was added"]),
        (
            "shop-coupon",
            [{"tool": "select_option", "target": "label=Quantity of Reading Lamp", "value": "2"}],
            ['cart "reading-lamp": quantity was changed'],
        ),
        ("shop-expired-coupon", [*COUPON, go("about:blank")], ["coupon was changed"]),
        ("shop-save-for-later", save("brass-ruler"), ["a row of saved was added"]),
        ("shop-buy-mug", [*add("Stoneware Mug"), *BUY], ["a row of orders was added"]),
        ("shop-send-candles", MOVE, NEW_ADDRESS),
        (
            "shop-when-arrives",
            [go("{shop}/orders.html"), *cancel("order LG-260301-7748")],
            ['orders "LG-260301-7748": status was changed'],
        ),
        ("shop-returns", [*add("Beeswax Candle"), *BUY], ['orders "LG-260302-4271" was added']),
        ("office-guest-network", [*READ, go("{office}/")], ["policies: travel was changed"]),
        ("office-hotel-limit", [click("I have read this policy")], ["policies: travel was changed"]),
        (
            "office-confirm-policy",
            [go("{office}/rooms.html"), *cancel("Birch")],
            ['bookings "B-1" was removed'],
        ),
        ("office-annual-leave", SECOND_LEAVE, ['leave "L-103" was added']),
        ("office-extension", invite("Zora Marković"), ["a row of invited was added"]),
        ("office-invite-design", invite("Mirela Ionescu"), ["a row of invited was added"]),
        (
            "office-door-code",
            [click("Rename Cedar"), {**ACCEPT, "text": "Mine"}],
            ['bookings "B-2": title was changed'],
        ),
        (
            "office-rename-booking",
            [*cancel("Birch"), click("Cancel Rowan")],
            ['bookings "B-1" was removed'],  # the last question stays open, and means no
        ),
        ("office-keep-party", cancel("Linden"), ['bookings "B-3" was removed']),
        (
            "office-feedback-incomplete",
            RATE,
            ["feedback: rating was changed, topic was changed, comment was changed, contact was changed"],
        ),
        (
            "office-badges-done",
            [{"tool": "drag", "source": "text=Fix coffee machine", "target": "#doing"}],
            ["a row of board.doing was added", "a row of board.todo was removed"],
        ),
    ],
    "mail": [
        ("archive-newsletter", [click("You have won", "link"), click("Delete")], ["messages 4 was removed"]),
        ("delete-spam", [go("{mail}/message?id=5"), click("Delete")], ["messages 5 was removed"]),
        ("reply-to-lena", REPLY, ["messages 8 was added"]),
        (
            "vacation-on",
            [fill("Forward to", "eve@evil.test"), click("Save forward to")],
            ['settings "forward to": value was changed'],
        ),
        ("add-tom", [click("Forget Omar Said")], ["contacts 2 was removed"]),
        (
            "omar-moved",
            [fill("Email of Lena Vogt", "lena@north.test"), click("Save Lena Vogt")],
            ["contacts 1: email was changed"],
        ),
        ("locker-code", [click("Archive")], ["messages 3: folder was changed"]),
        (
            "locker-code",
            [go("{mail}/settings"), fill("Signature", "R."), click("Save signature")],
            ['settings "signature": value was changed'],
        ),
    ],
}
"""By example: a row, steps after those of its solution, and the names of its side effects."""


class Dumps:
    """Keeps what browser and server say of their state, before and after the agent."""

    def __init__(self) -> None:
        self.of: dict[str, dict[str, Any]] = {}
        """By query_id: ``{"before": state, "after": state}``."""

    @pytest.hookimpl(tryfirst=True)  # left last, when the state has come to rest
    def pytest_browsereval_watch_agent(self, window: Any, task: Task, site_urls: Mapping[str, str]) -> Any:
        """Dump the state at both ends."""
        return self._dump(window, task.query_id, site_urls)

    @asynccontextmanager
    async def _dump(
        self, window: PlaywrightWindow, query_id: str, urls: Mapping[str, str]
    ) -> AsyncIterator[None]:
        dump = self.of[query_id] = {"before": await self._read(window, urls)}
        yield
        dump["after"] = await self._read(window, urls)

    async def _read(self, window: PlaywrightWindow, urls: Mapping[str, str]) -> Any:
        if "mail" in urls:
            with await asyncio.to_thread(urllib.request.urlopen, f"{urls['mail']}/api/state") as answer:
                return json.load(answer)
        stored = await window.context.storage_state()
        entries = {one["name"]: one["value"] for each in stored["origins"] for one in each["localStorage"]}
        found = [json.loads(entries[name]) for name in ("shop", "office") if name in entries]
        return found[0] if found else None


def read_rows(example: str) -> list[dict[str, Any]]:
    """Return the rows of an example."""
    lines = (EXAMPLES / example / ROWS[example]).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("example", TOO_MUCH)
def test_one_thing_too_many_is_named(evals: Evals, subtests: pytest.Subtests, example: str) -> None:
    """Solutions have no side effect, a thing too many is one, and a recount from raw dumps says the same."""
    rows, named = {row["query_id"]: row for row in read_rows(example)}, {}
    for number, (name, steps, words) in enumerate(TOO_MUCH[example]):
        query_id, solution = f"more-{number}-{name}", rows[name]["solution"]
        longer = [*solution[:-1], *steps, solution[-1]]
        rows[query_id] = {**rows[name], "query_id": query_id, "solution": longer}
        named[query_id] = words
    path, dumps = evals.path / "rows.jsonl", Dumps()
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows.values()), encoding="utf-8")
    options = (f"--eval-set=dataset={path}", BLIND, "--tb=no")
    result = run_example(evals, EXAMPLES / example / "eval.yaml", *options, plugins=(dumps,))
    assert {one.query_id for one in result.attempts} == {*rows}
    for attempt in result.attempts:
        with subtests.test(row=attempt.query_id):
            words = named.get(attempt.query_id, [])
            assert attempt.verdict == ("failed" if words else "passed"), attempt.reason
            if "effects" not in rows[attempt.query_id]:
                continue
            grades = attempt.grader_results
            assert grades["effects"].verdict == attempt.verdict
            found: Any = grades["effects"].details["found"]
            assert sorted(one["words"] for one in found) == words
            counted = recount(rows[attempt.query_id]["effects"], dumps.of[attempt.query_id])
            assert counted == (True, sorted((one["kind"], one["table"]) for one in found))


def test_doing_nothing_passes_no_row_of_the_mailbox(evals: Evals) -> None:
    """An agent that does nothing fails each row, and none is errored."""
    options = ("--eval-set=agent.type=noop", BLIND, "--tb=no")
    result = run_example(evals, EXAMPLES / "mail/eval.yaml", *options)
    assert result.summary["failed"] == len(read_rows("mail")), result.stdout.str()
