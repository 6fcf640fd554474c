"""Attempts at rows of WebArena-Verified, right and wrong ones, made of what the rows themselves expect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

_PATHS = {"GITLAB": "", "MAP": "", "REDDIT": "", "SHOPPING_ADMIN": "/admin", "SHOPPING": ""}
SITES = {
    name: f"http://{name.lower().replace('_', '-')}.test:{7770 + place}{path}"
    for place, (name, path) in enumerate((_PATHS | {"WIKIPEDIA": "", "HOMEPAGE": ""}).items())
}
HTML = "text/html,application/xhtml+xml,*/*;q=0.8"

Case = dict[str, Any]
"""``task`` as published, ``answer``, ``entries`` of the HAR, and ``name``."""


def filled(value: Any) -> Any:
    """Return a JSON value with the sites' addresses in the place of their names."""
    text = json.dumps(value)
    for name, url in SITES.items():
        text = text.replace(f"__{name}__", url)
    return json.loads(text)


def answer_of(task: Mapping[str, Any], data: Any = ..., **changed: Any) -> str:
    """Return the answer that a row expects, or with other data."""
    expected = next(e for e in task["eval"] if e["evaluator"] == "AgentResponseEvaluator")["expected"]
    told = {key: expected.get(key) for key in ("task_type", "status", "retrieved_data")}
    told["task_type"] = told["task_type"].upper()
    told["retrieved_data"] = first_choices(told["retrieved_data"]) if data is ... else data
    return json.dumps({**told, **changed}, ensure_ascii=False)


def first_choices(data: Any) -> Any:
    """Return data with the first of several choices wherever there are some."""
    if not isinstance(data, list):
        return data
    return [_choice(item) for item in data]


def _choice(item: Any) -> Any:
    if isinstance(item, list):
        return _choice(item[0])
    if isinstance(item, dict):
        return {key: _choice(value) if isinstance(value, str) else value for key, value in item.items()}
    if isinstance(item, str) and item.startswith("^") and item.endswith("$"):
        return _example(item)
    return item


def _example(pattern: str) -> str:
    """Return a text that such a pattern matches, for those that the rows have; else something like it."""
    text = re.sub(r"\(\?:([^|()]*)[^()]*\)\??|\\s\*|\[-\]\?|0\*", r"\1", pattern[1:-1])
    return text.replace(".*", "x").replace("\\", "").replace("#?", "#").replace("@?", "")


def entries_of(task: Mapping[str, Any], *, without: int = -1) -> list[dict[str, Any]]:
    """Return the requests that a row expects, one of them left out."""
    rules = [e for e in task["eval"] if e["evaluator"] == "NetworkEventEvaluator"]
    is_navigation = json.loads(answer_of(task))["task_type"] == "NAVIGATE"
    made = [entry_of(rule["expected"]) for rule in rules if not rule.get("should_not_exist")]
    home = entry("GET", next(iter(SITES.values())) + "/somewhere", headers={"accept": HTML})
    kept = [one for place, one in enumerate(made) if place != without]
    return [*kept, home] if without >= 0 and is_navigation else [home, *kept]


