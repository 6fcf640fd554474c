"""Tool calls that do what a person did, and checks of what they point at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pydantic import JsonValue

from pytest_browsereval.features.record.event import Signal

Content = dict[str, JsonValue]


def make_call(signal: Signal, target: str, to: str, files: Iterable[str]) -> Content:
    """Return the tool call of a step.

    Args:
        signal: what the page's script has reported.
        target: what it was done to; empty if that is nothing of its own.
        to: where something was dropped.
        files: names in the row of files that were chosen.
    """
    if signal.kind == "drag":
        place: Content = {"to_position": list(signal.point)} if signal.point else {}
        return {"tool": "drag", "source": target, "target": to, **place}
    if signal.kind == "files":
        return {"tool": "upload_file", "target": target, "files": list(files)}
    return _MADE[signal.kind](signal, {"target": target} if target else {})


def make_checks(signal: Signal, url: str) -> list[Content]:
    """Return checks of what was pointed at, the best one first.

    Args:
        signal: what was pointed at.
        url: the address of the page.
    """
    if signal.kind == "address":
        return [{"url": url}]
    if signal.kind == "text":
        return [{"text": signal.text}]
    shown: JsonValue = signal.values[0] if signal.values else signal.value
    checks: list[Content] = []
    if signal.text:
        checks = [{"field": signal.text, "equals": list(signal.values) if signal.is_on else shown}]
    if signal.script:
        checks.append({"js": signal.script, "equals": signal.value})
    return checks


def _make_click(signal: Signal, where: Content) -> Content:
    if signal.start and signal.point:
        (start_x, start_y), (x, y) = signal.start, signal.point
        return {"tool": "drag_at", "start_x": start_x, "start_y": start_y, "end_x": x, "end_y": y}
    content: Content = {"tool": "click", **where}
    content |= {"position": list(signal.point)} if signal.point else {}
    content |= {"button": "right"} if signal.button == "right" else {}
    content |= {"modifiers": list(signal.modifiers)} if signal.modifiers else {}
    return content | ({"click_count": 2} if signal.kind == "double" else {})


def _make_choice(signal: Signal, where: Content) -> Content:
    chosen: Content = {"values": list(signal.values)} if signal.is_on else {"value": "".join(signal.values)}
    return {"tool": "select_option", **where, **chosen}


_MADE: Mapping[str, Callable[[Signal, Content], Content]] = {
    "click": _make_click,
    "double": _make_click,
    "select": _make_choice,
    "fill": lambda signal, where: {"tool": "fill", **where, "text": signal.text},
    "switch": lambda signal, where: {"tool": "check" if signal.is_on else "uncheck", **where},
    "hover": lambda _, where: {"tool": "hover", **where},
    "scroll": lambda signal, where: {
        "tool": "scroll",
        "direction": signal.how,
        "amount": signal.way,
        **where,
    },
    "key": lambda signal, where: {"tool": "press_key", "key": signal.press, **where},
}
