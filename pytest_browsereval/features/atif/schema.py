"""What is read of a document of ATIF, up to v1.8. It is somebody else's, so all of it is checked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

NEWEST = 8
"""The newest v1.x that is read."""

Count = Annotated[int, Field(ge=0)]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Block(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    extra: dict[str, Any] | None = None

    def find(self, key: str, kind: type) -> Any:
        """Return a value of ``extra``; None if it is missing or of another type."""
        value = (self.extra or {}).get(key)
        is_number = kind is not bool and isinstance(value, bool)
        return value if isinstance(value, kind) and not is_number else None


class Source(_Block):
    """Where a picture or a sound is."""

    path: str = ""


class Part(_Block):
    """A part of a text."""

    type: str
    text: str = ""
    source: Source | None = None


Content = str | list[Part]


class Call(_Block):
    """A tool call."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Reference(_Block):
    """Another trajectory: embedded, or in another file."""

    trajectory_id: str | None = None
    trajectory_path: str | None = None


class Result(_Block):
    """What came of a call."""

    source_call_id: str | None = None
    content: Content | None = None
    subagent_trajectory_ref: list[Reference] | None = None


class Observation(_Block):
    """The results of a step."""

    results: list[Result] = Field(default_factory=list)


class StepUsage(_Block):
    """Tokens and money of a step."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: Money | None = None
    prompt_token_ids: list[Any] | None = None
    completion_token_ids: list[Any] | None = None
    logprobs: list[Any] | None = None


class TotalUsage(_Block):
    """Tokens and money of a trajectory."""

    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: Money | None = None


class Step(_Block):
    """A step: what a user, the system or the agent said and did."""

    source: Literal["system", "user", "agent"]
    message: Content = ""
    timestamp: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[Call] | None = None
    observation: Observation | None = None
    metrics: StepUsage | None = None
    is_copied_context: bool | None = None
    llm_call_count: Count | None = None


class Agent(_Block):
    """Who acts."""

    name: str
    version: str | None = None
    model_name: str | None = None


class Trajectory(_Block):
    """A document."""

    schema_version: str
    agent: Agent
    steps: list[Step] = Field(default_factory=list)
    session_id: str | None = None
    trajectory_id: str | None = None
    final_metrics: TotalUsage | None = None
    continued_trajectory_ref: str | None = None
    subagent_trajectories: list[Trajectory] | None = None
