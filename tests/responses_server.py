"""A server that speaks OpenAI's Responses; https://platform.openai.com/docs/api-reference/responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Json, ValidationError

from tests.api_servers import KEY, ApiServer, Body, Refused, Script, Strict, Text, pieces_of


class _InputText(Strict):
    type: Literal["input_text"]
    text: str


class _InputImage(Strict):
    type: Literal["input_image"]
    image_url: Annotated[str, Field(pattern=r"^(https?://|data:image/(png|jpeg|webp|gif);base64,)")]
    detail: Literal["auto", "low", "high"] = "auto"


class _Said(Strict):
    type: Literal["message"]
    role: Literal["user", "system", "developer"]
    content: list[Annotated[_InputText | _InputImage, Field(discriminator="type")]]


class _Replied(Strict):
    type: Literal["message"]
    role: Literal["assistant"]
    content: Text


class _Phased(Strict):
    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    status: Literal["completed"]
    content: list[dict[str, Any]]
    phase: Literal["commentary", "final_answer"]


class _FunctionCall(Strict):
    type: Literal["function_call"]
    call_id: str
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    arguments: Json[dict[str, Any]]


class _CallOutput(Strict):
    type: Literal["function_call_output"]
    call_id: str
    output: str


class _Reasoning(Strict):
    type: Literal["reasoning"]
    id: str
    summary: list[dict[str, str]]
    encrypted_content: str
    status: str | None = None


class _Function(Strict):
    type: Literal["function"]
    strict: bool
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str = ""
    parameters: dict[str, Any]


class _Named(Strict):
    type: Literal["function"]
    name: str


class _TextFormat(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: Literal["json_schema", "json_object"]
    name: str | None = None
    strict: bool | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")


class _TextOptions(Strict):
    format: _TextFormat


class _Effort(Strict):
    effort: str | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


class _ResponsesRequest(Strict):
    model: str
    store: Literal[False]
    input: Annotated[
        list[_Said | _Replied | _Phased | _FunctionCall | _CallOutput | _Reasoning], Field(min_length=1)
    ]
    include: list[Literal["reasoning.encrypted_content"]] = Field(default=[])
    tools: list[_Function] = Field(default=[])
    tool_choice: Literal["auto", "none", "required"] | _Named | None = None
    text: _TextOptions | None = None
    reasoning: _Effort | None = None
    max_output_tokens: Annotated[int, Field(ge=16)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    stream: bool = False


def response(*output: Body | str, status: str = "completed", **more: Any) -> Body:
    """Return a reply of Responses; a text stands for its message."""
    items = [said(item) if isinstance(item, str) else item for item in output]
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 110,
    }
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "gpt-x"}
    return {**head, "error": None, "incomplete_details": None, "output": items, "usage": usage, **more}


def said(text: str, kind: str = "output_text", **more: Any) -> Body:
    name = "text" if kind == "output_text" else kind
    parts = [{"type": kind, name: text, **({"annotations": []} if kind == "output_text" else {})}]
    head = {"id": f"msg_{len(text)}", "type": "message", "role": "assistant", "status": "completed"}
    return {**head, "content": parts, **more}


def function_call(name: str, call_id: str, /, **arguments: Any) -> Body:
    head = {"id": f"fc_{call_id}", "type": "function_call", "status": "completed"}
    return {**head, "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def reasoning(number: int, summary: str = "") -> Body:
    parts = [{"type": "summary_text", "text": summary}] if summary else []
    return {"id": f"rs_{number}", "type": "reasoning", "summary": parts, "encrypted_content": f"gAAA{number}"}


class ResponsesServer(ApiServer):
    """OpenAI's."""

    path = "/responses"
    is_reasoning = True
    """Whether its model reasons; another has nothing to encrypt."""

    def __init__(self, script: Script, *, key: str = KEY) -> None:
        super().__init__(script, key=key)
        self._outputs: list[list[str]] = []

    def is_let_in(self, headers: Mapping[str, str]) -> bool:
        return headers.get("authorization") == f"Bearer {self.key}"

    def error(self, status: int, message: str) -> Body:
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def check(self, body: Body) -> None:
        try:
            request = _ResponsesRequest.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            raise Refused(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if request.include and not self.is_reasoning:
            raise Refused("Encrypted content is not supported with this model.")
        calls = [item["call_id"] for item in body["input"] if item["type"] == "function_call"]
        outputs = [item["call_id"] for item in body["input"] if item["type"] == "function_call_output"]
        if sorted(calls) != sorted(outputs):
            raise Refused("No tool output found for function call")
        names = [_name(item) for item in body["input"] if item["type"] != "function_call_output"]
        for output in self._outputs:
            begins = [n for n, name in enumerate(names) if name == output[0]]
            if any(names[n : n + len(output)] != output for n in begins):
                raise Refused(
                    f"Item {output[0]!r} of type 'reasoning' was provided without its following item."
                )

    def finish(self, request: Body, body: Body) -> Body:
        """Remember what followed what the model thought."""
        names = [_name(item) for item in body.get("output", ())]
        if names and names[0].startswith("rs_"):
            self._outputs.append(names)
        return body

    def stream(self, body: Body) -> list[Body]:
        """Return the events of a reply."""
        begun = {**body, "status": "in_progress", "output": [], "usage": None}
        events: list[Body] = [{"type": "response.created", "response": begun}]
        for index, item in enumerate(body["output"]):
            is_said = item.get("type") == "message"
            at = {"item_id": item.get("id"), "output_index": index}
            added = {**item, "status": "in_progress", **({"content": []} if is_said else {})}
            events.append({"type": "response.output_item.added", "output_index": index, "item": added})
            for place, part in enumerate(item["content"] if is_said else ()):
                here, kind = {**at, "content_index": place}, part["type"]
                name = "text" if kind == "output_text" else kind
                empty = {**part, name: ""}
                events.append({"type": "response.content_part.added", **here, "part": empty})
                events += [
                    {"type": f"response.{kind}.delta", **here, "delta": piece}
                    for piece in pieces_of(part[name])
                ]
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": f"response.{body['status']}", "response": body})
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _name(item: Body) -> str:
    return str(item.get("call_id") or (item.get("id") if item.get("type") == "reasoning" else "text"))
