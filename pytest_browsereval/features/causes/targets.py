"""Targets of actions: elements by role and name, selectors and points, as far as a log tells them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.messages import Hit

NEAR_PX = 24.0
"""Two points that are nearer than this may be one target."""

SAME, PERHAPS, OTHER = 1.0, 0.5, 0.0
"""How far two targets are the same: a selector and a name may be, nobody can tell."""

_POINTS = ("x", "y", "start_x", "start_y", "end_x", "end_y", "startX", "startY", "endX", "endY")
"""Of ours, and as BrowserOS spells them."""
_KEYS = ("target", "source", "ref", "element", "selector", "element_description", "index")
_SELECTORS = frozenset({"target", "source", "ref", "selector"})
_ROLE = re.compile(r"""role=(\w+)(?:\[name=(?:"(.*)"|'(.*)'|/(.*)/)[^\]]*\])?""", re.DOTALL)
_NAMED = re.compile(r"""(?:text|label)=(?:"([^"]*)"|'([^']*)'|(.*))""", re.DOTALL)
_REF = re.compile(r"\[?(?:ref=)?((?:f\d+)?[es]\d+)\]?")
_IN_SNAPSHOT = re.compile(
    r'^\s*- (\w+)(?: "((?:[^"\\]|\\.)*)")?[^\n]*?\[ref=([a-z]*\d+[a-z]?\d*)\]', re.MULTILINE
)
_INTO_FRAME = ">>>"
_CHAIN = re.compile(r">>(?!>)(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)")


@dataclass(frozen=True)
class Target:
    """What an action was done to."""

    text: str
    """As the call has it."""
    role: str = ""
    name: str = ""
    is_whole: bool = False
    """Whether the name is that of a snapshot: a selector may have a part of it."""
    point: tuple[float, ...] = ()
    """CSS pixels of the viewport."""
    in_frame: bool | None = None
    """Whether it is in a frame of the page; None if nothing tells."""
    hit: Hit | None = None
    """The element that was there, where the log has it."""
    within: tuple[str, ...] = ()
    """What the selector says of what it stands in; empty texts for what cannot be compared."""

    @property
    def is_ref(self) -> bool:
        """Whether it is a ref of a snapshot that is not in the log."""
        return not self.is_whole and _REF.fullmatch(self.text.strip()) is not None

    @property
    def around(self) -> str:
        """The text that it stands in, as far as the log has it."""
        return _fold(self.hit.around) if self.hit is not None else ""

    def describe(self) -> str:
        """Return what a reader calls it."""
        if self.point:
            x, y, *_ = self.point
            there = f" on {one_line(self.name, 60)!r}" if self.name else ""
            return f"({x:g}, {y:g}){there}"
        return repr(one_line(self.name or self.text, 60))


def read_refs(output: str) -> dict[str, Target]:
    """Return the elements that a snapshot gives refs to."""
    return {
        ref: Target(ref, role, name.replace('\\"', '"'), is_whole=True)
        for role, name, ref in (_IN_SNAPSHOT.findall(output) if "[ref=" in output else ())
    }


def read_target(
    params: Mapping[str, Any], refs: Mapping[str, Target], hit: Hit | None = None
) -> Target | None:
    """Return what a call acts on; None if it names nothing.

    Args:
        params: the call's arguments.
        refs: elements of the latest snapshot.
        hit: the element that the log says it acted on.
    """
    given = [params.get(key) for key in _POINTS]
    lists = [params.get(key) for key in ("path", "then")]
    pairs = [pair for points in lists if isinstance(points, list) for pair in points]
    given += [number for pair in pairs if isinstance(pair, list) for number in pair]
    point = tuple(float(one) for one in given if isinstance(one, int | float) and not isinstance(one, bool))
    texts = [
        str(params[key]) for key in _KEYS if isinstance(params.get(key), str | int) and params[key] != ""
    ]
    if len(point) < 2 and not texts:
        return None
    if len(point) < 2 and {"source", "target"} <= params.keys():  # a drag has two ends, and no hit
        names = " → ".join(one.name or one.text for one in map(_parse, texts[:2][::-1]))
        return Target(" → ".join(texts[:2][::-1]), name=names)
    found = Target("", point=point) if len(point) >= 2 else _read_text(texts, refs, params)
    if hit is None or not hit.tag or len(point) > 2:  # without a tag, the call itself names the element
        return found
    # Points are where it lay.
    hit = hit.model_copy(update={"points": (), "has_scrolled": False})
    found = replace(found, hit=hit, in_frame=hit.in_frame)
    return replace(found, role=hit.role, name=hit.name, is_whole=True) if hit.name else found


