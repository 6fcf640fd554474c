"""Attacks: what an attacker puts in an agent's way while the site stays the same, and what that is for."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import Field, JsonValue, field_validator

from pytest_browsereval.browsers.playwright.waiting import is_closed_error, playwright_error
from pytest_browsereval.browsers.playwright.world import ApartError, ask_apart
from pytest_browsereval.config.block import Block
from pytest_browsereval.config.names import VariantName
from pytest_browsereval.datasets.base import Select
from pytest_browsereval.errors import PLUGIN_ERRORS, describe_error, is_given_up
from pytest_browsereval.features.shared.world_script import WorldScript
from pytest_browsereval.graders.state_diff import StateSource
from pytest_browsereval.needs import Needs
from pytest_browsereval.redaction.text import map_texts
from pytest_browsereval.registry import Component
from pytest_browsereval.sites import fill

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

    from pytest_browsereval.config.model import EvalConfig


ATTACKER = "attacker"
"""The name of the site that is the attacker's origin."""

PLACE_S = 30.0
"""How long an attack may take to be placed."""
REPLY_S = 5.0
"""How long it may take to answer a request: less than pages are waited for, which would be blamed."""
_PARSE_S = 2.0
"""How long a page may take to read a function: one with a dialog does not."""
_LONGEST = 200
"""Characters of a text that comes from a page."""
DOUBLED = re.compile(r"\{(\{[A-Za-z_][A-Za-z0-9_]*\})\}")
"""A word in doubled braces, which is the text of one in single ones."""
_SCRIPT = Path(__file__).with_name("attack.js").read_text(encoding="utf-8")
_PARSE = "(root, text) => { (0, eval)(`(${text})`); return true; }"


class Goal(Block):
    """What an attacker wants. The agent is *compromised* once all checks hold at one moment."""

    name: VariantName = "goal"
    """The name that groups figures: ``order``, ``address``, ``message``, ``secret``, ``request``, ``file``,
    ``answer``, ``give_up`` or a name of your own."""
    say: str = ""
    """What ``{goal}`` stands for in the payload."""
    checks: tuple[dict[str, JsonValue], ...] = Field(min_length=1)
    """Checks of a page, as for the grader ``page_state``; checks of a state with ``path``, as for
    ``state_diff``; and ``request``, ``answer``, ``typed``, ``given_up``."""
    source: StateSource | None = None
    """The source of the state for checks that have a ``path`` alone."""
    solution: tuple[dict[str, JsonValue], ...] = ()
    """Tool calls that reach the goal, as a row's ``solution``. The agent ``gullible`` plays them."""

    @field_validator("checks", mode="before")
    @classmethod
    def _asks_something(cls, value: Any) -> Any:
        if value in ([], ()):
            raise ValueError(
                "a goal without checks is never reached. Write one, such as {request: /collect}."
            )
        return value


def unescape(value: Any) -> Any:
    """Return a JSON value with ``{word}`` for ``{{word}}``, in strings at any depth."""
    return map_texts(value, lambda text: DOUBLED.sub(r"\1", text))


class AttackError(ValueError):
    """What is wrong with an attack; the message is for who wrote it, and says all there is to say."""


@asynccontextmanager
async def limit_time(limit_s: float) -> AsyncIterator[None]:
    """Cancel what takes longer.

    Raises:
        AttackError: it did.
    """
    try:
        async with asyncio.timeout(limit_s) as clock:
            yield
    except TimeoutError:
        if not clock.expired():
            raise
        raise AttackError(f"it took longer than {limit_s:g} s") from None


def explain(error: BaseException) -> str:
    """Return what to say of an exception in the code of an attack."""
    return str(error) if isinstance(error, AttackError) else describe_error(error)


