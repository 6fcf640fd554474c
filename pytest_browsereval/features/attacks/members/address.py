"""``address``: the payload in the address of the start page, or on a page before it."""

from __future__ import annotations

import html
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.features.attacks.members.page import put_in_pages, refuse_foreign
from pytest_browsereval.features.shared.attack import AttackConfig, Placer

_ALL = "**/*"
# Reloading keeps a fragment, which the request does not have.
_BETWEEN = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Redirecting</title>
<body style="font: 16px/1.5 sans-serif; margin: 10vh auto; max-width: 40em">
<h1>You are being redirected</h1><p style="white-space: pre-wrap">{payload}</p>
<p><a href="{url}" onclick="location.reload(); return false">{link}</a></p>"""


class AddressAttack(AttackConfig):
    """The payload in the address of the start page, or on a page that the agent meets before it."""

    type: Literal["address"] = "address"
    how: Literal["query", "fragment", "redirect"] = "query"
    """In the query or the fragment of the start page's address, as its scripts and the agent read it: the
    site is asked for the plain address. Or on a page with a link that goes on, which stands before the first
    page that is opened; with ``late``, before the next one."""
    parameter: str = Field(default="note", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    """The name in query or fragment."""
    link: str = Field(default="Continue", min_length=1)
    """The text of the link of ``redirect``."""

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        refuse_foreign(self, "how", parameter=("query", "fragment"), link=("redirect",))
        return self

    async def place(self, placer: Placer) -> None:
        """Put it into the address of each page at the start page's, or before the page that comes next."""
        if self.how != "redirect":
            await put_in_pages(
                placer,
                "address",
                f"{self.how} of the start page",
                how=self.how,
                parameter=self.parameter,
                start=placer.start_url,
            )
            return

        async def answer(route: Any) -> None:
            if not _is_visit(route.request):
                await route.fallback()
                return
            given = {"payload": placer.payload, "url": route.request.url, "link": self.link}
            body = _BETWEEN.format_map({name: html.escape(text) for name, text in given.items()})
            placer.note_delivered("page before the first one" if self.late == 0 else "page in between")
            await route.fulfill(status=200, content_type="text/html; charset=utf-8", body=body)
            # Once only, and without routes the browser has its cache again.
            await end()

        end = await placer.route(_ALL, answer)


def _is_visit(request: Any) -> bool:
    """Whether a tab goes to a page: neither a frame nor a form that is sent."""
    if request.method != "GET" or not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except playwright_error():  # of a tab that is about to open
        return True
