"""The steps of an attempt that has passed, as a solution has them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.agents.scripted import find_variable
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.redaction.marks import MARK
from pytest_browsereval.redaction.text import map_texts
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import read_stored
from pytest_browsereval.tools.base import ENDINGS
from pytest_browsereval.tools.targets import ref_of
from pytest_browsereval.tools.toolkits import CATALOG

Steps = tuple[dict[str, JsonValue], ...]

LOOKS = {tool.name for kit in CATALOG.values() for tool in kit.tools if not tool.takes_picture}
LOOKS = (LOOKS | {"screenshot"}) - {"wait", "wait_for_text"}

_NODE = re.compile(r'^ *- (\w+) ("(?:[^"\\]|\\.)*")([^:\n]*)', re.MULTILINE)
_REF = re.compile(r"\[ref=(\w+)\]")
_TARGETS = ("target", "source")


def read_steps(attempt: StoredAttempt) -> tuple[Steps, bool] | None:
    """Return the steps of an attempt that did something, and whether they mean the same on another day.

    None where the log does not tell what a step acted on, or hides a secret of it. An element has role and
    name of the snapshot if no other one of it has both. Names with digits, as of an order, and points may be
    others on another day.
    """
    try:
        sites = read_stored(attempt.local_folder).site_urls
    except DatasetError:
        return None
    steps, selectors, is_sure = list[dict[str, Any]](), dict[str, str](), True
    for step in attempt.steps:
        name, params = step.call.tool, dict(step.call.params)
        if step.result is None or step.result.is_error or name in ENDINGS:
            continue
        if name == "snapshot" and not params.get("target"):
            selectors |= name_elements(step.output)
        if name in LOOKS:
            continue
        for key in _TARGETS:
            if isinstance(target := params.get(key), str) and (ref := ref_of(target)):
                if ref not in selectors:
                    return None
                params[key] = selectors[ref]
            is_sure = is_sure and re.search(r"\d", str(params.get(key, ""))) is None
        is_sure = is_sure and not {"x", "y", "path", "position"} & params.keys()
        steps.append({"tool": name, **map_texts(params, lambda text: _name_sites(text, sites))})
    if (answer := attempt.metadata.final_answer) is not None:
        steps.append({"tool": "done", "answer": answer})
    is_hidden = MARK in json.dumps(steps, ensure_ascii=False)
    # The value of a variable is for the row's own pages.
    leaves = any("://" in str(step.get("url", "")) for step in steps)
    is_unsafe = leaves and any(find_variable(step) for step in steps)
    return None if is_hidden or is_unsafe or not steps else (tuple(steps), is_sure)


def name_elements(snapshot: str) -> Iterator[tuple[str, str]]:
    """Yield refs with selectors of the elements that have role and name for themselves; none of frames."""
    nodes = [
        (f"role={role}[name={name}]", _REF.search(rest))
        for role, name, rest in _NODE.findall(_take_frames_out(snapshot))
    ]
    counts = Counter(selector for selector, _ in nodes)
    yield from ((ref[1], selector) for selector, ref in nodes if ref and counts[selector] == 1)


def _take_frames_out(snapshot: str) -> str:
    kept, frame = list[str](), -1
    for line in snapshot.splitlines():
        depth = len(line) - len(line.lstrip(" "))
        if frame < 0 or depth <= frame:
            frame = depth if line.lstrip(" ").startswith("- iframe") else -1
            kept.append(line)
    return "\n".join(kept)


def _name_sites(text: str, sites: Mapping[str, str]) -> str:
    for name, url in sites.items():
        text = re.sub(rf"{re.escape(url)}(?![\w.:])", f"{{{name}}}", text)
    return text
