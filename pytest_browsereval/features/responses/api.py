"""Requests and replies as OpenAI's Responses API has them; nothing is stored at the provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_browsereval.features.shared.reply_parts import CALL, TEXT, make_body, parts_of, put_in_order
from pytest_browsereval.llm.api import Api, Body
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.retries import TryFailed
from pytest_browsereval.llm.stream import NO_END, read_events

ENCRYPTED = "reasoning.encrypted_content"
"""What a model thought, for the next request: the provider stores nothing of it."""

NOT_ENCRYPTED = "encrypted content is not supported"
"""What models that do not reason answer."""

ENDS = ("response.completed", "response.incomplete", "response.failed")


class Responses(Api):
    """OpenAI's Responses; https://platform.openai.com/docs/api-reference/responses."""

    path = "/responses"

    def __init__(self, config: LLMConfig) -> None:
        super().__init__(config)
        self._reasons = True

    # -- what is sent

    def write(self, request: Mapping[str, Any]) -> Body:
        """Return what is sent for a chat-completions request."""
        config, form, choice = self._config, request.get("response_format"), request.get("tool_choice")
        thoughts = {"effort": config.reasoning_effort, "summary": config.reasoning_summary}
        wanted = {
            "model": request["model"],
            "store": False,
            "include": [ENCRYPTED] if self._reasons else [],
            "input": [item for message in request["messages"] for item in _write_items(message)],
            "tools": [
                {"type": "function", "strict": False, **tool["function"]} for tool in request.get("tools", ())
            ],
            "tool_choice": {"type": "function", "name": choice["function"]["name"]}
            if isinstance(choice, Mapping)
            else choice,
            "text": {"format": {"type": form["type"], **form.get("json_schema", {})}} if form else None,
            "reasoning": {name: value for name, value in thoughts.items() if value},
            "max_output_tokens": config.max_output_tokens,
            "temperature": config.temperature,
            "stream": config.stream or None,
        }
        return {name: value for name, value in wanted.items() if value not in (None, [], {})}

    def adapt(self, failure: TryFailed, sent: Body) -> bool:
        """Return whether the model cannot give its reasoning: then it is not asked for again."""
        is_refused = "include" in sent and NOT_ENCRYPTED in str(failure).lower()
        self._reasons = self._reasons and not is_refused
        return is_refused

    # -- what comes back

    def read(self, reply: Any) -> Any:
        """Return the chat-completions body of a reply; one that is none stays as it is."""
        items = reply.get("output") if isinstance(reply, Mapping) else None
        if not isinstance(items, list):
            return reply
        usage, status = _read_usage(reply.get("usage")), reply.get("status")
        if reply.get("error") or status == "failed":
            return {"error": reply.get("error") or "the reply failed", "usage": usage}
        calls, order = list[tuple[Any, Any, str]](), list[Mapping[str, Any]]()
        said, thoughts = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
        has_final = any(item.get("phase") == "final_answer" for item in items)
        for item in items:
            if item["type"] == "function_call":
                calls.append((item["call_id"], item["name"], item["arguments"]))
                order.append({"type": CALL, "id": item["call_id"]})
            elif item["type"] == "message":
                # What a model says on its way is not a part of its answer.
                is_on_way = has_final and item.get("phase") == "commentary"
                (thoughts if is_on_way else said).extend(item["content"])
                order.append(item if item.get("phase") else TEXT)
            elif item["type"] == "reasoning":
                thoughts += (*(item.get("summary") or ()), *(item.get("content") or ()))
                order.append(item)
        reason = {"completed": "tool_calls" if calls else "stop"}.get(status, status)
        if "incomplete" in (status, *(item.get("status") for item in items)):
            reason = (reply.get("incomplete_details") or {}).get("reason") or "incomplete"
        body = make_body(
            "".join(part["text"] for part in said if part["type"] == "output_text"),
            calls,
            order,
            reason=reason,
            usage=usage,
            refusal="".join(part["refusal"] for part in said if part["type"] == "refusal"),
            reasoning="\n".join(part["text"] for part in thoughts),
        )
        return {**body, "id": reply.get("id"), "model": reply.get("model")}

    def read_stream(self, text: str) -> Any:
        """Return the chat-completions body of a streamed reply: the last event holds all of it."""
        reply: Body = {"error": NO_END}
        items: dict[int, Any] = {}
        for event in read_events(text):
            kind = event.get("type")
            if kind in ENDS:
                reply = event["response"]
            elif kind == "response.output_item.done":
                items[event["output_index"]] = event["item"]
            elif kind == "error" or "error" in event:
                reply = {"error": event.get("error") or event}
        # Several servers leave the items out of the last event.
        output = reply.get("output") or [items[index] for index in sorted(items)]
        return self.read({**reply, "output": output})


# -- parts


def _write_items(message: Mapping[str, Any]) -> Iterator[Body]:
    """Yield what a message is in a request."""
    role, parts = message["role"], [_write_part(part) for part in parts_of(message.get("content"))]
    text = "".join(part.get("text", "") for part in parts)
    if role == "tool":
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": text}
    elif role == "assistant":
        calls = {
            call["id"]: {"type": "function_call", "call_id": call["id"], **call["function"]}
            for call in message.get("tool_calls") or ()
        }
        # Its messages go back as they came: a model that names their phases works worse without.
        is_there = any(part["type"] == "message" for part in message.get("reasoning_details") or ())
        said = [{"type": "message", "role": role, "content": text}] if text and not is_there else []
        yield from put_in_order(message, ("reasoning", "message"), said, calls)
    elif parts:
        yield {"type": "message", "role": role, "content": parts}


def _write_part(part: Mapping[str, Any]) -> Body:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    picture = part["image_url"]
    return {"type": "input_image", "image_url": picture["url"], "detail": picture.get("detail", "auto")}


def _read_usage(usage: Any) -> Body | None:
    if not isinstance(usage, Mapping):
        return None
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
    }
