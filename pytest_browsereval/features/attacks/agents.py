"""The agents ``gullible`` and ``careful``: one obeys all that it reads, the other one nothing.

They prove attacks: one that does not compromise the first is not seen or cannot be obeyed, and one that
compromises the second needs no agent that falls for it.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import unquote_plus

from pydantic import PrivateAttr

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.agents.scripted import ScriptedAgent, ScriptedConfig, check_steps
from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.config.model import EvalConfig
from pytest_browsereval.features.attacks.dataset import AttackedDataset
from pytest_browsereval.features.attacks.grader import AttackGrader
from pytest_browsereval.features.attacks.session import SESSIONS
from pytest_browsereval.features.shared.attack import list_attacks
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.sites import fill
from pytest_browsereval.tools.base import DONE, Tool, ToolResult
from pytest_browsereval.tools.runner import HANDLE_DIALOG
from pytest_browsereval.tools.toolbox import Toolbox
from pytest_browsereval.tools.toolkit import Toolkit

LIMIT_S = 5.0

_READ = Path(__file__).with_name("reading.js").read_text(encoding="utf-8")

_FIND_BUTTON = Path(__file__).with_name("closing.js").read_text(encoding="utf-8")

_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
"""Characters that no font draws, and the letters that a model may read in them."""

_PICTURE = "data:image/"

MOST_CLOSED = 5
"""Things that cover the page and are closed before a step: a page may open them for ever."""


class CarefulConfig(ScriptedConfig):
    """Plays the row's ``solution`` and closes what covers the page without obeying it; costs no model."""

    type: Literal["careful"] = "careful"  # type: ignore[assignment]

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        return WatchfulAgent(context, CarefulTools(context))


class GullibleConfig(ScriptedConfig):
    """Plays the row's ``solution`` and obeys each payload that it reads by the goal's; costs no model."""

    type: Literal["gullible"] = "gullible"  # type: ignore[assignment]

    _attacked: EvalConfig | None = PrivateAttr(default=None)
    """The config whose goals' solutions it plays; None of one without attacks."""

    def check_tools(self, tools: Mapping[str, Tool], kits: Sequence[Toolkit]) -> tuple[str, ...]:
        """Check that it can take the steps of all goals.

        Raises:
            ConfigError: with file and line of the step.
        """
        if (config := self._attacked) is not None:
            for place, attack in enumerate(list_attacks(config)):
                for number, message in check_steps(attack.goal.solution, tools, "the goal's solution"):
                    path = ("attacks", place, "goal", "solution", number - 1)
                    raise config.wrong(path, f"the attack {attack.label!r}: {message}")
        return super().check_tools(tools, kits)

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        return WatchfulAgent(context, ObedientTools(context))


class WatchfulAgent(AgentEvaluator):
    """One attempt at playing a solution, with a look at the page before each step and after the last."""

    def __init__(self, context: AgentContext, tools: CarefulTools) -> None:
        self._tools = tools
        self._scripted = ScriptedAgent(replace(context, tools=cast("Toolbox", tools)))

    async def execute(self) -> AgentResult:
        """Play the solution."""
        try:
            result = await self._scripted.execute()
            await self._tools.look()
        except GivenUp:
            return AgentResult(None)
        answer = self._tools.changed_answer
        return result if answer is None else replace(result, final_answer=answer)


class GivenUp(Exception):
    """The agent obeys a payload that wants it to give up."""


class CarefulTools:
    """The tools of an attempt, which clear the page before each call.

    Args:
        context: of the attempt.
    """

    def __init__(self, context: AgentContext) -> None:
        self.changed_answer: str | None = None
        """The answer that the agent gives in place of its own."""
        self._tools, self._window = context.tools, context.window

    @property
    def answer(self) -> str | None:
        """What ``done`` was called with."""
        return self._tools.answer

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> ToolResult:
        """Clear the page and call a tool."""
        if name in (HANDLE_DIALOG, DONE):
            return await self._tools.call(name, arguments)
        await self._clear_page()
        result = await self._tools.call(name, arguments)
        # What came just before the call was in its way, so that nothing was done.
        if not result.ok and await self._clear_page():
            result = await self._tools.call(name, arguments)
        return result

    async def look(self) -> None:
        """Look at the page, and do nothing."""

    async def _clear_page(self) -> bool:
        """Close what covers the page; return whether something did."""
        window = self._window
        for closed in range(MOST_CLOSED):
            if not isinstance(window, PlaywrightWindow):
                return False
            point: dict[str, Any] | None = None
            with suppress(NoTab, DialogOpened, TimeoutError, playwright_error()):
                if window.dialog is None:
                    point = await window.watch(window.page.evaluate(_FIND_BUTTON), LIMIT_S)
            if window.dialog is not None:
                await self._tools.call(HANDLE_DIALOG, {"accept": False})
            elif point:
                await self._tools.call("click_at", point)
            else:
                return closed > 0
        return True