def _read_text(texts: Sequence[str], refs: Mapping[str, Target], params: Mapping[str, Any]) -> Target:
    for text in texts:
        if (ref := _REF.fullmatch(text.strip())) and ref[1] in refs:
            return refs[ref[1]]
    found, first = _parse(texts[0]), texts[0].casefold()
    if _SELECTORS.isdisjoint(params):
        return found
    is_unknown = "frame" in first or _REF.fullmatch(first.strip())
    return replace(found, in_frame=True if _INTO_FRAME in first else None if is_unknown else False)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Target:
    *outer, last = (part.strip() for part in _CHAIN.split(text.rpartition(_INTO_FRAME)[2]))
    within = tuple(_parse(part).name for part in outer)
    while outer and re.match(r"nth=|visible=", last):
        last, within = outer.pop(), ("", *within[:-1])
    if match := _ROLE.match(last):
        return Target(text, match[1], match[2] or match[3] or match[4] or "", within=within)
    match = _NAMED.fullmatch(last)
    return Target(text, name=match[1] or match[2] or match[3] or "" if match else "", within=within)


def compare_targets(a: Target | None, b: Target | None) -> float:
    """Return how far two targets are the same: 1, 0, or between where nobody can tell."""
    if a is None or b is None:
        return SAME if a is b else PERHAPS
    if None not in (a.in_frame, b.in_frame) and a.in_frame is not b.in_frame:
        return OTHER
    if a.point and b.point and not (a.name and b.name):  # what has no name may be a whole picture
        ends = max(1, len(a.point) // 2)  # a drag has two
        is_near = len(a.point) == len(b.point) and math.dist(a.point, b.point) <= NEAR_PX * ends
        return SAME if a.point == b.point else PERHAPS if is_near else OTHER
    # A ref is another one on another page.
    if a.text and a.text == b.text and not _REF.fullmatch(a.text.strip()):
        return SAME
    return _compare_elements(a, b)


def _compare_elements(a: Target, b: Target) -> float:
    is_elsewhere = bool(a.within and b.within) and a.within != b.within
    for one, other in ((a, b), (b, a)):
        is_elsewhere |= bool(other.around) and not all(_fold(part) in other.around for part in one.within)
    if is_elsewhere:
        return OTHER
    most = SAME if a.within == b.within else PERHAPS
    for one, other in ((a, b), (b, a)):
        if one.hit is not None and one.hit.id and re.fullmatch(r"#[\w-]+", other.text):
            return SAME if one.hit.id == other.text[1:] else OTHER
    has_names = bool(a.name and b.name)
    if has_names or (a.hit and b.hit and (a.name, a.role) == (b.name, b.role)):
        return min(most, _compare_names(a, b))
    is_other = bool(a.role and b.role and a.role != b.role) or (a.hit is not None and b.hit is not None)
    is_unknown = a.name or b.name or a.is_ref or b.is_ref or a.point or b.point
    return PERHAPS if is_unknown and not is_other else OTHER


def _compare_names(a: Target, b: Target) -> float:
    if a.role and b.role and a.role != b.role:
        return OTHER
    first, second = _fold(a.name), _fold(b.name)
    if a.hit is not None and b.hit is not None and first == second and a.hit != b.hit:
        words = [set(re.findall(r"[^\W\d]+", one.around)) for one in (a, b)]
        is_near = a.hit.id == b.hit.id and len(words[0] & words[1]) * 2 >= len(words[0] | words[1])
        return PERHAPS if is_near else OTHER
    if first == second:
        return SAME
    # Selectors find elements by a part of their name.
    is_part = (a.is_whole and second in first) or (b.is_whole and first in second)
    return PERHAPS if is_part else OTHER


def is_same_element(a: Target | None, b: Target | None) -> bool:
    """Whether two calls on one page acted on one element: the text around it may have changed."""
    if a is None or b is None:
        return a is b
    is_same_text = bool(a.text) and (a.text, a.role, a.name) == (b.text, b.role, b.name)
    return is_same_text or compare_targets(a, b) == SAME


@lru_cache(maxsize=4096)  # of names that are compared with many others
def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()