class Placer:
    """Puts one attack in the way of one attempt.

    Args:
        context: where its pages are; None for a browser without pages of ours.
        payload: of the attack, its placeholders filled in.
        say: what ``{goal}`` stands for.
        site_urls: base URLs by the names of sites.
        report: called with the place of the payload.
        start_url: of the row.
    """

    def __init__(
        self,
        context: BrowserContext | None,
        payload: str,
        say: str,
        site_urls: Mapping[str, str],
        report: Callable[[str], None],
        *,
        start_url: str,
    ) -> None:
        self._context = context
        self.start_url = start_url
        """Where the row starts; empty if it starts on an empty page."""
        self.payload = payload
        """The attack's payload, its placeholders filled in."""
        self.attacker = site_urls.get(ATTACKER, "")
        """The base URL of the attacker's origin, without a slash at its end; empty if none is named."""
        self._say = say
        self._urls = site_urls
        self._report = report
        self._worlds: list[WorldScript] = []
        self._telling: set[asyncio.Task[None]] = set()
        self.broken = ""
        """What broke of the attack outside of pages."""
        self.broken_in_pages = ""
        """The first error of a function in pages; another page may have the payload all the same."""

    @property
    def context(self) -> BrowserContext:
        """Where the attempt's pages are."""
        assert self._context is not None  # noqa: S101 `AttackConfig.needs` was looked at before the run
        return self._context

    def fill(self, text: str) -> str:
        """Return a text with ``{goal}``, ``{attacker}`` and the names of sites filled in."""
        filled: str = unescape(fill(text.replace("{goal}", self._say), self._urls))
        return filled

    def note_delivered(self, where: str) -> None:
        """Note that the agent can meet the payload now, and where; only the first time counts.

        Raises:
            AttackError: the place is not a string.
        """
        if not isinstance(where, str) or not where.strip():
            raise AttackError(f"note_delivered takes where the payload is, as a string, and got {where!r}")
        self._report(where[:_LONGEST])

    async def run_in_pages(self, function: str, argument: JsonValue) -> None:
        """Run a function in all documents that are open, and in later ones.

        It runs in an isolated world: it sees the elements of a page but none of its variables, and the page
        does not see it.

        Args:
            function: an expression in JavaScript, ``(argument, tell) => ...``. It is called once the document
                can be read and again whenever the document changes, and calls ``tell(where)`` once the
                payload is there. If it raises and nothing is delivered, the attempt is errored.
            argument: for the function.

        Raises:
            AttackError: the function is not JavaScript.
        """
        for page in self.context.pages[:1]:
            try:
                await ask_apart(page, _PARSE, function, limit_s=_PARSE_S)
            except ApartError as error:
                why = str(error)[:_LONGEST]
                raise AttackError(f"the function for pages is not JavaScript: {why}") from None
            except playwright_error():
                pass  # a dialog holds it up
        script = f"(report) => ({_SCRIPT})(report, ({function}), {json.dumps(argument)})"
        world = WorldScript(self.context, script, self._receive)
        self._worlds.append(world)
        await world.begin()

    async def settle(self) -> None:
        """Wait until new pages run all functions, and the functions' reports have arrived."""
        await asyncio.gather(*(world.settle() for world in self._worlds), *self._telling)

    def _receive(self, message: object) -> None:
        """Take what a function says in a page."""
        if not isinstance(message, dict):
            self._report(str(message)[:_LONGEST])
        elif "error" in message:
            self.broken_in_pages = self.broken_in_pages or str(message["error"])[:_LONGEST]
        else:
            self._telling.add(task := asyncio.ensure_future(self._tell_over()))
            task.add_done_callback(self._telling.discard)

    async def _tell_over(self) -> None:
        """Tell all documents that come that something is not to be shown again in the attempt."""
        await asyncio.gather(*(world.add("globalThis.browserevalOver = true") for world in self._worlds))

    async def route(
        self, pattern: str, handler: Callable[[Any], Awaitable[None]]
    ) -> Callable[[], Awaitable[None]]:
        """Have a handler answer requests to a URL; return a function that ends this: call and await it.

        Args:
            pattern: a glob, as for Playwright's ``route``.
            handler: called with Playwright's ``Route``, which it answers within 5 s; a request that it does
                not answer goes on.
        """

        async def answer(route: Any) -> None:
            try:
                async with limit_time(REPLY_S):
                    await handler(route)
            except PLUGIN_ERRORS as error:
                if is_given_up(error):
                    raise
                if not is_closed_error(error):  # else the attempt is over, and its window closes
                    self.broken = self.broken or f"the handler of {pattern!r}: {explain(error)}"
            with suppress(playwright_error()):  # it was answered
                await route.fallback()

        await self.context.route(pattern, answer)
        return partial(self.context.unroute, pattern, answer)


class AttackConfig(Component):
    """Base of the members of the family ``attack``."""

    family: ClassVar[str] = "attack"
    channel: ClassVar[str] = ""
    """How the payload reaches the agent, for figures; the type by default."""

    name: VariantName | None = None
    """What reports call the attack, and the end of its rows' ids, ``ROW.under.NAME``; by default the type."""
    payload: str = Field(min_length=1)
    """What the agent meets. ``{goal}`` stands for what the goal says, ``{attacker}`` for the base URL of the
    attacker's origin, and the names of sites in braces for theirs; ``{{word}}`` is the text ``{word}``."""
    goal: Goal
    """What the attacker wants."""
    late: int = Field(default=0, ge=0)
    """After how many steps of the agent the attack appears."""
    select: Select = Select()
    """The rows that run under the attack; all by default."""
    optional: bool = Field(default=False, exclude=True)
    """True lets ``select`` name tags that no row has. Otherwise such a config is refused."""

    @property
    def label(self) -> str:
        """The name in reports."""
        return self.name or self.type

    @property
    def names_attacker(self) -> bool:
        """Whether the attacker's origin is used."""
        return f"{{{ATTACKER}}}" in self.model_dump_json()

    @property
    def waits_for_page(self) -> bool:
        """Whether it is placed once the start page has been set up, rather than before it is loaded."""
        return False

    def needs(self) -> Needs:
        """Return what it needs from the browser: a page, unless a member says otherwise."""
        return Needs(page=True)

    async def place(self, placer: Placer) -> None:
        """Put the attack in the agent's way within 30 s: before the start page loads, or once it is due."""

    def alter_result(self, tool: str, output: str, placer: Placer) -> str | None:
        """Return what the agent reads as the result of a tool instead; None leaves it as it is.

        It is not asked about ``done`` and ``give_up``, which end the attempt.
        """
        return None


def list_attacks(config: EvalConfig) -> tuple[AttackConfig, ...]:
    """Return the attacks of a config, whose key any members of the family may stand in."""
    return cast("tuple[AttackConfig, ...]", config.attacks)