def entry_of(expected: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
    """Return the request that an evaluator expects."""
    expected = {**expected, **changed}
    url = filled(_choice(expected["url"]))
    if query := expected.get("query_params"):
        pairs = [(name, _choice(value)) for name, values in query.items() for value in values]
        url += ("&" if "?" in url else "?") + urlencode(pairs)
    headers = {"accept": HTML, **{k: _choice(v) for k, v in (filled(expected.get("headers")) or {}).items()}}
    return entry(
        expected.get("http_method", "GET"),
        url,
        headers=headers,
        sent=filled(expected.get("post_data")),
        replied=expected.get("response_content"),
        status=expected.get("response_status", 200),
        cookies=expected.get("response_cookies"),
    )


def entry(method: str, url: str, **more: Any) -> dict[str, Any]:
    """Return an entry of a HAR file."""
    request: dict[str, Any] = {
        "method": method,
        "url": url,
        "headers": [{"name": k, "value": v} for k, v in (more.get("headers") or {}).items()],
    }
    if sent := more.get("sent"):
        request["postData"] = _posted(sent)
    cookies = [{"name": k, "value": _choice(v)} for k, v in (more.get("cookies") or {}).items()]
    reply = {"status": more.get("status", 200), "redirectURL": "", "headers": [], "cookies": cookies}
    if replied := more.get("replied"):
        reply["content"] = {"mimeType": "application/json", "text": json.dumps(_nested(replied))}
    return {"request": request, "response": reply}


def _posted(sent: Mapping[str, Any]) -> dict[str, str]:
    plain = {key: _choice(value) for key, value in sent.items() if value is not None}
    if any(key.startswith("$") and not key.startswith("$.^") for key in sent):
        return {"mimeType": "application/json", "text": json.dumps(_nested(sent))}
    plain = {"some_key" if key.startswith(("$", "^")) else key: value for key, value in plain.items()}
    if "$.^file_path|file_name$" in sent:
        plain["file_path"] = plain.pop("some_key")
    elif "some_key" in plain:
        plain["reply_to_submission_7[comment]"] = plain.pop("some_key")
    return {"mimeType": "application/x-www-form-urlencoded", "text": urlencode(plain)}


def _nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object that has the values at the paths."""
    result: dict[str, Any] = {}
    for path, value in fields.items():
        if path.startswith("$['"):
            result["configurable-matrix-serialized"] = [{"newProduct": 1, "attributes": v} for v in value]
            continue
        parts = path.removeprefix("$.").split(".") if path.startswith("$") else [path]
        block = result
        for part in parts[:-1]:
            block = _entered(block, part)
        block[parts[-1]] = value if path.endswith("_ids") else _choice(value)
    return result


def _entered(block: dict[str, Any], part: str) -> dict[str, Any]:
    name, _, place = part.partition("[")
    if not place:
        inner = block.setdefault(name, {})
    else:
        items = block.setdefault(name, [])
        while len(items) <= int(place.rstrip("]")):
            items.append({})
        inner = items[int(place.rstrip("]"))]
    assert isinstance(inner, dict)
    return inner


# -- cases


def cases_of(task: Mapping[str, Any]) -> Iterator[Case]:
    """Yield attempts at a row: what it expects, and what it does not."""

    def case(name: str, answer: str | None, entries: list[dict[str, Any]]) -> Case:
        return {"name": name, "task": task, "answer": answer, "entries": entries}

    right, all_sent = answer_of(task), entries_of(task)
    yield case("right", right, all_sent)
    yield case("fenced", f"Here it is:\n```json\n{right}\n```", all_sent)
    yield case("no answer", None, all_sent)
    yield case("another status", answer_of(task, status="UNKNOWN_ERROR"), all_sent)
    data = json.loads(right)["retrieved_data"]
    if data:
        yield case("reversed", answer_of(task, data[::-1]), all_sent)
        yield case("one missing", answer_of(task, data[1:]), all_sent)
        yield case("one more", answer_of(task, [*data, data[0]]), all_sent)
        yield case("another", answer_of(task, [*data[1:], "zzz"]), all_sent)
        yield case("in capitals", answer_of(task, [_louder(item) for item in data]), all_sent)
        yield case("as texts", answer_of(task, [_as_text(item) for item in data]), all_sent)
    else:
        yield case("with data", answer_of(task, ["x"]), all_sent)
    for place in range(len(all_sent) - 1):
        yield case(f"without request {place}", right, entries_of(task, without=place))
    for place in range(1, len(all_sent)):
        yield case(f"other request {place}", right, _spoiled(all_sent, place))
        yield case(f"failed request {place}", right, _spoiled(all_sent, place, status=500))


def _louder(item: Any) -> Any:
    if isinstance(item, str):
        return f' "{item.upper()}." '
    return {key: _louder(value) for key, value in item.items()} if isinstance(item, dict) else item


def _as_text(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _as_text(value) for key, value in item.items()}
    return f"{item}" if not isinstance(item, list) else item


def _spoiled(entries: list[dict[str, Any]], place: int, **changed: Any) -> list[dict[str, Any]]:
    copy: list[dict[str, Any]] = json.loads(json.dumps(entries))
    spoiled = copy[place]
    if changed:
        spoiled["response"].update(changed)
    elif "postData" in spoiled["request"]:
        spoiled["request"]["postData"]["text"] = "other=1"
    else:
        spoiled["request"]["url"] += "?zzz=1" if "?" not in spoiled["request"]["url"] else "&zzz=1"
    return copy
