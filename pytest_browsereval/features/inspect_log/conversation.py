"""An attempt as messages and events of Inspect."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_browsereval.features.inspect_log.package import make_id
from pytest_browsereval.features.shared.export_record import DELEGATE, MEDIA, UniqueNames, clean_json
from pytest_browsereval.model.messages import ErrorMessage, UserMessage
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.runs.turns import Entry, StoredDelegation, StoredStep, StoredTurn, parse_time

NO_PROVIDER = "none"
"""The provider of an agent without a model, whose calls a scripted agent or a program has made."""


def name_model(provider: str | None, model: str | None, agent: str) -> str:
    """Return the name of a model, or of an agent that has none."""
    return f"{provider or NO_PROVIDER}/{well_formed(model or agent)}"


def make_usage(api: Any, usage: Usage) -> Any:
    """Return a usage as Inspect counts: what a cache gave or took is not among the other tokens."""
    return api.ModelUsage(
        input_tokens=max(usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens, 0),
        output_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
        input_tokens_cache_read=usage.cache_read_tokens or None,
        input_tokens_cache_write=usage.cache_write_tokens or None,
        total_cost=usage.cost_usd,
    )


class Conversation:
    """Makes the messages and events of one attempt.

    Args:
        api: of Inspect.
        name: the id of the attempt, which ids of messages and events are made from.
        agent: its agent's block.
        started_at: when it began; events say how long after that they were.
        pictures: by their numbers; empty if they are left out.
    """

    def __init__(
        self, api: Any, name: str, agent: Mapping[str, Any], started_at: str, pictures: Mapping[int, Path]
    ) -> None:
        self._api, self._name, self._pictures = api, name, pictures
        self._agent = str(agent.get("type") or "unknown")
        self._begin = parse_time(started_at) or datetime(1970, 1, 1, tzinfo=UTC)
        self.messages: list[Any] = []
        """Of the agent itself; those of executors are in events."""
        self.events: list[Any] = []
        self._count = 0
        self._ids = UniqueNames()

    def add(self, entries: Sequence[Entry], start: str) -> None:
        """Add what happened.

        Args:
            entries: of the attempt.
            start: the instruction, for an attempt that has no message.
        """
        self._add(entries, None, self.messages)
        if not self.messages:
            self._add([UserMessage(content=start, timestamp="")], None, self.messages)
        if not any(isinstance(event, self._api.ModelEvent) for event in self.events):
            # `messages_df` finds messages in model events alone, and fails if there is none.
            model = name_model(None, None, self._agent)
            self._note_model(None, None, model, list(self.messages), self._api.ModelOutput(model=model))

    def _make_id(self, kind: str) -> str:
        self._count += 1
        return make_id(self._name, kind, self._count)

    def _note(self, span: str | None, at: datetime | None, kind: Any, **fields: Any) -> None:
        time = at or (self.events[-1].timestamp if self.events else self._begin)
        since = max(0.0, (time - self._begin).total_seconds())
        common = {"uuid": self._make_id("event"), "span_id": span, "timestamp": time, "working_start": since}
        self.events.append(kind(**common, **fields))

    def _note_model(
        self, span: str | None, at: datetime | None, model: str, before: list[Any], output: Any, **more: Any
    ) -> None:
        fixed = {"tools": [], "tool_choice": "auto", "config": self._api.GenerateConfig()}
        self._note(span, at, self._api.ModelEvent, model=model, input=before, output=output, **fixed, **more)

    # -- what happened

    def _add(self, entries: Sequence[Entry], span: str | None, chat: list[Any]) -> None:
        api = self._api
        for entry in entries:
            if isinstance(entry, StoredTurn):
                self._add_turn(entry, span, chat)
                continue
            at, text = parse_time(entry.timestamp), well_formed(entry.content)
            if isinstance(entry, ErrorMessage):
                error = api.EvalError(message=text, traceback=text, traceback_ansi=text)
                self._note(span, at, api.ErrorEvent, error=error, metadata={"code": entry.error_code})
            else:
                chat.append(api.ChatMessageUser(content=text, source="input", id=self._make_id("message")))
                self._note(span, at, api.InfoEvent, source="user", data=text)

    def _add_turn(self, turn: StoredTurn, span: str | None, chat: list[Any]) -> None:
        api, reply = self._api, turn.reply
        is_known = reply is not None or turn.model is not None
        model = name_model(turn.provider if is_known else None, turn.model, self._agent)
        names = [self._name_call(act) for act in turn.acts]
        calls = [self._make_call(act, name) for act, name in zip(turn.acts, names, strict=True)]
        text = well_formed(reply.content) if reply else ""
        own = {"content": text, "model": model, "id": self._make_id("message")}
        message = api.ChatMessageAssistant(tool_calls=calls or None, **own)
        output = api.ModelOutput.from_message(message, stop_reason="tool_calls" if calls else "stop")
        output.model = model
        before = list(chat)
        chat.append(message)
        more: dict[str, Any] = {"completed": turn.ended_at}
        if reply is not None:
            output.usage = make_usage(api, reply.usage) if reply.usage else None
            output.time = more["working_time"] = (reply.duration_ms or 0) / 1000
            more["role"] = "executor" if span else None
        self._note_model(span, turn.started_at, model, before, output, **more)
        for act, name in zip(turn.acts, names, strict=True):
            if isinstance(act, StoredStep):
                self._add_step(act, name, span, chat)
            else:
                self._add_delegation(act, name, span, chat)

    def _name_call(self, act: StoredStep | StoredDelegation) -> str:
        return self._ids.add(well_formed(act.call.tool_call_id if isinstance(act, StoredStep) else act.id))

    def _make_call(self, act: StoredStep | StoredDelegation, name: str) -> Any:
        if isinstance(act, StoredStep):
            function, arguments = well_formed(act.call.tool), clean_json(act.call.params)
        else:
            function, arguments = DELEGATE, {"instruction": well_formed(act.goal.instruction)}
        return self._api.ToolCall(id=name, function=function, arguments=arguments)

    def _add_step(self, step: StoredStep, name: str, span: str | None, chat: list[Any]) -> None:
        api, result, call = self._api, step.result, self._make_call(step, name)
        text = well_formed(step.output)
        content: Any = text
        error, more = None, dict[str, Any]()
        if result is not None:
            error = api.ToolCallError(type="unknown", message=text) if result.is_error else None
            if step.picture is not None and result.screenshot is not None and self._pictures:
                data = base64.b64encode(step.picture.read_bytes()).decode()
                image = f"data:{MEDIA[step.picture.suffix]};base64,{data}"
                content = [api.ContentText(text=text), api.ContentImage(image=image)]
            said = {"tool_call_id": name, "function": call.function, "error": error}
            chat.append(api.ChatMessageTool(content=content, id=self._make_id("message"), **said))
            known = {"url": result.url, "screenshot": result.screenshot}
            more = {"completed": step.ended_at, "working_time": (result.duration_ms or 0) / 1000}
            more["metadata"] = clean_json({key: value for key, value in known.items() if value is not None})
        fields = {"id": name, "function": call.function, "arguments": call.arguments, "result": content}
        fields |= {"error": error, "failed": bool(error) or None}
        self._note(span, step.started_at, api.ToolEvent, **fields, **more)

    def _add_delegation(
        self, delegation: StoredDelegation, name: str, span: str | None, chat: list[Any]
    ) -> None:
        api, goal, report = self._api, delegation.goal, delegation.report
        begun, who = delegation.started_at, well_formed(goal.executor_id)
        self._note(name, begun, api.SpanBeginEvent, id=name, parent_id=span, type="agent", name=who)
        self._note(name, begun, api.InfoEvent, source="delegation", data=well_formed(goal.instruction))
        self._add(delegation.turns, name, [])
        self._note(name, delegation.ended_at, api.SpanEndEvent, id=name)
        if report is not None:
            text = well_formed(f"{report.status}: {report.summary}")
            said = {"tool_call_id": name, "function": DELEGATE}
            chat.append(api.ChatMessageTool(content=text, id=self._make_id("message"), **said))
