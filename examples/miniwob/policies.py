"""The agent of this example: one small policy for each kind of page, with no model.

A policy gets what the page asks and acts through the tools, as a model would. It never looks into
the page's scripts, and the reward is the grader's to read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Protocol

from pytest_browsereval import AgentContext


class Stuck(Exception):
    """A tool refused what the policy wanted."""


class Hands(Protocol):
    """What a policy can do; ``benchmarks/per_task.py`` has hands of plain Playwright."""

    async def read(self, target: str) -> str:
        """Return the visible text of an element."""

    async def click(self, target: str) -> None:
        """Click an element."""

    async def fill(self, target: str, text: str) -> None:
        """Replace the content of a text field."""

    async def select(self, target: str, value: str) -> None:
        """Choose an option of a list."""


class ToolHands:
    """Hands that call tools, so that every step is recorded with its picture."""

    def __init__(self, context: AgentContext) -> None:
        self._tools = context.tools

    async def _call(self, tool: str, **arguments: str) -> str:
        result = await self._tools.call(tool, arguments)
        if not result.ok:
            raise Stuck(result.output)
        return result.output

    async def read(self, target: str) -> str:
        return await self._call("read_text", target=target)

    async def click(self, target: str) -> None:
        await self._call("click", target=target)

    async def fill(self, target: str, text: str) -> None:
        await self._call("fill", target=target, text=text)

    async def select(self, target: str, value: str) -> None:
        await self._call("select_option", target=target, value=value)


async def solve(context: AgentContext) -> str:
    """Read what the page asks and follow the policy of that page."""
    page = context.task.query_id.rpartition("-")[0]
    try:
        await play(page, ToolHands(context))
    except Stuck as problem:
        return f"I am stuck: {problem}"
    return "I have done what the page asks."


async def play(page: str, hands: Hands) -> None:
    """Solve a page.

    Raises:
        Stuck: an element was not there or could not be used.
    """
    asked = " ".join((await hands.read("#query")).split())
    await POLICIES[page](hands, asked)


def with_text(selector: str, text: str) -> str:
    """Return a selector for the first element with exactly this text."""
    return f"{selector}:text-is({json.dumps(text, ensure_ascii=False)}) >> nth=0"


def quoted(asked: str) -> list[str]:
    """Return what stands in double quotes."""
    return re.findall(r'"([^"]*)"', asked)


def between(asked: str, before: str, after: str) -> str:
    """Return the text between two phrases."""
    return asked.partition(before)[2].partition(after)[0]


SUBMIT = "#subbtn"

# ---------------------------------------------------------------- clicking


async def click_button(hands: Hands, asked: str) -> None:
    await hands.click(with_text("#area button", quoted(asked)[0]))


async def click_test_2(hands: Hands, asked: str) -> None:
    await hands.click(with_text("#area button", between(asked, "Click button ", ".")))


async def click_button_sequence(hands: Hands, asked: str) -> None:
    for name in re.findall(r"button (\w+)", asked):
        await hands.click(with_text("#area button", name))


async def click_link(hands: Hands, asked: str) -> None:
    await hands.click(with_text("#area .alink", quoted(asked)[0]))


async def click_boxes(hands: Hands, asked: str) -> None:
    """Check boxes and radio buttons alike: ``Select a, b and click Submit.``."""
    names = between(asked, "Select ", " and click Submit")
    for name in names.split(", ") if names != "nothing" else ():
        await hands.click(with_text("#boxes label", name))
    await hands.click(SUBMIT)


async def click_dialog_2(hands: Hands, asked: str) -> None:
    name = quoted(asked)[0]
    is_cross = name == "x"
    await hands.click(".ui-dialog-titlebar button" if is_cross else with_text(".ui-dialog button", name))


async def click_tab(hands: Hands, asked: str) -> None:
    await hands.click(with_text("#area a", between(asked, "Click on ", ".")))


async def click_widget(hands: Hands, asked: str) -> None:
    await hands.click(f'#area [data-type="{quoted(asked)[0]}"] >> nth=0')


async def click_collapsible(hands: Hands, asked: str) -> None:
    del asked
    await hands.click("#area h3")
    await hands.click(SUBMIT)


async def focus_text_2(hands: Hands, asked: str) -> None:
    position = int(between(asked, "the ", "input")[0])
    await hands.click(f"#area input >> nth={position - 1}")


# ---------------------------------------------------------------- forms


async def choose_list(hands: Hands, asked: str) -> None:
    await hands.select("#options", between(asked, "Select ", " from the list"))
    await hands.click("#area button")


async def enter_text(hands: Hands, asked: str) -> None:
    text = quoted(asked)[0]
    if "upper case" in asked:
        text = text.upper()
    elif "lower case" in asked:
        text = text.lower()
    await hands.fill("#tt", text)
    await hands.click(SUBMIT)


async def enter_password(hands: Hands, asked: str) -> None:
    for field in ("#password", "#verify"):
        await hands.fill(field, quoted(asked)[0])
    await hands.click(SUBMIT)


async def login_user(hands: Hands, asked: str) -> None:
    for field, text in zip(("#username", "#password"), quoted(asked), strict=True):
        await hands.fill(field, text)
    await hands.click(SUBMIT)


async def enter_date(hands: Hands, asked: str) -> None:
    month, day, year = re.findall(r"\d+", asked)
    await hands.fill("#tt", f"{year}-{month}-{day}")
    await hands.click(SUBMIT)


async def enter_time(hands: Hands, asked: str) -> None:
    hour, minute, half = re.findall(r"(\d+):(\d+)\s*([AP])M", asked)[0]
    await hands.fill("#tt", f"{int(hour) % 12 + 12 * (half == 'P'):02}:{minute}")
    await hands.click(SUBMIT)


# ---------------------------------------------------------------- reading


async def simple_arithmetic(hands: Hands, asked: str) -> None:
    del asked
    left, sign, right = (await hands.read("#math-problem")).split()[:3]
    a, b = int(left), int(right)
    await hands.fill("#math-answer", str({"+": a + b, "-": a - b, "x": a * b}[sign]))
    await hands.click(SUBMIT)


async def simple_algebra(hands: Hands, asked: str) -> None:
    del asked
    left, sign, right, _, total = (await hands.read("#math-problem")).split()
    known, result = int(right if left == "x" else left), int(total)
    solutions = {"+": result - known, "-": result + known if left == "x" else known - result}
    await hands.fill("#math-answer", str(solutions[sign]))
    await hands.click(SUBMIT)


async def read_table(hands: Hands, asked: str) -> None:
    rows = (await hands.read("#area table")).splitlines()
    table = dict(row.split("\t") for row in rows)
    await hands.fill("#tt", table[between(asked, "the value of ", " into")])
    await hands.click(SUBMIT)


async def find_word(hands: Hands, asked: str) -> None:
    position = int(re.findall(r"\d+", asked)[0])
    words = (await hands.read("#area p")).split()
    await hands.fill("#answer-input", words[position - 1].strip(".,"))
    await hands.click(SUBMIT)


async def odd_or_even(hands: Hands, asked: str) -> None:
    del asked
    numbers = re.findall(r"-?\d+", await hands.read("#numbers"))
    for row, number in enumerate(numbers):
        await hands.click(f"#area .row >> nth={row} >> button.{'odd' if int(number) % 2 else 'even'}")
    await hands.click("#submit")


# ---------------------------------------------------------------- several looks


async def guess_number(hands: Hands, asked: str) -> None:
    low, high = (int(number) for number in re.findall(r"\d", asked))
    while True:
        guess = (low + high) // 2
        await hands.fill("#tt", str(guess))
        await hands.click(SUBMIT)
        feedback = await hands.read("#feedback")
        if "higher" in feedback:
            low = guess + 1
        elif "lower" in feedback:
            high = guess - 1
        else:
            return


async def generate_number(hands: Hands, asked: str) -> None:
    bounds = [int(number) for number in re.findall(r"\d+", asked)]

    def fits(number: int) -> bool:
        if bounds:
            return number < bounds[0] if "less" in asked else number > bounds[0]
        return number % 2 == ("odd" in asked)

    await hands.click("#generate")
    while not fits(int(await hands.read("#display-number"))):
        await hands.click("#generate")
    await hands.click("#submit")


async def search_engine(hands: Hands, asked: str) -> None:
    await hands.fill("#search-text", quoted(asked)[0])
    await hands.click("#search")
    position = int(re.findall(r"the (\d)\w\w search", asked)[0]) - 1
    if position >= 3:
        await hands.click(with_text("#pagination a", str(position // 3 + 1)))
    await hands.click(f"#page-content .search-title >> nth={position % 3}")


async def phone_book(hands: Hands, asked: str) -> None:
    name = between(asked, "Find ", " in the contact book")
    while (await hands.read("#contact .name")).strip() != name:
        await hands.click(with_text("#pagination a", ">"))
    await hands.click(f"#contact .{re.findall(r'phone|email|address', asked)[-1]}")


POLICIES: dict[str, Callable[[Hands, str], Awaitable[None]]] = {
    "choose-list": choose_list,
    "click-button": click_button,
    "click-button-sequence": click_button_sequence,
    "click-checkboxes": click_boxes,
    "click-collapsible-nodelay": click_collapsible,
    "click-dialog-2": click_dialog_2,
    "click-link": click_link,
    "click-option": click_boxes,
    "click-tab": click_tab,
    "click-test-2": click_test_2,
    "click-widget": click_widget,
    "enter-date": enter_date,
    "enter-password": enter_password,
    "enter-text-2": enter_text,
    "enter-time": enter_time,
    "find-word": find_word,
    "focus-text-2": focus_text_2,
    "generate-number": generate_number,
    "guess-number": guess_number,
    "login-user": login_user,
    "odd-or-even": odd_or_even,
    "phone-book": phone_book,
    "read-table": read_table,
    "search-engine": search_engine,
    "simple-algebra": simple_algebra,
    "simple-arithmetic": simple_arithmetic,
}
"""Page by page."""
