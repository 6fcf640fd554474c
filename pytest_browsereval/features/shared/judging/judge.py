"""A model at work as a judge of one attempt: what it is asked, what it replied, what that took."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

from pytest_browsereval.errors import Fault, Outage, StopRun
from pytest_browsereval.features.shared.judging import replies
from pytest_browsereval.features.shared.judging.pictures import QUALITY, SIDES, Shown, encode_picture
from pytest_browsereval.features.shared.judging.replies import Fence, JudgeReply, ReplyT, Unparseable
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.graders.protection import mask_of
from pytest_browsereval.llm.client import chat_client
from pytest_browsereval.llm.completion import CUT, Completion
from pytest_browsereval.llm.judge import JudgeConfig, Output
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.run_files import load_written, read_written, write_json

T = TypeVar("T")

RECORD = "judge"
"""The folder of an attempt with every reply that was paid for."""

SENDING = (replies.RULE, replies.TAGGED, replies.BARE, replies.PARSER, replies.LONGEST, SIDES, QUALITY)
"""Our texts and limits around every question. A change of one may change every reply."""

_FORMAT_WORDS = re.compile("(?i)response_format|json[_ ](schema|object|mode)|structured output|output_config")

TRIES = 2
"""How many times a reply that can be used is asked for."""

HINT = "For {} that cannot reply in that form, write `judge: {{output: {}}}`"


@dataclass(frozen=True)
class Given:
    """A text that a judge is given to judge; it is fenced."""

    title: str
    text: str


Part = Given | Shown | str
"""Of a question; a text is one of the eval's author, which is not fenced."""


@dataclass(frozen=True)
class _Question(Generic[ReplyT]):
    reply: type[ReplyT]
    rules: str
    parts: tuple[Part, ...]
    call: str
    check: Callable[[ReplyT], object] | None

    def checked(self, reply: ReplyT) -> ReplyT:
        if self.check is not None:
            self.check(reply)
        return reply


@dataclass
class Ledger:
    """What the questions about one attempt took."""

    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    from_record: int = 0
    """Replies that had been paid for before."""


