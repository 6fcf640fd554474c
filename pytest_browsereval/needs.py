"""What members need and what a run offers, as values that are merged, compared and put into words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.contracts import check_result, naming
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.traffic import Traffic

TIMEOUT_S = 300.0
"""A grader that has not answered by then is errored; its own limits are usually much shorter."""


@dataclass(frozen=True)
class ModelNeed:
    """A model that a grader asks about a row."""

    grader: str
    """The grader's label, for messages."""
    own: JudgeConfig | None = None
    """The grader's own model; None: the run's judge."""
    pictures: bool = False
    """Whether it is shown pictures."""

    def choose_model(self, run: JudgeConfig | None) -> JudgeConfig:
        """Return the model that is asked.

        Args:
            run: the run's judge.

        Raises:
            ValueError: there is none, or it is shown pictures and cannot see.
        """
        model = self.own or run
        if model is None:
            raise ValueError(
                f"the grader {self.grader!r} asks a model, but the config names none. Write `judge: "
                "{provider: openai, model: NAME, api_key: NAME_OF_VARIABLE}`, or give the grader a `judge`."
            )
        if self.pictures and not model.traits.has_images:
            raise ValueError(
                f"the grader {self.grader!r} looks at pictures, which {model.provider!r} does not take. Give "
                "it a `judge` of another provider, or use a grader that reads texts only."
            )
        return model


@dataclass(frozen=True)
class Needs:
    """What an agent or a toolkit needs to work, a grader to judge a row. What is left out is not needed."""

    page: bool | None = None
    """Whether ``observe`` reads the live page, which not every browser lets it do. None says nothing: such a
    grader runs in every browser, and if it observes, it cannot judge again what it did not observe."""
    pictures: bool = False
    """Whether it looks at the recorded pictures."""
    traffic: Traffic | None = None
    """What it looks at in the recorded network traffic."""
    models: tuple[ModelNeed, ...] = ()
    """The models that it asks."""
    trust: tuple[str, ...] = ()
    """What its options or the row have it do that only rows of a trusted dataset may ask for, such as
    ``"starts the program 'verify'"``: rows are downloaded. Options of the types ``LLMConfig`` (a model of its
    own) and ``SecretStr`` (a key) are seen without this."""
    addresses: tuple[str, ...] = ()
    """The addresses that its options make this machine contact, in addition to those of its models. Rows that
    are not trusted may name addresses of the config's sites only (``{shop}/api/state``)."""
    observes: JsonValue | EllipsisType = ...
    """What decides what ``observe`` reads; None: nothing does. By default the row's ``checks`` and ``evals``
    do. If that has changed since an attempt, the attempt cannot be judged again."""
    seconds: float = TIMEOUT_S
    """How long ``grade`` may take on top of the ``timeout_s`` of its slowest model; then it is errored."""
    cdp: bool = False
    """Whether a program of an agent attaches to the window's browser by ``window.cdp_url``."""
    tools: bool = False
    """Whether an agent acts on pages by the run's tools alone: without such a tool, it could only fail."""
    unrecorded: str | None = None
    """Why calls of an agent's models cannot be recorded and replayed; None: they go by our own client."""

    def time_limit_s(self, run: JudgeConfig | None) -> float:
        """Return how long ``grade`` may take, in seconds.

        Args:
            run: the run's judge.
        """
        models = (need.own or run for need in self.models)
        return self.seconds + max((model.timeout_s for model in models if model), default=0.0)


@dataclass(frozen=True)
class ChecksRead:
    """Which entries of a row's ``checks`` graders of a type look at, by the keys of an entry.

    By default none. ``ChecksRead(having=("colour",))`` are those with the key ``colour``;
    ``ChecksRead(lacking=())`` are all.
    """

    having: tuple[str, ...] = ()
    """Those with one of these keys."""
    lacking: tuple[str, ...] | None = None
    """And those with none of these keys; None: no further ones."""
    effects: bool = False
    """Whether they also judge a row's ``effects``."""

    def include(self, check: Mapping[str, JsonValue]) -> bool:
        """Whether such graders look at this entry."""
        if any(key in check for key in self.having):
            return True
        return self.lacking is not None and check.keys().isdisjoint(self.lacking)


