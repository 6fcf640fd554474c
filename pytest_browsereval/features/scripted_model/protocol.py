"""The rules of the chat-completions protocol that real servers enforce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, Json, ValidationError, model_validator

_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
_Address = Annotated[str, Field(pattern=r"^(https?://|data:image/(png|jpeg|webp|gif);base64,)")]

_PARAMETERS = frozenset(
    {
        *("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format"),
        *("temperature", "top_p", "n", "stop", "seed", "max_tokens", "max_completion_tokens"),
        *("presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs"),
        *("reasoning_effort", "verbosity", "stream", "stream_options", "user", "store", "metadata"),
        *("service_tier", "modalities"),
    }
)


class Refused(ValueError):
    """A real server would answer 400; the message says why."""


class _Text(BaseModel):
    type: Literal["text"]
    text: str


class _Url(BaseModel):
    url: _Address


class _Picture(BaseModel):
    type: Literal["image_url"]
    image_url: _Url


class _Function(BaseModel):
    name: _Name
    arguments: Json[dict[str, Any]]


class _Call(BaseModel):
    id: str
    type: Literal["function"]
    function: _Function


_Texts = str | Annotated[list[_Text], Field(min_length=1)]
_Part = Annotated[_Text | _Picture, Field(discriminator="type")]


class _System(BaseModel):
    role: Literal["system", "developer"]
    content: _Texts


class _User(BaseModel):
    role: Literal["user"]
    content: str | Annotated[list[_Part], Field(min_length=1)]


class _Assistant(BaseModel):
    role: Literal["assistant"]
    content: _Texts | None = None
    tool_calls: Annotated[list[_Call], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.content is None and self.tool_calls is None:
            raise ValueError("it has neither content nor tool_calls")
        return self


class _Answer(BaseModel):
    role: Literal["tool"]
    tool_call_id: str
    content: _Texts


_Message = Annotated[_System | _User | _Assistant | _Answer, Field(discriminator="role")]


class _ObjectSchema(BaseModel):
    type: Literal["object"]


class _Tool(BaseModel):
    name: _Name
    parameters: _ObjectSchema | None = None


class _Offered(BaseModel):
    type: Literal["function"]
    function: _Tool


class _Form(BaseModel):
    name: _Name
    given: _ObjectSchema = Field(alias="schema")


class _Plain(BaseModel):
    type: Literal["text", "json_object"]


class _Formed(BaseModel):
    type: Literal["json_schema"]
    json_schema: _Form


class _Request(BaseModel):
    model: str = Field(min_length=1)
    messages: list[_Message] = Field(min_length=1)
    tools: Annotated[list[_Offered], Field(min_length=1)] | None = None
    response_format: Annotated[_Plain | _Formed, Field(discriminator="type")] | None = None


def check_request(body: Any) -> None:
    """Check a request as a real server does.

    Raises:
        Refused: it breaks the protocol.
    """
    if unknown := sorted(set(body) - _PARAMETERS) if isinstance(body, Mapping) else ():
        raise Refused(f"Unrecognized request argument supplied: {', '.join(unknown)}")
    try:
        read = _Request.model_validate(body)
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise Refused("; ".join(wrong)) from None
    _check_calls(read.messages)
    names = [tool.function.name for tool in read.tools or ()]
    if len(set(names)) < len(names):
        raise Refused("tools: names are used twice")
    if "tool_choice" in body and not names:
        raise Refused("'tool_choice' is only allowed when 'tools' are specified")
    if "stream_options" in body and not body.get("stream"):
        raise Refused("'stream_options' is only allowed when 'stream' is enabled")
    if "max_tokens" in body and "max_completion_tokens" in body:
        raise Refused("'max_tokens' and 'max_completion_tokens' exclude each other")
    form = (body.get("response_format") or {}).get("json_schema") or {}
    if form.get("strict") and (fault := _loose_part(form["schema"], "schema")):
        raise Refused(f"response_format: {fault}")


def _check_calls(messages: Sequence[_Message]) -> None:
    """Check that each call has an id of its own and is answered before anything else is said."""
    unanswered: list[str] = []
    used: set[str] = set()
    for number, message in enumerate(messages):
        if isinstance(message, _Answer):
            if message.tool_call_id not in unanswered:
                raise Refused(
                    f"messages.{number}: messages with role 'tool' must be a response to a preceding message "
                    f"with 'tool_calls'; {message.tool_call_id!r} is none of them"
                )
            unanswered.remove(message.tool_call_id)
            continue
        if unanswered:
            raise Refused(f"messages.{number}: tool_call_ids without a response: {', '.join(unanswered)}")
        unanswered = [call.id for call in getattr(message, "tool_calls", None) or ()]
        if used & set(unanswered) or len(set(unanswered)) < len(unanswered):
            raise Refused(f"messages.{number}.tool_calls: ids are used twice: {', '.join(unanswered)}")
        used.update(unanswered)
    if unanswered:
        raise Refused(f"tool_call_ids without a response: {', '.join(unanswered)}")


def _loose_part(schema: Any, where: str) -> str | None:
    """Return what of a schema strict mode refuses: each object names all of its keys, and no others."""
    if isinstance(schema, Mapping):
        keys = schema.get("properties")
        if isinstance(keys, Mapping):
            if schema.get("additionalProperties") is not False:
                return f"{where}: strict mode needs additionalProperties: false"
            if set(keys) != set(schema.get("required") or ()):
                return f"{where}: strict mode needs each key in 'required'"
        inner = {**schema, **(keys or {})} if isinstance(keys, Mapping) else schema
        parts = [(part, f"{where}.{name}") for name, part in inner.items() if name != "properties"]
    else:
        parts = [(part, where) for part in schema] if isinstance(schema, list) else []
    return next((fault for part, place in parts if (fault := _loose_part(part, place))), None)
