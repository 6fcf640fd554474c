"""Ways: the calls of a passed attempt, as a ``solution`` has them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from pytest_browsereval.agents.scripted import escape_text, find_variable
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.model.messages import Hit
from pytest_browsereval.redaction.marks import MARK
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import read_stored
from pytest_browsereval.runs.turns import StoredStep
from pytest_browsereval.tools.base import ENDINGS
from pytest_browsereval.tools.targets import ref_of
from pytest_browsereval.tools.toolkits import CATALOG

Call = dict[str, JsonValue]

TOOLS = {tool.name: tool for kit in CATALOG.values() for tool in kit.tools}
LOOKS = {name for name, tool in TOOLS.items() if not tool.takes_picture} | {"screenshot"}
WAITS = {"wait", "wait_for_text"}

_NODE = re.compile(r'( *)- (\w+)(?: ("(?:[^"\\]|\\.)*"))?([^:]*)(?:: (.*))?')
_REF = re.compile(r"\[ref=(\w+)\]")
_QUOTED = re.compile(r"( *- )'((?:[^']|'')*)'(.*)")
_NEW_TAB = re.compile(r"\. A new tab opened: tab \d+ .*; it is the current tab\.")
_ID = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


class Refused(Exception):
    """A row cannot be harvested; the message says why."""


@dataclass(frozen=True)
class Way:
    """What a passed attempt did, without what failed."""

    calls: tuple[Call, ...]
    """Without ``done``."""
    urls: tuple[str | None, ...]
    """The address of the page at the start, and after each call."""
    answer: str
    seen: str
    """What the looks after the last action showed."""
    taken: int = 0
    """Steps that the attempt took, with looks and what failed."""
    opens: tuple[bool, ...] = ()
    """Whether the current tab was a new one after each call."""

    @property
    def clean(self) -> Way:
        """The way without looks."""
        kept = [place for place, call in enumerate(self.calls) if call["tool"] not in LOOKS]
        return self.keep(kept)

    def keep(self, places: Sequence[int]) -> Way:
        """Return the way with some of its calls only."""
        urls = (self.urls[0], *(self.urls[place + 1] for place in places))
        opens = tuple(self.opens[place] for place in places) if self.opens else ()
        return replace(self, calls=tuple(self.calls[place] for place in places), urls=urls, opens=opens)

    def solve(self, answer: str | None = None, *texts: str) -> tuple[Call, ...]:
        """Return a solution.

        Args:
            answer: in the place of its own.
            texts: what the page has to show at the end.
        """
        shown: Iterator[Call] = ({"tool": "wait_for_text", "text": text} for text in texts)
        return (*self.calls, *shown, {"tool": "done", "answer": answer or self.answer})


def read_way(attempt: StoredAttempt, config: EvalConfig) -> Way:
    """Return the way of a passed attempt.

    Raises:
        Refused: it cannot be played again.
        DatasetError: a file of the attempt is damaged.
    """
    stored, selectors = read_stored(attempt.folder), dict[str, str]()
    calls, urls, seen, opens = list[Call](), [stored.task.start_url], list[str](), list[bool]()
    types_variable = leaves = False
    for step in attempt.steps:
        name = step.call.tool
        if step.result is None or step.result.is_error or name in ENDINGS:
            continue
        if name not in TOOLS:
            raise Refused(f"step {step.number} is a call to {name!r}, which is not a built-in tool")
        seen = [*seen, step.output] if name in LOOKS else []
        try:
            call = {"tool": name, **_name_targets(step, selectors)}
        except Refused:
            if name in LOOKS:
                continue
            raise
        if name == "snapshot":
            selectors |= read_selectors(step.output, str(call.get("target", "")))
        if isinstance(text := call.get("text"), str):
            is_variable = find_variable(call) in config.variables
            types_variable |= is_variable
            call["text"] = text if is_variable or find_variable(call) is None else escape_text(text)
        call = {key: name_sites(value, stored.site_urls) for key, value in call.items()}
        leaves |= "://" in str(call.get("url", ""))
        calls.append(call)
        urls.append(step.result.url or urls[-1])
        opens.append(name not in LOOKS and _NEW_TAB.search(step.output) is not None)
    answer = attempt.metadata.final_answer or "Done."
    if MARK in json.dumps([calls, answer], ensure_ascii=False):
        raise Refused(
            "the log hides a secret that it types. Have the agent type a variable by its name, ${NAME}"
        )
    if types_variable and leaves:
        raise Refused("it types a variable and opens an address that is not a site of the config")
    return Way(tuple(calls), tuple(urls), answer, "\n".join(seen), attempt.total_steps, tuple(opens))


def name_sites(value: JsonValue, sites: Mapping[str, str]) -> JsonValue:
    """Return a value with ``{name}`` for the addresses of sites, if it is a text.

    Args:
        value: plain JSON.
        sites: base URLs, by name.
    """
    if not isinstance(value, str):
        return value
    for name, base in sites.items():
        value = re.sub(rf"{re.escape(base)}(?![\w.:@-])", f"{{{name}}}", value)
    return value


def _name_targets(step: StoredStep, selectors: Mapping[str, str]) -> Call:
    """Return the arguments of a call, its refs as selectors.

    Raises:
        Refused: nothing is known of a ref.
    """
    params = dict(step.call.params)
    for key in ("target", "source"):
        if not isinstance(value := params.get(key), str) or (ref := ref_of(value)) is None:
            continue
        hit = step.result.hit if step.result and key == "target" else None
        found = selectors.get(ref) or (_name_hit(hit) if hit and not hit.in_frame else "")
        if not found:
            raise Refused(f"step {step.number} acts on {ref}, which has no role, name or text in the log")
        params[key] = found
    return params


def _name_hit(hit: Hit) -> str:
    if hit.role and hit.name:
        return f"role={hit.role}[name={_quote(hit.name)}]"
    return f"#{hit.id}" if _ID.fullmatch(hit.id) else ""


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def read_selectors(snapshot: str, within: str = "") -> dict[str, str]:
    """Return selectors of the elements of a snapshot, by their refs: by role and name, else by their text.

    Args:
        snapshot: the text of the tool.
        within: the part of the page that it is of.
    """
    begin = f"{within} >> " if within and not within.startswith("label=") else ""
    nodes, counts = [], Counter[tuple[str, ...]]()
    for frame, role, name, text, ref in _read_nodes(snapshot.splitlines(), begin):
        ways = [(f"role={role}[name={_quote(name)}]" if name else "", frame)]
        ways += [(f"text={_quote(text)}" if text else "", frame)]
        ways += [("" if role in ("generic", "iframe") else f"role={role}", frame)]
        nodes.append((ref, [(selector, frame, counts[selector, frame]) for selector, frame in ways]))
        counts.update(ways)
    found = {}
    for ref, known in nodes:
        for selector, frame, number in known:
            if ref and selector and ref not in found:
                nth = f" >> nth={number}" if counts[selector, frame] > 1 else ""
                found[ref] = f"{frame}{selector}{nth}"
    return found


def _read_nodes(lines: Sequence[str], begin: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the frame, the role, the name, the text and the ref of each element."""
    frames, number = [(-1, begin)], Counter[str]()
    for given in lines:
        quoted = _QUOTED.match(given)
        line = quoted[1] + quoted[2].replace("''", "'") + quoted[3] if quoted else given
        if (node := _NODE.match(line)) is None or node[2] == "text":
            continue
        depth, name = len(node[1]), re.sub(r"\\(.)", r"\1", (node[3] or "")[1:-1])
        while depth <= frames[-1][0]:
            frames.pop()
        frame = frames[-1][1]
        ref = _REF.search(node[4])
        yield frame, node[2], name, (node[5] or "").strip('"'), ref[1] if ref else ""
        if node[2] == "iframe":
            frames.append((depth, f"{frame}iframe >> visible=true >> nth={number[frame]} >>> "))
            number[frame] += 1