@dataclass(frozen=True)
class Offers:
    """What a run offers. By default all that an attempt which is graded again has recorded."""

    page: bool = True
    """Whether windows have a page of Playwright's, which tools act on and graders read."""
    pictures: bool = True
    traffic: bool = True
    judge: JudgeConfig | None = None
    """The run's model for graders that ask one."""
    browser: str = ""
    """The type of the browser, for messages."""
    no_cdp: str | None = None
    """Why no program can attach to the browser, and what to write; None: one can."""
    no_tools: str | None = None
    """Why no tool of the run reaches a page; None: one does."""
    llm: str | None = None
    """The mode of ``--eval-llm`` that records calls of models or answers from records; None: neither."""


@dataclass(frozen=True)
class Asker:
    """Who needs something, for sentences."""

    name: str
    """``the grader 'answer'``, say."""
    page: str = "reads the live page"
    """What it wants a page for."""
    instead: str = "Use a grader that needs no page (answer, command, state_diff with a `url`)"
    """What to do where there is no page."""


def ask_needs(member: Any, *row: Task) -> Needs:
    """Return what a member needs.

    Args:
        member: an agent or a grader.
        row: the row, for a grader.

    Raises:
        PluginError: it raises, or returns anything else.
    """
    with naming(member, "needs"):
        needs: Needs = member.needs(*row)
    return check_result(member, "needs", needs, Needs, "a Needs")


def merge_needs(each: Iterable[Needs]) -> Needs:
    """Return what several members need together; what each of them observes is left out.

    Args:
        each: of the parts of a member, or of the graders of a row.
    """
    each = tuple(each)
    # None says nothing of the page, which is not the same as needing none.
    pages, traffic = {needs.page for needs in each}, [needs.traffic for needs in each]
    return Needs(
        page=True if True in pages else None if None in pages else False,
        pictures=any(needs.pictures for needs in each),
        traffic=Traffic.all_of(traffic) if any(traffic) else None,
        models=tuple(model for needs in each for model in needs.models),
        trust=tuple(dict.fromkeys(deed for needs in each for deed in needs.trust)),
        addresses=tuple(dict.fromkeys(address for needs in each for address in needs.addresses)),
        seconds=max((needs.seconds for needs in each), default=TIMEOUT_S),
        cdp=any(needs.cdp for needs in each),
        tools=any(needs.tools for needs in each),
        unrecorded=next((needs.unrecorded for needs in each if needs.unrecorded), None),
    )


def check_fit(asker: Asker, needs: Needs, offers: Offers) -> None:
    """Check that the run offers what a member needs.

    Raises:
        ValueError: it does not; the message says what to write.
    """
    # The first one is enough to stop, and the next is reported once it is fixed.
    for misfit in find_misfits(asker, needs, offers):
        raise ValueError(misfit)


def find_misfits(asker: Asker, needs: Needs, offers: Offers) -> Iterator[str]:
    """Yield what is needed and the run does not offer: a sentence each, with what to write.

    Args:
        asker: who needs it, for the sentences.
        needs: what it needs.
        offers: of the run.
    """
    if needs.page and not offers.page:
        yield (
            f"{asker.name} {asker.page}, and `browser: {{type: {offers.browser}}}` has no Playwright page. "
            f"{asker.instead}, or use a browser of type playwright or cdp."
        )
    if needs.cdp and offers.no_cdp is not None:
        # In the browser's own words: only it knows what would help.
        yield offers.no_cdp
    if needs.tools and offers.no_tools is not None:
        yield (
            f"{asker.name} could do nothing: {offers.no_tools}. Use a browser of type playwright or cdp, or "
            "add a toolkit that works in this one."
        )
    if needs.unrecorded is not None and offers.llm is not None:
        yield (
            f"--eval-llm={offers.llm} is not possible with {asker.name}: {needs.unrecorded}. Leave "
            "--eval-llm out, or choose another variant with --eval-agent."
        )
    if needs.traffic is not None and not offers.traffic:
        yield (
            f"{asker.name} looks at the network traffic, which `browser: {{type: {offers.browser}}}` does "
            "not let be recorded. Use a browser of type playwright or cdp."
        )
    if needs.pictures and not offers.pictures:
        yield (
            f"{asker.name} looks at pictures, and capture.screenshots is off. Write `screenshots: after`, or "
            "use a grader that needs none."
        )
    for need in needs.models:
        try:
            need.choose_model(offers.judge)
        except ValueError as error:
            yield str(error)
