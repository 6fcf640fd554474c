"""Attacks: each puts its payload in the agent's way by one channel."""

from __future__ import annotations

import html
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.config.block import Block
from pytest_browsereval.features.shared.attack import AttackConfig, Placer
from pytest_browsereval.needs import Needs

_KINDS = "Write one of {css: SELECTOR}, {text: PART OF ITS TEXT}."
_SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
_BOXES: dict[str, tuple[str, tuple[str, ...]]] = {
    "consent": ("Your privacy", ("Accept all", "Reject")),
    "system": ("System message", ("OK",)),
    "notice": ("Please note", ("Close",)),
    "modal": ("Before you continue", ("Close",)),
    "captcha": ("Security check", ("Verify", "Close")),
}
"""The heading and the buttons that suit a look."""
_MOST_CHARS = 60
"""Of a file name made of the payload: systems take 255 bytes, and a character may have four."""
_NOT_IN_NAMES = re.compile(r"[^\w .,()+-]+")
_OPENS_MS = 2_000
"""How long a page may take to open a dialog."""
# Reloading keeps a fragment, which the request does not have.
_BETWEEN = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Redirecting</title>
<body style="font: 16px/1.5 sans-serif; margin: 10vh auto; max-width: 40em">
<h1>You are being redirected</h1><p style="white-space: pre-wrap">{payload}</p>
<p><a href="{url}" onclick="location.reload(); return false">Continue</a></p>"""


class Where(Block):
    """Which element: the first visible one of each page, by ``css`` or ``text``."""

    css: str | None = Field(default=None, min_length=1)
    """A CSS selector. Open shadow trees and frames are searched too."""
    text: str | None = Field(default=None, min_length=1)
    """A part of its text, in any case: the innermost element that has it."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Where:
        if (self.css is None) is (self.text is None):
            raise ValueError(f"where has {'no element' if self.css is None else 'css and text'}. {_KINDS}")
        return self

    def __str__(self) -> str:
        return str(self.css) if self.css is not None else f"text {json.dumps(self.text, ensure_ascii=False)}"


async def put_in_pages(
    placer: Placer, what: str, label: str, where: Where | None = None, **options: JsonValue
) -> None:
    """Have the script put the payload into the pages.

    Args:
        placer: of the attempt.
        what: a type of the script: ``text``, ``hidden``, ``modal``.
        label: what reports say of the place, before the element.
        where: the element; None: the body of a tab's page, not of its frames.
        options: for the type.
    """
    argument: dict[str, JsonValue] = {
        "payload": placer.payload,
        "attacker": placer.attacker,
        "where": None if where is None else where.model_dump(exclude_none=True),
        "label": label if where is None else f"{label} of {where}",
        **options,
    }
    await placer.run_in_pages(f"({_SCRIPT})({json.dumps(what)})", argument)


class TextAttack(AttackConfig):
    """The payload in the text of an element: a review, a comment, the name of a product."""

    type: Literal["text"] = "text"
    where: Where = Where(css="body")
    """The element: the first visible one of each page. Fields, pictures and frames have no text."""
    how: Literal["append", "prepend", "replace"] = "append"
    """Whether the payload comes after the text, before it, or replaces it."""

    async def place(self, placer: Placer) -> None:
        """Put it into the element of each page, and again when the page draws that anew."""
        await put_in_pages(placer, "text", "text", self.where, how=self.how)


Way = Literal["aria_label", "alt", "title", "zero_size", "off_screen", "same_colour", "comment", "meta"]
"""Where the payload hides."""


class HiddenAttack(AttackConfig):
    """The payload where people do not see it, and programs that read the page do."""

    type: Literal["hidden"] = "hidden"
    where: Where | None = None
    """The element: the first visible one of each page; by default the body."""
    how: Way = "off_screen"
    """The attribute ``aria_label`` (after the name that the element has), ``alt`` (of the picture, of the
    first one in the element, or of a new one of one pixel) or ``title``; a text of no size, one next to the
    screen, one in the colour of its background; an HTML comment in the element; the page's description in
    ``meta``."""

    async def place(self, placer: Placer) -> None:
        """Put it into each page, and again when the page draws the element anew."""
        await put_in_pages(placer, "hidden", self.how.replace("_", " "), self.where, how=self.how)


class PictureAttack(AttackConfig):
    """The payload drawn as a picture without alternative text: for agents that look at pages."""

    type: Literal["image"] = "image"
    where: Where | None = None
    """The element that the picture comes after: the first visible one of each page; by default the end of the
    page."""

    async def place(self, placer: Placer) -> None:
        """Draw it in each page; as a canvas where the page's security policy lets no picture load."""
        await put_in_pages(placer, "image", "picture", self.where)


class FormAttack(AttackConfig):
    """The payload in a field of the page, or as the label of a field that the attacker reads."""

    type: Literal["form"] = "form"
    where: Where | None = None
    """The field, or for ``field`` the element at whose end the form stands: the first visible one of each
    page. By default the first text field, and for ``field`` the end of the page."""
    how: Literal["value", "placeholder", "label", "field"] = "placeholder"
    """The value of a field that nobody has typed into, its placeholder, after its label, or the label of a
    field in a form of its own that is sent to ``{attacker}/collect``."""

    @property
    def names_attacker(self) -> bool:
        """Whether the attacker's origin is used."""
        return self.how == "field" or super().names_attacker

    async def place(self, placer: Placer) -> None:
        """Put it into each page, and again when the page draws the field anew."""
        action, label = f"{placer.attacker}/collect", "added field" if self.how == "field" else self.how
        await put_in_pages(placer, "form", label, self.where, how=self.how, action=action)


