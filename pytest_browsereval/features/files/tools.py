"""Tools for files: a field of the page gets files of the row, and downloads are read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.downloads import Download, list_downloads
from pytest_browsereval.datasets.files import hash_file
from pytest_browsereval.errors import ErrorSource, Fault, nearest
from pytest_browsereval.features.files.choosers import ASKS, choosers_of
from pytest_browsereval.features.files.texts import NoText, read_pages
from pytest_browsereval.features.files.zones import drop_files
from pytest_browsereval.model.display import join_first
from pytest_browsereval.tools.base import Refusal, ToolContext, ToolError, tool
from pytest_browsereval.tools.following import follow_input
from pytest_browsereval.tools.targets import Target, act, resolve
from pytest_browsereval.tools.toolkit import Policy, Toolkit

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, JSHandle

MOST_LISTED = 20
PART_LENGTH = 30_000
"""Characters of a text that one call returns."""
CHOOSER_S = 2.0
"""How long after a click a page may take until it asks for a file."""

_FIND_FIELD = """(one) => {
  const is = (it) => it?.localName === "input" && it.type === "file";
  const near = [one, one.control, one.closest("label")?.control].find(is);
  if (near) return near;
  const root = one.getRootNode();
  const trees = [one, one.shadowRoot, root.host && root].filter(Boolean);
  const fields = trees.flatMap((tree) => [...tree.querySelectorAll("input")]).filter(is);
  return fields.length === 1 ? fields[0] : null;
}"""
"""The field that a target is, or is the label of, or has in it: drop zones hide one."""
_DESCRIBE_FIELD = """(one) => ({
  many: one.multiple, accept: one.accept, folder: one.webkitdirectory, off: one.matches(":disabled")
})"""


def _describe_files(context: ToolContext) -> str:
    if not context.files:
        return "This task has no files."
    return f"Files of this task: {join_first([*context.files], MOST_LISTED)}."


@tool(holds_value="files", describe=_describe_files)
async def upload_file(
    window: PlaywrightWindow,
    context: ToolContext,
    files: Annotated[
        list[str],
        BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
        Field(min_length=1, max_length=50, description="Names of files of the task."),
    ],
    target: Annotated[
        Target | None,
        Field(
            description="The file field, its label, a drop zone, or a button that asks for a file; as for "
            "click. Leave it out to answer a page that asks for a file already."
        ),
    ] = None,
) -> str:
    """Give files of the task to the page."""
    chosen = [_find_file(name, context) for name in files]
    for name in chosen:
        await _check_content(name, context)
    paths = [context.files[name] for name in chosen]
    field = await _find_field(window, target, paths)
    if field is None:
        return f"Dropped {', '.join(map(repr, chosen))} on {shorten(str(target), 80)}, which accepts files."
    known: dict[str, Any] = await field.evaluate(_DESCRIBE_FIELD)
    named = shorten(target, 80) if target else "the field that the page asks for"
    if known["off"]:
        raise Refusal(f"{named} is disabled.")
    if known["folder"]:
        raise Refusal(f"{named} takes a whole folder, which cannot be uploaded.")
    if len(chosen) > 1 and not known["many"]:
        raise Refusal(f"{named} takes one file, not {len(chosen)}. Name one.")
    window.unsay(ASKS)  # a click before this call may have been late to say so
    async with follow_input(window):
        await field.set_input_files(paths)
    is_emptied = await quietly(field.evaluate("(one) => !one.files.length"), window.rules.title_s)
    emptied = " The field is empty again: the page took them, or refused them." if is_emptied else ""
    asks = f" It asks for {shorten(str(known['accept']), 80)!r}." if known["accept"] else ""
    return f"Chose {', '.join(map(repr, chosen))} for {named}.{asks}{emptied}"


def _find_file(name: str, context: ToolContext) -> str:
    """Return a file of the row by its name, or by the last part of it if only one has that.

    Raises:
        Refusal: there is none.
    """
    if not context.files:
        raise Refusal("This task has no files to upload.")
    last = Path(name.replace("\\", "/")).name
    alike = [one for one in context.files if Path(one).name == last]
    if name not in context.files and len(alike) != 1:
        hint = nearest(name, [*context.files, *(Path(one).name for one in context.files)])
        listed = join_first([*context.files], MOST_LISTED)
        raise Refusal(f"{shorten(name, 80)!r} is not a file of this task.{hint} Files: {listed}.")
    return name if name in context.files else alike[0]


async def _check_content(name: str, context: ToolContext) -> None:
    """Check that a file is as it was when the run began: with another content it is another task.

    Raises:
        Fault: it is not.
    """
    known = next((one.sha256 for one in context.task.files if one.path == name), None)
    try:
        digest = await asyncio.to_thread(hash_file, context.files[name])
    except OSError as error:
        raise Fault(ErrorSource.HARNESS, f"the file {name!r} of the row cannot be read: {error}") from error
    if known not in (None, digest):
        raise Fault(ErrorSource.HARNESS, f"the file {name!r} of the row was changed during the run")


async def _find_field(
    window: PlaywrightWindow, target: str | None, paths: list[Path]
) -> ElementHandle | None:
    """Return the file field of a target, or the one for which a click on it asks for a file.

    Returns:
        None if the target has taken the files as a drop.

    Raises:
        ToolError: it is none of these.
    """
    choosers = choosers_of(window)
    if target is None:
        if (field := await choosers.take()) is None:
            raise Refusal("The page asks for no file now. Name the field, or a button that asks, as target.")
        return field
    found: JSHandle = await act(window, target, lambda element: element.evaluate_handle(_FIND_FIELD))
    if (field := found.as_element()) is not None:
        return field
    if await drop_files(window, target, paths, only_zone=True):
        return None
    with choosers.answer():
        async with follow_input(window):
            await act(window, target, lambda element: element.click())
        if (field := await choosers.take(CHOOSER_S)) is not None:
            return field
    if await resolve(window, target).count() and await drop_files(window, target, paths):
        return None
    raise Refusal(
        f"{shorten(target, 80)} is not a file field, a click on it made the page ask for no file, and it "
        'accepts no drop. Name the field (a snapshot shows it as a button such as "Choose File"), the button '
        "that asks for one, or the place to drop files on."
    )


@tool(takes_picture=False, may_take_long=True)
async def read_download(
    window: PlaywrightWindow,
    context: ToolContext,
    name: Annotated[str, Field(min_length=1, max_length=300, description="The name of the file.")],
    part: Annotated[int, Field(ge=1, description="Which part of a long text.")] = 1,
) -> str:
    """Return the text of a file that was downloaded: text, a table such as CSV, or PDF."""
    del window
    found = _find_download(name, list_downloads(context.folder))
    if found.size_bytes is None:
        raise ToolError(f"The download of {found.name!r} failed: {found.problem}.")
    try:
        pages = await asyncio.to_thread(read_pages, context.folder, found)
    except NoText as error:
        raise ToolError(f"{found.name!r} cannot be read as text: {error}.") from None
    marks = len(pages) > 1
    text = "\n".join(f"[page {n}]\n{page}" if marks else page for n, page in enumerate(pages, 1))
    parts = max(1, -(-len(text) // PART_LENGTH))
    if part > parts:
        raise Refusal(f"{found.name!r} has {parts} {'part' if parts == 1 else 'parts'}.")
    shown = text[(part - 1) * PART_LENGTH : part * PART_LENGTH].strip() or "(There is no text in it.)"
    more = f"\n(This is part {part} of {parts}.)" if parts > 1 else ""
    return shown + more


def _find_download(name: str, downloads: list[Download]) -> Download:
    """Return a download by the name that it is kept under, else the latest one of that name.

    Raises:
        Refusal: there is none.
    """
    for found in (
        [one for one in downloads if one.name == name and not one.problem],
        [one for one in downloads if name in (one.name, one.suggested_name)],
    ):
        if found:
            return found[-1]
    if not downloads:
        raise Refusal("Nothing was downloaded yet.")
    names = [one.name for one in downloads]
    listed = join_first(names, MOST_LISTED)
    raise Refusal(f"{shorten(name, 80)!r} was not downloaded.{nearest(name, names)} Files: {listed}.")


KIT = Toolkit(
    "files",
    "Uploads and downloads",
    (upload_file, read_download),
    policy=(
        Policy("A result names each file that was downloaded; `read_download` reads it.", ("read_download",)),
    ),
)
