"""Cuts what a page shows to what one call may return, and says what is left out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_browsereval.browsers.playwright.page_text import PageText
from pytest_browsereval.redaction.known import beginning, ending

MAX_LENGTH = 30_000
"""Characters of a page that one call returns."""
READ_LENGTH = 2_000_000
"""Characters of a page that are read, and counted, at most."""

_LONGEST_LINE = 2_000
_LINE_END = 200
"""Characters of the end of a long line: the ref of its element stands there."""
_MOST_CHILDREN = 2_000
_TOP_LEVEL = 25
_LINE = re.compile(r"( *)- '?(/?[a-z]+)")
_REF = re.compile(r"\[ref=(\w+)\]")
_DIALOGS = frozenset(("dialog", "alertdialog"))
_PARTS = frozenset(("banner", "contentinfo", "main", "navigation", *_DIALOGS))
"""What a page has one of or a few; it may have thousands of the others."""
_LANDMARKS = frozenset(("alert", "complementary", "form", "region", "search", *_PARTS))
_PLURALS = {
    "canvas": "canvas elements",
    "generic": "elements",
    "listitem": "list items",
    "text": "texts",
    "textbox": "textboxes",
}


def cap_text(text: str, more: str) -> str:
    """Return the text, cut at the end of a line to what one call may return, saying so.

    Args:
        text: of any length.
        more: how to get the rest.
    """
    if len(text) <= MAX_LENGTH:
        return text
    # At the end of a line: half a ref looks like another ref.
    end = text.rfind("\n", MAX_LENGTH // 2, MAX_LENGTH)
    shown = beginning(text, end if end > 0 else MAX_LENGTH)
    return f"{shown}\n[Cut after {len(shown)} of {len(text)} characters. {more}]"


@dataclass
class _Line:
    text: str
    depth: int
    role: str
    is_kept: bool = False
    """It is a dialog or a landmark, has the focus, is in a dialog, or holds one of these."""
    place: int = 0
    """Among the children of its parent that may be left out."""


def cut_tree(tree: str, more: str) -> str:
    """Return a snapshot, cut to what one call may return.

    Dialogs and landmarks stay wherever they are; of thousands of landmarks, those that a page has few of. Of
    the other children of an element the first ones stay, as many of each as there is room for; a line says
    how many follow and of what kind.

    Args:
        tree: of any length. Lines that are not of a snapshot stay.
        more: how to get the rest.
    """
    if len(tree) <= MAX_LENGTH:
        return tree
    lines = [_shorten(line) for line in tree.splitlines()]
    for kept, keeps_dialogs in ((_LANDMARKS, True), (_LANDMARKS, False), (_PARTS, False), (_DIALOGS, False)):
        parsed = _parse(lines, kept, keeps_dialogs=keeps_dialogs)
        # The sizes fall as fewer children stay, so that the most that fit are found by halving.
        fewer = range(_MOST_CHILDREN + 1)
        found = bisect_right(fewer, MAX_LENGTH, key=lambda most: len("\n".join(_keep(parsed, most))))
        if found:
            break
    shown = "\n".join(_keep(parsed, max(found - 1, 0)))
    more = f"Lines in brackets say what is left out. {more}".strip()
    if len(shown) > MAX_LENGTH:
        return cap_text(shown, more)
    return f"{shown}\n[Cut: {len(shown)} of {len(tree)} characters are shown. {more}]"


def add_canvases(tree: str, canvases: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a snapshot with a line for each canvas, in the nearest element around it that has a line.

    Args:
        tree: the snapshot.
        canvases: see ``list_canvases``.
    """
    lines = tree.splitlines()
    places = {found[1]: place for place, line in enumerate(lines) if (found := _REF.search(line))}
    inner: dict[int | None, list[str]] = {}
    for size, (ref, *around) in canvases:
        if ref in places:
            named = lines[places[ref]].replace("- generic", "- canvas", 1)
            lines[places[ref]] = named.replace(" [ref=", f" {size} [ref=", 1)
        else:
            place = next((places[one] for one in around if one in places), None)
            inner.setdefault(place, []).append(f"- canvas {size} [ref={ref}]")
    for place, own in inner.items():
        if place is None:
            lines += own
            continue
        head, _, text = lines[place].partition("]: ")
        indent = "  " * ((len(head) - len(head.lstrip())) // 2 + 1)
        shown = (f"{indent}{one}" for one in [*own, *([f"- text: {text}"] if text else [])])
        lines[place] = "\n".join([f"{head}]:" if text else f"{head.rstrip(':')}:", *shown])
    return "\n".join(lines)


def _shorten(line: str) -> str:
    left = len(line) - _LONGEST_LINE
    if left <= 0:
        return line
    head, tail = beginning(line, _LONGEST_LINE - _LINE_END), ending(line, _LINE_END)
    return f"{head}… [{len(line) - len(head) - len(tail):,} more characters] …{tail}"


def _parse(texts: Sequence[str], kept: frozenset[str], *, keeps_dialogs: bool) -> list[_Line]:
    lines: list[_Line] = []
    above: list[_Line] = []
    counts: list[int] = []
    for text in texts:
        match = _LINE.match(text)
        line = _Line(text, len(match[1]) // 2, match[2]) if match else _Line(text, 0, "", is_kept=True)
        del above[line.depth :]
        in_dialog = keeps_dialogs and any(one.role in _DIALOGS for one in above)
        if in_dialog or line.role in kept or line.text.rstrip(":").endswith("[active]"):
            for one in (*above, line):
                one.is_kept = True
        above.append(line)
        lines.append(line)
    for line in lines:
        del counts[line.depth + 1 :]
        counts += [0] * (line.depth + 1 - len(counts))
        line.place = counts[line.depth]
        counts[line.depth] += not (line.is_kept or line.role.startswith("/"))
    return lines


def _keep(lines: Sequence[_Line], most: int) -> Iterator[str]:
    """Yield the lines that stay if an element keeps so many children that may be left out."""
    left_out: Counter[str] = Counter()
    hidden = 0
    """The depth of those that are being left out, with all that they hold."""
    for line in lines:
        if left_out and line.depth > hidden:
            continue
        least = most if line.depth > 1 else max(most, _TOP_LEVEL)  # what opens over a page stands last in it
        is_out = not line.is_kept and line.place >= least and not line.role.startswith("/")
        if left_out and (not is_out or line.depth < hidden):
            yield _describe(left_out, hidden)
            left_out.clear()
        if is_out:
            left_out[line.role] += 1
            hidden = line.depth
        else:
            yield line.text
    if left_out:
        yield _describe(left_out, hidden)


def _describe(left_out: Counter[str], depth: int) -> str:
    count = left_out.total()
    (role, _), *others = left_out.most_common(2)
    kind = "elements" if others else _PLURALS.get(role, f"{role}s")
    return f"{'  ' * depth}- [{count:,} more {kind if count > 1 else kind.removesuffix('s')}]"


def describe_gap(seen: PageText) -> str:
    """Return what a text lacks, in a sentence; empty if it is whole."""
    if seen.missing:
        frames = f"{seen.missing} frame{'s' if seen.missing > 1 else ''}"
        return f"[{frames} of the page did not answer and cannot be read.]"
    if seen.is_cut:
        return f"[The page has more text than the {READ_LENGTH:,} characters that are read.]"
    return ""