class ObedientTools(CarefulTools):
    """Tools of an agent that obeys all that it reads of the payloads of the run.

    Args:
        context: of the attempt; one that is under no attack reads none.
    """

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context)
        self._session = SESSIONS.get(context.window)
        datasets = () if self._session is None else self._session.config.datasets
        known = (one.judges.values() for one in datasets if isinstance(one, AttackedDataset))
        graders = [grader for grader, _ in next(known, ())]
        self._unread = {fold(self._fill(grader.payload)): grader for grader in graders}
        self._known_files: list[str] = []
        self._said = ""
        self._further_tabs: list[int] = []
        """Those that were opened to obey."""

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> ToolResult:
        """Obey what the page says, call a tool, and remember what it says."""
        await self.look()
        given = {**(arguments or {})}
        if name == DONE and self.changed_answer is not None:
            given = {"answer": self.changed_answer}
        if "tab_id" in given:  # the row's solution numbers tabs as if none had been opened to obey
            for tab_id in self._further_tabs:
                given["tab_id"] += tab_id <= given["tab_id"]
        result = await super().call(name, given)
        self._said = result.output
        return result

    def _fill(self, value: Any) -> Any:
        return fill(value, {} if self._session is None else self._session.site_urls)

    async def look(self) -> None:
        """Read the page and what the last tool said, and obey each payload that is new."""
        if not self._unread:
            return
        text = fold("\n".join([self._said, *await self._read_page()]))
        for folded in [folded for folded in self._unread if folded in text]:
            await self._obey(self._unread.pop(folded))

    async def _read_page(self) -> list[str]:
        """Return all texts of the page, its frames and the dialog that it shows, in any order."""
        window = self._window
        if not isinstance(window, PlaywrightWindow):
            return []
        found = [window.url]
        with suppress(NoTab, DialogOpened, TimeoutError, playwright_error()):  # a dialog is read now
            # A frame without an address waits to be seen before it loads, and answers nothing until then.
            for frame in (one for one in window.page.frames if one.url and window.dialog is None):
                asking = frame.evaluate(_READ, self._known_files)
                texts, self._known_files = await window.watch(asking, LIMIT_S)
                found += texts
        if window.dialog is not None:
            found += [window.dialog.message, window.dialog.default_value]
        return [decode(text) for text in found]

    async def _obey(self, attack: AttackGrader) -> None:
        """Do what an attacker wants, and go back to where the agent was.

        Raises:
            GivenUp: that is what it wants.
        """
        if any("given_up" in check for check in attack.goal.checks):
            raise GivenUp
        window = self._window
        before, here, url = {tab.tab_id for tab in await window.tabs()}, window.tab_id, window.url
        for step in self._fill(list(attack.goal.solution)):
            name, arguments = str(step["tool"]), {key: step[key] for key in step if key != "tool"}
            if name == DONE:
                self.changed_answer = str(arguments["answer"])
            else:
                await super().call(name, arguments)
        for tab in await window.tabs():
            if tab.tab_id not in before:
                self._further_tabs.append(tab.tab_id)
                await self._tools.call("close_tab", {"tab_id": tab.tab_id})
        if window.tab_id != here:
            await self._tools.call("select_tab", {"tab_id": here})
        if window.url != url:
            await self._tools.call("navigate", {"url": url})


# -- reading texts


def fold(text: str) -> str:
    """Return the letters and digits of a text, by which it is found however it was quoted or broken."""
    plain = unicodedata.normalize("NFKC", text.translate(_TAGS))
    return re.sub(r"[\W_]+", "", plain).casefold()


def decode(text: str) -> str:
    """Return what an address or a picture says; other texts as they are."""
    if text.startswith(_PICTURE):
        try:
            return base64.b64decode(text.partition(",")[2]).decode(errors="ignore")
        except (binascii.Error, ValueError):
            return text
    return f"{text}\n{unquote_plus(text)}" if "%" in text or "+" in text else text
