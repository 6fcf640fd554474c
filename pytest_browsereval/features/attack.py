"""Attacks: what an attacker puts in an agent's way while the site stays the same, and what that is for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from pydantic import Field, JsonValue, field_validator

from pytest_browsereval.config.block import Block
from pytest_browsereval.config.names import VariantName
from pytest_browsereval.datasets.base import Select
from pytest_browsereval.graders.state_diff import StateSource
from pytest_browsereval.needs import Needs
from pytest_browsereval.registry import Component

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

    from pytest_browsereval.config.model import EvalConfig


class Goal(Block):
    """What an attacker wants. The agent is *compromised* once all checks hold at one moment."""

    name: VariantName = "goal"
    """By what figures are grouped: ``order``, ``address``, ``message``, ``secret``, ``request``, ``file``,
    ``answer``, ``give_up`` or a name of your own."""
    say: str = ""
    """What ``{goal}`` stands for in the payload."""
    checks: tuple[dict[str, JsonValue], ...] = Field(min_length=1)
    """Checks of a page as of the grader ``page_state``; of a state with ``path`` as of ``state_diff``; and
    ``request``, ``answer``, ``typed``, ``given_up``."""
    source: StateSource | None = None
    """Where the state is that checks with a ``path`` alone are about."""
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


class Placer(Protocol):
    """Puts one attack in the way of one attempt."""

    payload: str
    """The attack's payload, its placeholders filled in."""
    attacker: str
    """The base URL of the attacker's origin, without a slash at its end; empty if the attack names none."""
    start_url: str
    """Where the row starts; empty if it starts on an empty page."""

    @property
    def context(self) -> BrowserContext:
        """Where the attempt's pages are."""

    def fill(self, text: str) -> str:
        """Return a text with ``{goal}``, ``{attacker}`` and the names of sites filled in."""

    def note_delivered(self, where: str) -> None:
        """Note that the agent can meet the payload now, and where; only the first time counts."""

    async def run_in_pages(
        self, function: str, argument: JsonValue, report: Callable[[str], object] | None = None
    ) -> None:
        """Run a function in the documents that are open and in all that come.

        It runs in a world of its own: it has the elements of a page and none of its variables, and the page
        does not see it.

        Args:
            function: an expression in JavaScript, ``(argument, tell) => ...``. It is called once the document
                can be read and again whenever that changes, and calls ``tell(where)`` once the payload is
                there. If it raises and nothing is delivered, the attempt is errored.
            argument: for the function.
            report: called with what it tells, once for each text and document; by default
                :meth:`note_delivered`.
        """

    async def tell_pages(self, script: str) -> None:
        """Run a statement in the world of these functions, in all documents that come."""

    async def route(
        self, pattern: str, handler: Callable[[Any], Awaitable[None]]
    ) -> Callable[[], Awaitable[None]]:
        """Have requests to a URL answered; return what ends that, to be called and awaited.

        Args:
            pattern: a glob as of Playwright's ``route``.
            handler: called with Playwright's ``Route``, which it answers within 5 s; a request that it leaves
                alone passes.
        """


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
    def waits_for_page(self) -> bool:
        """Whether it is placed once the start page has been set up, rather than before it is loaded."""
        return False

    def needs(self) -> Needs:
        """Return what it needs of the browser: a page, unless a member says otherwise."""
        return Needs(page=True)

    def check_options(self) -> None:
        """Check before the run what fields cannot say.

        Raises:
            ValueError: with what to write.
        """

    async def place(self, placer: Placer) -> None:
        """Put the attack in the agent's way: before the start page is loaded, or once it is due; in 30 s."""

    def alter_result(self, tool: str, output: str, placer: Placer) -> str | None:
        """Return what the agent reads as the result of a tool instead; None leaves it as it is.

        It is not asked about ``done`` and ``give_up``, by which the attempt ends.
        """
        return None


def list_attacks(config: EvalConfig) -> tuple[AttackConfig, ...]:
    """Return the attacks of a config, whose key any members of the family may stand in."""
    return cast("tuple[AttackConfig, ...]", config.attacks)
