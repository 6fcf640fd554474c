"""Differences between the manifests of two runs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pytest_browsereval.model.display import one_line

LEFT_OUT = frozenset(
    {
        "started_at",
        "name",
        "config_file",
        "config_folder",
        "git_branch",  # the commit is reported
        "selected",
        "left_out",
        "judged_by",
        "shards",  # parts of one run differ in it
        "merged_from",
        "merged_at",
        "config_hash",  # the keys of the config are told one by one
        "tools",
        "toolkits",
        "tool_hashes",  # the hash over all of them is told
        "config.name",
        "config.output_dir",
        "config.lanes",
        "config.num_workers",
        "config.gate",
        "config.budget",
    }
)
"""Time, place, speed, what is asked of results, and what another key tells: none changes a result."""

TIME = frozenset({"started_at", "merged_at", "imported_from.imported_at", "config_hash", "tools"})
"""Time alone, and what another key tells: the config its keys, the tools their hashes."""


def differences(
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    *,
    besides: Collection[str] = (),
    left_out: Collection[str] = LEFT_OUT,
) -> dict[str, str]:
    """Return what differs that may change results: a line for each value, by its key.

    Where a manifest is missing, there is one line, of no key.

    Args:
        a: a manifest.
        b: another one.
        besides: further keys that are left out, with dots: ``config.retries``.
        left_out: the keys that are left out; ``TIME`` has all else told.
    """
    if not a or not b:
        which = "both runs" if not a and not b else "A" if not a else "B"
        return {"": f"the manifest of {which} is missing or damaged, so what else differs is unknown"}
    return dict(_lines("", a, b, {*left_out, *besides}))


def _lines(path: str, a: Any, b: Any, left_out: Collection[str]) -> Iterator[tuple[str, str]]:
    if a == b or path in left_out:
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted(a.keys() | b.keys()):
            yield from _lines(f"{path}.{key}" if path else str(key), a.get(key), b.get(key), left_out)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for place, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from _lines(f"{path}.{place}", one, other, left_out)
    else:
        yield path, f"{one_line(path, 60)}: {_format_value(a)} -> {_format_value(b)}"


def _format_value(value: Any) -> str:
    if value is None:
        return "none"
    text = str(value)
    cut = one_line(text, 60)
    if cut == text:
        return cut
    # Two prompts may begin alike, and a resume takes equal lines for the same difference.
    return f"{cut} [{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}]"
