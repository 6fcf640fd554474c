"""Checks that a model's server answers, by its list of models, which costs nothing."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from pytest_browsereval.addresses import find_certificates
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.llm.config import LLMConfig

ANSWER_S = 15.0
"""How long a server may take."""


def models_in(member: BaseModel) -> Iterator[LLMConfig]:
    """Yield the models that a block of the config names, at any depth."""
    if isinstance(member, LLMConfig):
        yield member
    for name in type(member).model_fields:
        if isinstance(value := getattr(member, name), BaseModel):
            yield from models_in(value)


async def ask_server(config: LLMConfig) -> int:
    """Return the status that the server answers; any says that it is there.

    Raises:
        OSError: it does not answer; the message tells why.
    """
    import httpx

    try:
        key = config.resolve_key()
    except ConfigError:  # reported with the agent
        key = None
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    # A proxy of the environment cannot reach this machine's own ports.
    async with httpx.AsyncClient(
        verify=find_certificates(config.url), timeout=ANSWER_S, trust_env=not config.is_local
    ) as client:
        try:
            async with client.stream("GET", f"{config.url}/models", headers=headers) as response:
                return response.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise OSError(str(error) or type(error).__name__) from None
