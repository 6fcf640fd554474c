"""Redirects of a model's server: prompts, pages and keys go to the host that the config names alone."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.llm.retries import TryFailed


async def refuse_other_hosts(response: Any) -> None:
    """Refuse a reply that leads to another host; a hook of the HTTP client, called before it follows.

    Args:
        response: of httpx or httpx2, whichever the ``openai`` package brings.

    Raises:
        TryFailed: it does; nothing was sent there.
    """
    if not response.has_redirect_location:
        return
    here = response.request.url
    there = here.join(response.headers["location"])
    if _origin(there) == _origin(here) or _is_upgrade(here, there):
        return
    # Without user and password, which stand before the @.
    host = there.netloc.decode(errors="replace").rpartition("@")[2]
    raise TryFailed(
        f"it redirects to {there.scheme}://{host}, which is another host: nothing was sent there. If that is "
        "meant, write its address as  base_url",
        status=response.status_code,
    )


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _is_upgrade(here: Any, there: Any) -> bool:
    """Whether it is the same host, asked over TLS."""
    ports = (here.port, there.port)
    return (
        here.host == there.host and ports == (None, None) and (here.scheme, there.scheme) == ("http", "https")
    )
