"""What other tools call a thing, our names of it, and how ours are written."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

JSON = ".json"
"""The notation of rows; YAML reads it as well."""
_LONGEST = 300
"""Characters of a value of the user's that a message repeats in our form."""


@functools.cache
def _tables() -> dict[str, Any]:
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)  # type: ignore[no-any-return]


def find_meant(given: str, known: Collection[str]) -> str | None:
    """Return the one of the known names that another tool calls so; None if it is another word."""
    ours = (names for others, names in _tables()["meant"].items() if given.lower() in others.split())
    return next((one for names in ours for one in names.split() if one in known and one != given), None)


def find_maker(name: str) -> str | None:
    """Return the provider of a model by how the model's name begins; None if nobody knows."""
    return next((maker for begin, maker in _tables()["makers"].items() if name.startswith(begin)), None)


def write_pair(key: str, value: object, notation: str = ".yaml") -> str:
    """Return a key with its value as a file of that suffix has them, on one line."""
    if notation == ".toml":
        return f"{key} = {_write_toml(value)}"
    if notation in (JSON, ".jsonl"):
        return f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
    text = yaml.safe_dump(
        {key: value}, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True
    )
    return text.strip()[1:-1]


def _write_toml(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_write_toml(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_write_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def describe_form(
    name: str,
    key: str = "",
    value: object = None,
    notation: str = ".yaml",
    block: Mapping[str, Any] | None = None,
) -> str:
    """Return what to write, such as ``" Write `lanes: 4`."``, for a key of a config or a row, or ``""``.

    Args:
        name: our key.
        key: the key of another tool that the user wrote in its place; empty if it is ours.
        value: what the user wrote there; None if it must not be shown.
        notation: the suffix of the file.
        block: what the user wrote next to it.
    """
    block = block or {}
    asked = f" Did you mean {name!r}?" if key else ""
    if name == "sites" and isinstance(value, str) and "://" in value:
        return describe_running(value, 'paths such as "/"')
    if name == "dataset" and isinstance(value, list):
        return asked + _describe_rows(value, f"{block.get('name') or 'rows'}.jsonl", notation)
    if key == "prompts" and any(find_meant(str(one), ("agent",)) for one in block):
        text = write_pair("instructions", "...", notation)
        return (
            " This is the form of promptfoo: here a config has the agent, and a file of rows has the tests. "
            f"Leave `prompts` out: an agent gets the `query` of each row, and the `{text}` of its block."
        )
    fitted = _fit(name, key, value)
    form = _tables()["forms"].get(name) if fitted is None else fitted
    written = "" if form is None else write_pair(name, form, notation)
    # An agent of a config is a variant by then.
    if key and (name in block or (name == "agent" and list(block.get("variants") or ()) == ["default"])):
        return f"{asked} It already exists: " + (
            f"leave {key!r} out." if fitted is None else f"change it to `{written}`."
        )
    if form is None:
        return asked
    remark = _tables()["remarks"].get(name)
    return f"{asked} Write `{written}`{f'; {remark}' if remark else ''}."


def describe_running(address: str, place: str) -> str:
    """Return what to write in rows for an app that is already running, in place of what rows have."""
    pair = write_pair("start_url", address.rstrip("/") + "/", JSON)
    return (
        " An app that is already running needs no site. Leave this out, and write the whole address in the "
        f"rows: `{pair}` in place of {place}."
    )


def write_model(name: object) -> dict[str, str] | None:
    """Return provider, model and variable of the key for ``gpt-4o`` or ``openai:gpt-4o``; None if unknown."""
    if isinstance(name, Mapping):
        name = name.get("model") or name.get("id")
    if not isinstance(name, str):
        return None
    maker, mark, model = name.replace(":", "/", 1).partition("/")
    keys = _tables()["keys"]
    if not mark or maker not in keys:
        maker, model = find_maker(name) or "", name
    model = model.removeprefix("chat:").removeprefix("messages:")  # promptfoo's
    return {"provider": maker, "model": model, "api_key": keys[maker]} if maker in keys else None


def _fit(name: str, key: str, value: object) -> object:
    """Return a value of the user's in our form; None if it has none there."""
    tables = _tables()
    if name in ("agent", "judge"):
        first = value[0] if isinstance(value, list) and value else value
        found = write_model(first)
        return {"type": "single", **found} if found and name == "agent" else found
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in ("gate", "min_pass_rate") and isinstance(value, int | float) and 0 < value <= 100:
        share = value if value <= 1 else round(value / 100, 4)
        return {"min_pass_rate": share} if name == "gate" else share
    if name == "query" and isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = " ".join(value)
    if (name, key) == ("browser", "headless") or (name == "context" and key):
        value = {key: value}
    elif name == "variables" and isinstance(value, dict):
        value = list(value)
    elif not (name in tables["numbers"] and is_number) and not (
        name in tables["texts"] and isinstance(value, str)
    ):
        return None
    return value if value is not None and len(str(value)) <= _LONGEST else None


def _describe_rows(tests: list[Any], file: str, notation: str) -> str:
    """Return how tests that stand in a config become rows of a file, with the first of them."""
    test = tests[0] if tests and isinstance(tests[0], dict) else {}
    inputs = test.get("vars") or test.get("inputs") or test
    given = inputs.items() if isinstance(inputs, dict) else ()
    texts = [text for key, text in given if key == "query" or find_meant(str(key), ("query",))]
    checked = next((one for one in test.get("assert") or () if isinstance(one, dict)), {})
    answer = checked.get("value") or test.get("expected") or test.get("expected_output") or "..."
    match = "exact" if checked.get("type") == "equals" else "includes"
    row = {
        "query_id": "1",
        "query": texts[0] if texts else "...",
        "start_url": "https://...",
        "graders": [{"type": "answer", "match": match}],
        "answer": answer,
    }
    line = json.dumps(row, ensure_ascii=False)
    first = f"; the first: `{line}`" if len(line) <= 2 * _LONGEST else ""
    return (
        f" Write `{write_pair('dataset', file, notation)}`, and each of them as a line of that file{first}."
    )


def hint_at_dotenv(name: str) -> str:
    """Return what to type where a variable that is not set stands in a file ``.env``, or ``""``."""
    try:
        text = Path(".env").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    known = f"{name}=" in text.replace(" ", "")
    return " The file .env has it and is not read: run `set -a; . ./.env; set +a` first." if known else ""