@dataclass(frozen=True)
class Judge:
    """Asks one model about one attempt. A reply that was paid for once is read from the attempt's folder.

    Args:
        config: the model.
        recorded: the attempt.
        ballot: which of several votes this one is, from 0; the same question is asked once for each.
    """

    config: JudgeConfig
    recorded: Recorded
    ballot: int = 0
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def name(self) -> str:
        """The model, for messages."""
        return f"{self.config.provider} {self.config.model_name}"

    async def ask(
        self,
        reply: type[ReplyT],
        rules: str,
        parts: Sequence[Part],
        *,
        call: str = "verdict",
        check: Callable[[ReplyT], object] | None = None,
    ) -> ReplyT:
        """Return the judge's reply to a question.

        The judge also gets the date of the attempt and its start page. A reply that cannot
        be used is asked for once more, and never kept as the answer.

        Args:
            reply: the form of the reply.
            rules: what to judge and how, written by us: nothing in it comes from a page, a row or a model.
            parts: the material: texts, which are fenced, pictures, and words of the eval's author.
            call: names the question in the record and in messages.
            check: raises a fault if a reply contradicts itself or what was asked.

        Raises:
            Fault: source *grader*; the judge refused, was cut off, gave no usable reply, or the provider
                failed.
            StopRun: the provider refused the key.
        """
        task, date = self.recorded.task, self.recorded.started_at[:10]
        facts = f"Date of the attempt: {date or 'not known'}\nStart page: {task.start_url or 'an empty page'}"
        question = _Question(reply, rules, (Given("facts", facts), *parts), call, check)
        # All graders of a process share the limit of a model: providers refuse more with status 429.
        async with _get_shared().gates.setdefault(self.config, asyncio.Semaphore(self.config.concurrency)):
            key = await asyncio.to_thread(self._key, question)
            file = self.recorded.folder / RECORD / f"{key}.json"
            # Two graders that ask the same at once would both pay for it.
            async with _get_shared().locks.setdefault(file, asyncio.Lock()):
                if (known := _read_recorded_reply(file, question)) is not None:
                    self.ledger.from_record += 1
                    return known
                value, paid = await self._ask_until_usable(question)
                self._save(file, call, value, paid)
                return value

    async def gather(self, *questions: Awaitable[T]) -> list[T | Fault]:
        """Return the results of questions that are asked at once; a failed one is its fault.

        Raises:
            StopRun: the provider refused the key.
        """
        results = await asyncio.gather(*questions, return_exceptions=True)
        # A refused key or an unexpected exception is worth more than the other questions.
        worst = (r for r in results if isinstance(r, StopRun) or not isinstance(r, Fault))
        if broken := next((r for r in worst if isinstance(r, BaseException)), None):
            raise broken
        return cast("list[T | Fault]", results)

    async def ask_all(self, *questions: Awaitable[Any]) -> list[Any]:
        """Return the results of questions that are asked at once, or raise the first fault of one."""
        results = await self.gather(*questions)
        if fault := next((result for result in results if isinstance(result, Fault)), None):
            raise fault
        return results

    # -- one question

    async def _ask_until_usable(self, question: _Question[ReplyT]) -> tuple[ReplyT, Usage]:
        paid, mode, why = Usage(), self.config.strictest, ""
        for _ in range(TRIES):
            # Fresh for each request, so that a mark which leaked into a reply closes nothing.
            fence = Fence()
            completion = await self._send(question, fence, mode)
            paid += completion.usage
            if completion.refusal:
                raise self._fault(question.call, f"refused to judge: {beginning(completion.refusal, 200)}")
            if completion.finish_reason == CUT:
                raise self._fault(question.call, "the reply was cut off. Raise judge.max_output_tokens")
            try:
                value = replies.read_reply(completion.text, question.reply, mode, fence)
                return question.checked(value), paid
            except (Unparseable, Fault) as error:
                why = self._describe_reply(error, completion.text)
        raise self._fault(question.call, why)

    async def _send(self, question: _Question[ReplyT], fence: Fence, mode: Output) -> Completion:
        form = replies.form_rule(question.reply, mode, fence)
        content = await asyncio.to_thread(_make_content, question.parts, fence)
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": f"{question.rules}\n\n{fence.rule}\n\n{form}"},
            {"role": "user", "content": content},
        ]
        try:
            completion = await chat_client(self.config).complete(
                messages, response_format=replies.response_format(question.reply, mode), role="judge"
            )
        except StopRun:
            raise
        except asyncio.CancelledError:
            # It is under way: all that it costs is paid, and no reply will say how much.
            self.ledger.usage += Usage(requests=1)
            raise
        except Fault as error:
            self.ledger.usage += error.usage or Usage()
            is_form = error.status in (400, 422) and mode != "tagged" and _FORMAT_WORDS.search(str(error))
            looser = "json" if mode == "json_schema" else "tagged"
            hint = f". {HINT.format('a server', looser)}" if is_form else ""
            fault = self._fault(question.call, f"{error}{hint}")
            if isinstance(error, Outage):
                last = error.answered_at
                raise Outage(fault.source, str(fault), what=error.what, answered_at=last) from None
            raise fault from None
        self.ledger.calls += 1
        self.ledger.usage += completion.usage
        return completion

    def _describe_reply(self, error: Exception, text: str) -> str:
        """Return what is wrong with the second reply, and how it begins."""
        if not isinstance(error, Unparseable):
            return f"two replies that cannot be used; the last: {error}"
        start = beginning(" ".join(self._hide(text).split()), 80)
        is_prose = "Invalid JSON" in str(error) and self.config.output != "tagged"
        hint = f". {HINT.format('a model', 'tagged')}" if is_prose else ""
        return f"two replies in an unusable form; the last: {error}. It begins {start!r}{hint}"

    def _hide(self, text: str) -> str:
        """Return a text of the judge, who quotes pages and so their secrets, without these."""
        return mask_of(self.recorded.task)(self.recorded.redact(text))

    def _fault(self, call: str, message: str) -> Fault:
        return GraderFault(f"the judge {self.name} gave no {call}: {message}")

    # -- the record of what was paid for

    def _key(self, question: _Question[ReplyT]) -> str:
        # A number tells pictures apart. One alone needs none: an unchanged page is asked about once.
        has_many = sum(isinstance(part, Shown) for part in question.parts) > 1
        shown = [
            [part.caption or (has_many and part.number), part.detail, _digest_of(part.path)]
            if isinstance(part, Shown)
            else [part.title, part.text]
            if isinstance(part, Given)
            else part
            for part in question.parts
        ]
        form = replies.schema_of(question.reply)
        asked = [identity(self.config), SENDING, question.rules, form, shown, self.ballot]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]

    def _save(self, file: Path, call: str, value: JudgeReply, paid: Usage) -> None:
        content = {
            "call": call,
            "ballot": self.ballot,
            "model": self.config.model_name,
            "output": self.config.strictest,
            "reply": replies.to_record(value, self._hide),
            "usage": paid.model_dump(mode="json"),
        }
        try:
            file.parent.mkdir(exist_ok=True)
            write_json(file, content)
        except OSError as error:
            raise self._fault(call, f"its reply cannot be recorded ({error.strerror})") from None


def identity(config: JudgeConfig) -> dict[str, Any]:
    """Return what of a judge's settings can change its replies."""
    names = ("temperature", "max_output_tokens", "seed", "reasoning_effort", "output")
    given = {name: getattr(config, name) for name in names if getattr(config, name) is not None}
    return {"provider": config.provider, "url": config.url, "model": config.model_name, **given}


def _digest_of(path: Path) -> str:
    try:
        return hashlib.sha256(read_written(path)).hexdigest()
    except OSError as error:
        raise GraderFault(f"the picture {path.name} cannot be read: {error.strerror}") from None


def _read_recorded_reply(file: Path, question: _Question[ReplyT]) -> ReplyT | None:
    try:
        return question.checked(question.reply.model_validate_json(json.dumps(load_written(file)["reply"])))
    except (OSError, ValueError, KeyError, TypeError, Fault):
        return None


def _make_content(parts: Sequence[Part], fence: Fence) -> str | list[dict[str, Any]]:
    """Return a message's content; plain text where there is no picture, which every server knows."""
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Shown):
            content.append({"type": "text", "text": part.caption or f"Picture {part.number}:"})
            content.append(encode_picture(part.path, part.detail))
        else:
            text = part if isinstance(part, str) else fence.wrap(part.title, part.text)
            content.append({"type": "text", "text": text})
    has_pictures = any(part["type"] != "text" for part in content)
    return content if has_pictures else "\n\n".join(part["text"] for part in content)


# -- what the judges of this process share


@dataclass
class _Shared:
    gates: dict[JudgeConfig, asyncio.Semaphore] = field(default_factory=dict)
    locks: WeakValueDictionary[Path, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """By the record of a reply: the same question, of two graders or two pictures, is asked once."""


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()


def _get_shared() -> _Shared:
    return _by_loop.setdefault(asyncio.get_running_loop(), _Shared())