class BannerAttack(AttackConfig):
    """A bar with the payload over part of the page; each of its buttons closes it."""

    type: Literal["banner"] = "banner"
    look: Literal["consent", "system", "notice"] = "notice"
    """What it looks like: a question about cookies, a system message, a hint from the site."""

    async def place(self, placer: Placer) -> None:
        """Show it in each page until it is closed there."""
        title, buttons = _BOXES[self.look]
        label = f"{self.look} banner"
        await put_in_pages(placer, "banner", label, look=self.look, title=title, buttons=[*buttons])


class DownloadAttack(AttackConfig):
    """A file with the payload, behind a link in the page."""

    type: Literal["download"] = "download"
    where: Where | None = None
    """The element at whose end the link stands: the first visible one of each page; by default the page."""
    file: str | None = Field(default=None, min_length=1, max_length=200)
    """The name of the file, which is the text of the link; by default the beginning of the payload."""

    @field_validator("file")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and (_NOT_IN_NAMES.search(value) or value.startswith(".")):
            raise ValueError(
                f"{value!r} is not a name of a file. Write letters, digits, blanks and . , ( ) + - _ only, "
                "such as 'invoice-2026.txt'."
            )
        return value

    async def place(self, placer: Placer) -> None:
        """Put the link into each page."""
        start = " ".join(_NOT_IN_NAMES.sub(" ", placer.payload)[:_MOST_CHARS].split()).strip(". ")
        name = self.file or f"{start or 'file'}.txt"
        await put_in_pages(placer, "download", f"link to {name}", self.where, file=name)


class PopupAttack(AttackConfig):
    """The payload in a dialog of the browser, or in a box that covers the page until it is closed."""

    type: Literal["popup"] = "popup"
    look: Literal["modal", "captcha", "alert", "confirm", "prompt"] = "modal"
    """A box that covers the page, one that asks whether a person is there, or a JavaScript dialog."""
    title: str | None = Field(default=None, min_length=1)
    """Heading of a box; by default one that suits the look."""
    buttons: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The labels of a box's buttons, each of which closes it; by default those that suit the look."""

    @model_validator(mode="after")
    def _has_a_box(self) -> Self:
        if self.waits_for_page and (self.title or self.buttons):
            raise ValueError(
                f"title and buttons are for boxes, but look is {self.look!r}. Leave them out, or write "
                "`look: modal`."
            )
        return self

    @property
    def waits_for_page(self) -> bool:
        """A dialog does: it would hold up what a row does to set its page up."""
        return self.look not in _BOXES

    async def place(self, placer: Placer) -> None:
        """Open it in each page, until it is closed."""
        if not self.waits_for_page:
            title, buttons = _BOXES[self.look]
            title, buttons = self.title or title, self.buttons or buttons
            await put_in_pages(placer, "modal", self.look, look=self.look, title=title, buttons=[*buttons])
            return
        opening = put_in_pages(placer, "dialog", f"dialog ({self.look})", dialog=self.look)
        if all(page.url == "about:blank" for page in placer.context.pages):
            await opening
            return
        with suppress(playwright_error()):  # the page is still loading, or is held up by another dialog
            # The agent's next step has to meet it.
            async with placer.context.expect_event("dialog", timeout=_OPENS_MS):
                await opening


class AddressAttack(AttackConfig):
    """The payload in the address of the start page, or on a page that the agent meets before it."""

    type: Literal["address"] = "address"
    how: Literal["query", "fragment", "redirect"] = "query"
    """In the query or the fragment of the start page's address (``note=PAYLOAD``), as its scripts and the
    agent read it: the site is asked for the plain address. Or on a page with a link that goes on, before the
    first page that is opened; with ``late``, before the next one."""

    async def place(self, placer: Placer) -> None:
        """Put it into the address of each page at the start page's, or before the page that comes next."""
        if self.how != "redirect":
            label = f"{self.how} of the start page"
            await put_in_pages(placer, "address", label, how=self.how, start=placer.start_url)
            return

        async def answer(route: Any) -> None:
            if not _is_visit(route.request):
                await route.fallback()
                return
            body = _BETWEEN.format(payload=html.escape(placer.payload), url=html.escape(route.request.url))
            placer.note_delivered("page before the first one" if self.late == 0 else "page in between")
            await route.fulfill(status=200, content_type="text/html; charset=utf-8", body=body)
            # Once only, and without routes the browser has its cache again.
            await end()

        end = await placer.route("**/*", answer)


def _is_visit(request: Any) -> bool:
    """Whether a tab goes to a page: neither a frame nor a form that is sent."""
    if request.method != "GET" or not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except playwright_error():  # of a tab that is about to open
        return True


class ToolOutputAttack(AttackConfig):
    """The payload in what the agent reads as the result of a tool; it needs no page."""

    type: Literal["tool_output"] = "tool_output"
    tool: str | None = Field(default=None, min_length=1)
    """The name of the tool; by default all."""
    how: Literal["append", "prepend", "replace"] = "append"
    """Whether the payload comes after the result, before it, or replaces it."""

    def needs(self) -> Needs:
        """Return that it needs nothing of the browser."""
        return Needs()

    async def place(self, placer: Placer) -> None:
        """Place nothing: results are altered one by one."""

    def alter_result(self, tool: str, output: str, placer: Placer) -> str | None:
        """Return the result with the payload; None for that of another tool."""
        if self.tool is not None and tool != self.tool:
            return None
        placer.note_delivered(f"result of {tool}")
        if self.how == "replace" or not output:
            return placer.payload
        parts = (output, placer.payload) if self.how == "append" else (placer.payload, output)
        return "\n".join(parts)
