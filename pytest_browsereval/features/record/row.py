"""Makes the row of what was recorded."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.agents.scripted import escape_text
from pytest_browsereval.config_text import format_path
from pytest_browsereval.datasets.jsonl import JsonLinesConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.record.files import FOLDER
from pytest_browsereval.features.record.steps import Item, list_files
from pytest_browsereval.features.shared.reporting import refuse_unwritable
from pytest_browsereval.features.shared.ways import name_sites
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.run_files import write_whole

LONGEST_ID = 48
KINDS = ("new-password", "one-time-code", "cc-number", "cc-csc", "cc-exp", "cc-exp-month", "cc-exp-year")
"""Of fields, by which variables are named, ``CC_NUMBER`` say. A page chooses among these; it must not name a
variable that is there already, such as an API key, or its field would get that when the row is played."""

# In JSON these may stand as they are; on a terminal or in an editor they hide or turn what follows.
_UNSEEN = re.compile("[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


@dataclass(frozen=True)
class Heading:
    """What is known of a row before it is recorded."""

    query_id: str
    query: str
    start_url: str
    """As the row has it: a site of the config is ``{name}``."""


def make_row(
    heading: Heading, items: Iterable[Item], names: Mapping[str, str], sites: Mapping[str, str]
) -> dict[str, JsonValue]:
    """Return a row.

    Args:
        heading: its begin.
        items: what was recorded.
        names: the variables of the secrets that were typed.
        sites: the base URLs that sites had, by name.
    """
    items = list(items)
    files = [name for item in items for name in list_files(item)]
    solution = [_name_secrets(_name_sites(item.content, sites), names) for item in items if not item.is_check]
    return {
        "query_id": heading.query_id,
        "query": heading.query,
        "graders": ["page_state"],
        "start_url": heading.start_url,
        **({"files": [f"{FOLDER}/{name}" for name in dict.fromkeys(files)]} if files else {}),
        "checks": [_name_sites(item.content, sites) for item in items if item.is_check],
        "solution": [*solution, {"tool": "done", "answer": "Done."}],
    }


def format_row(row: Mapping[str, JsonValue]) -> str:
    """Return a row as one line of JSON, readable where letters are and escaped where signs are not seen."""
    text = well_formed(json.dumps(row, ensure_ascii=False))
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _name_sites(content: Mapping[str, JsonValue], sites: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return a step or a check with the sites of the config in its address."""
    return {key: name_sites(value, sites) if key == "url" else value for key, value in content.items()}


def _name_secrets(step: dict[str, JsonValue], names: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return a step whose text is a variable where a secret was typed."""
    text = step.get("text")
    if not isinstance(text, str):
        return step
    return {**step, "text": f"${{{names[text]}}}" if text in names else escape_text(text)}


# -- names


def propose_names(
    items: Iterable[Item], known: Mapping[str, str], environ: Mapping[str, str], prefix: str = ""
) -> dict[str, str]:
    """Return a variable for each secret that was typed, by its value.

    Args:
        items: what was recorded.
        known: the names of the config's variables, by their values.
        environ: the environment; a variable of another value is not taken.
        prefix: what names begin with, of the site's name.
    """
    names: dict[str, str] = {}
    for item in items:
        value = item.typed
        if not value or value in names:
            continue
        kind = item.secret if item.secret in KINDS else "password"
        stem = f"{prefix}{kind.upper().replace('-', '_')}"
        tries = (stem, *(f"{stem}_{number}" for number in range(2, 1000)))
        free = (one for one in tries if environ.get(one, value) == value and one not in names.values())
        names[value] = known.get(value) or next(free)
    return names


def prefix_of(start_url: str) -> str:
    """Return what names of variables begin with: the name of the site that a row starts at, if it has one."""
    site = re.match(r"\{(\w+)\}", start_url)
    return f"{site[1].upper()}_" if site else ""


def make_id(query: str, taken: Iterable[str]) -> str:
    """Return an id that says what the query says."""
    plain = unicodedata.normalize("NFKD", query).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    while len(words) > 1 and len("-".join(words)) > LONGEST_ID:
        words.pop()
    stem, known = "-".join(words)[:LONGEST_ID] or "row", set(taken)
    tries = (stem, *(f"{stem}-{number}" for number in range(2, len(known) + 3)))
    return next(one for one in tries if one not in known)


# -- the file


def read_ids(path: Path) -> dict[str, int]:
    """Return the ids of a dataset, each with its line; none if there is no file yet.

    Raises:
        UsageError: it cannot be written, or is no dataset of JSON Lines.
    """
    if path.suffix not in (".jsonl", ".ndjson"):
        raise UsageError(
            f"--out is {format_path(path)}, and rows are added to JSON Lines. Name a file *.jsonl."
        )
    written = (path.parent, path) if path.exists() else (path.parent,)
    # To open a pipe would wait for its reader.
    is_other = path.exists() and not path.is_file()
    if is_other or not all(os.access(one, os.W_OK) for one in written):
        raise UsageError(
            f"{format_path(path)} cannot be written: it is not a plain file, there is no folder "
            f"{format_path(path.parent)}, or one of the two is read-only. Create it, or name another file."
        )
    if not path.exists() or not path.stat().st_size:
        return {}
    return {ref.query_id: ref.line for ref in JsonLinesConfig(path=path.absolute()).index(path.parent)}


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add a row to a file as its last line, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    with refuse_unwritable(path):
        own = path.resolve()  # not the link to it
        before = own.read_bytes() if own.exists() else b""
        gap = b"\n" if before and not before.endswith(b"\n") else b""
        write_whole(own, b"".join((before, gap, format_row(row).encode(), b"\n")))
