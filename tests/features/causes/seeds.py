"""Failures of known cause: what an agent does wrong on purpose, and what a person would say of it.

Cause and step were written by hand before the rules were run on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Seed:
    """An attempt that goes wrong on purpose."""

    name: str
    row: str
    """The row of the example; those of miniwob have no solution, and a passed attempt beside them."""
    steps: tuple[Step, ...]
    cause: str
    step: int
    setup: str = ""
    """What is added to the script of the start page."""


def click(target: str) -> Step:
    return {"tool": "click", "target": target}


def button(name: str) -> Step:
    return click(f'role=button[name="{name}"]')


def link(name: str) -> Step:
    return click(f'role=link[name="{name}"]')


def fill(target: str, text: str) -> Step:
    return {"tool": "fill", "target": target, "text": text}


def choose(target: str, value: str) -> Step:
    return {"tool": "select_option", "target": target, "value": value}


def check(target: str) -> Step:
    return {"tool": "check", "target": target}


def go(url: str) -> Step:
    return {"tool": "navigate", "url": url}


def read(target: str = "main") -> Step:
    return {"tool": "read_text", "target": target}


def done(answer: str = "Done") -> Step:
    return {"tool": "done", "answer": answer}


def wait(text: str, seconds: float) -> Step:
    return {"tool": "wait_for_text", "text": text, "timeout_s": seconds}


def again(times: int, *steps: Step) -> tuple[Step, ...]:
    return steps * times


STYLE = "; document.head.append(Object.assign(document.createElement('style'), {textContent: %r}))"
COVER = STYLE % "body::before {content: ''; position: fixed; inset: 0; z-index: 9999}"
DISABLE = "; document.querySelectorAll('button').forEach(one => {one.disabled = true})"
MUG, OTHER_MUG = "Add Stoneware Mug to cart", "Add Speckled Mug to cart"

SHOP = (
    Seed("wrong item, then all that follows", "shop-four-plates",
         (link("Serving Bowl"), choose("label=Quantity", "4"), button("Add to cart"), done()),
         "wrong_target", 1),
    Seed("one of two items is wrong", "shop-two-mugs",
         (button(MUG), button("Add Copper Kettle to cart"), click(".cart-link"), done()), "wrong_target", 2),
    Seed("right item taken out again", "shop-two-mugs",
         (button(MUG), button(OTHER_MUG), click(".cart-link"), button("Remove Speckled Mug"), done()),
         "right_state_lost", 4),
    Seed("filters set and cleared", "shop-garden-in-stock",
         (check('role=radio[name="Garden"]'), check("label=In stock only"), button("Apply filters"),
         click("text=Clear all"), done()), "right_state_lost", 4),
    Seed("to and fro between two pages", "shop-when-arrives",
         again(7, go("{shop}/help.html"), go("{shop}/saved.html")), "loop_of_pages", 1),
    Seed("a loop after a good beginning", "shop-buy-mug",
         (link("Stoneware Mug"), button("Add to cart"),
          *again(6, go("{shop}/help.html"), go("{shop}/orders.html"))), "loop_of_pages", 3),
    Seed("gives up before it has read", "shop-worst-review",
         (link("Copper Kettle"), done("I could not find the review.")), "gave_up", 2),
    Seed("gives up after it has looked", "office-extension",
         (read("table"), {"tool": "scroll", "direction": "down"},
          done("I am unable to find the extension.")), "gave_up", 3),
    Seed("answers before the order", "shop-buy-mug",
         (link("Stoneware Mug"), button("Add to cart"), link("View cart"), done("It is ordered.")),
         "answered_too_early", 4),
    Seed("answers before the last page", "office-last-page",
         (button("Next page"), button("Next page"), read("tbody"), done("Oskar Nyström")),
         "answered_too_early", 4),
    Seed("reads the wrong page", "shop-returns",
         (go("{shop}/orders.html"), read(), done("30 days")), "never_reached_page", 1),
    Seed("reads another wrong page", "office-hotel-limit",
         (go("{office}/people.html"), read(), done("100 euros")), "never_reached_page", 1),
    Seed("waits until its time is over", "shop-cheapest-stationery",
         (check('role=radio[name="Stationery"]'), wait("6 products", 30)), "page_too_slow", 2),
    Seed("waits twice for what does not come", "shop-when-arrives",
         (link("Orders"), *again(2, wait("All orders are loaded", 1)), done("In April.")),
         "page_too_slow", 2),
    Seed("the button is covered", "shop-change-cart",
         (*again(2, button("Remove Wool Blanket")), done()), "target_covered", 1, setup=COVER),
    Seed("the button is disabled", "office-guest-network",
         (button("How do guests get on the network?"), done("heron")), "target_not_usable", 1,
         setup=DISABLE),
    Seed("sorts again and again", "office-newest-first",
         (*again(5, button("First day")), done()), "repeated_action", 3),
    Seed("applies no coupon four times", "shop-coupon",
         (*again(4, button("Apply")), done("$72")), "repeated_action", 1),
    Seed("a link that is not there", "shop-save-for-later",
         (*again(2, link("Fountain Pens")), done()), "target_not_found", 1),
    Seed("a button that is not there, after a look", "shop-cancel-order",
         (read(), *again(2, button("Stop packing")), done("Cancelled.")), "target_not_found", 2),
    Seed("a wrong number in a field", "shop-ten-to-fifteen",
         (fill("label=Minimum price", "10"), fill("label=Maximum price", "50"),
          choose("label=Sort by", "price-desc"), button("Apply filters"), done()), "wrong_value", 2),
    Seed("the right way and a wrong answer", "shop-price-kettle",
         (fill("label=Search products", "kettle"),
          {"tool": "press_key", "key": "Enter", "target": "label=Search products"},
          link("Copper Kettle"), read(), done("It costs $46.00.")), "wrong_answer", 5),
    Seed("a wrong field in a long form", "shop-send-candles",
         (fill("label=Full name", "Mika Lund"), fill("label=Email", "mika@lund.test"),
          fill("label=Street address", "Fjordgata 7"), fill("label=City", "Bergen"),
          fill("label=Postcode", "7010"), choose("label=Country", "Norway"),
          check("role=radio[name=/Express/]"), check("label=I accept the terms"),
          button("Place order"), done("Ordered.")), "wrong_value", 4),
    Seed("a wrong day in a calendar", "office-annual-leave",
         (choose("label=Type", "Annual leave"), button("Choose first day"), button("16 March 2026"),
         button("Choose last day"), button("23 March 2026"), fill("label=Stand-in", "Noor Bakker"),
         check("label=My work is handed over"), button("Send request"), done("Sent.")), "wrong_target", 5),
    Seed("says yes instead of no", "office-keep-party",
         (button("Cancel Rowan"), {"tool": "handle_dialog", "accept": True}, done("It is cancelled.")),
         "wrong_value", 2),
    Seed("leaves a tick out", "shop-buy-mug",
         (link("Stoneware Mug"), button("Add to cart"), link("View cart"), link("Checkout"),
          button("Use my saved address"), button("Place order"), done("LG-1")), "step_left_out", 6),
    Seed("hits another target", "targets-smallest",
         ({"tool": "screenshot"}, {"tool": "click_at", "x": 140, "y": 200}, done()), "wrong_target", 2),
)  # fmt: skip

MINIWOB = (
    Seed("types nonsense", "enter-text-2-1",
         (fill("#tt", "nonsense"), click("#subbtn"), done()), "wrong_value", 1),
    Seed("logs in as somebody else", "login-user-1",
         (fill("#username", "nobody"), fill("#password", "x"), click("#subbtn"), done()), "wrong_value", 1),
    Seed("fills one field of two", "enter-password-1",
         (read("#query"), fill("#password", "{quoted}"), click("#subbtn"), done()), "step_left_out", 3),
    Seed("a button with another name", "click-button-1",
         (*again(2, click('#area button:text-is("no such button")')), done()), "target_not_found", 1),
    Seed("reads and gives up", "click-link-1",
         (read("#query"), done("I cannot find the link.")), "gave_up", 2),
    Seed("opens and closes a section", "click-collapsible-nodelay-1",
         again(8, click("#area h3")), "repeated_action", 2),
    Seed("submits without a choice", "choose-list-1", (click("#area button"), done()), "step_left_out", 1),
    Seed("a wrong day", "enter-date-1",
         (fill("#tt", "2000-01-01"), click("#subbtn"), done()), "wrong_value", 1),
    Seed("calculates wrongly", "simple-arithmetic-1",
         (read("#math-problem"), fill("#math-answer", "9999"), click("#subbtn"), done()), "wrong_value", 2),
    Seed("types into what is not a field", "read-table-1",
         (*again(2, fill("#area table", "x")), done()), "same_error", 1),
)  # fmt: skip
