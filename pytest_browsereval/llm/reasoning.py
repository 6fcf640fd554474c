"""Tells what a model thought from what it says, where the server hands on both in one text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_WORDS = r"(?:think(?:ing)?|thoughts?|reasoning|scratchpad)"
_OPENING = (
    # DeepSeek and Qwen, and others with a word before it (`seed:think`)
    rf"<(?:ant|\w{{1,20}}[:_-])?{_WORDS}(?:\s[^<>]*)?(?<!/)>"
    r"|\[think(?:ing)?\]|◁think▷"  # Mistral, Kimi
    r"|<\|(?:start_thinking|begin_of_thought|think(?:ing)?)\|>|<\|channel>"  # Cohere, Sky, Gemma
    r"|\bhere(?: i|')s my thought process:"  # Granite
)
_CLOSING = (
    rf"</(?:ant|\w{{1,20}}[:_-])?{_WORDS}\s*>|<{_WORDS}\s*/>"
    r"|\[/think(?:ing)?\]|◁/think▷"
    r"|<\|(?:end_thinking|end_of_thought|/think(?:ing)?)\|>|<channel\|>"
    r"|\bhere(?: i|')s my response:"
)
_BLANK = r"(?:[\s\ufeff\u200b]|<\|\w+\|>(?:assistant\b)?)*"
_BEGINNING = re.compile(rf"{_BLANK}(?:{_OPENING})", re.IGNORECASE)
# A mark in quotation marks is spoken of.
_MARK = re.compile(
    rf"(?<!\w)(?P<quote>[`'\"])(?:{_OPENING}|{_CLOSING})(?P=quote)(?!\w)"
    rf"|(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)

# The channels of gpt-oss; https://cookbook.openai.com/articles/openai-harmony
_CHANNEL = re.compile(r"\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>")
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_BARE_FINAL = "assistantfinal"
"""What is left of the marks around an answer where a server drops special tokens."""


def split_reasoning(text: str) -> tuple[str, str]:
    """Return what a model thought before it replied, and the reply.

    Thoughts that are never closed leave no reply. A mark in the middle of a reply is a part of it.
    """
    if _CHANNEL.match(text) or _FINAL.search(text):
        return _split_channels(text)
    if text.startswith("analysis") and _BARE_FINAL in text:
        thought, _, reply = text.rpartition(_BARE_FINAL)
        return thought, reply
    marks = [mark for mark in _MARK.finditer(text) if not mark["quote"]]
    thoughts, end = [], 0
    while begun := _BEGINNING.match(text, end):
        inner = [mark for mark in marks if mark.start() >= begun.end()]
        # Else the first end counts: thoughts may speak of their own marks.
        closing = _find_closing(inner) or next((mark for mark in inner if mark["closing"]), None)
        if closing is None:
            return text, ""
        thoughts.append(text[begun.end() : closing.start()].strip())
        end = closing.end()
    # Templates may open the thoughts in the prompt, and then only their end is in the reply. A form that was
    # asked for may quote one.
    unopened = _find_closing([mark for mark in marks if mark.start() >= end])
    if unopened and not any(thoughts) and not is_json(unfence(text.strip())):
        thoughts.append(text[end : unopened.start()].strip())
        end = unopened.end()
    return ("\n".join(filter(None, thoughts)), text[end:].lstrip()) if thoughts else ("", text)


def _find_closing(marks: Sequence[re.Match[str]]) -> re.Match[str] | None:
    """Return the first mark that closes what was opened before all of these."""
    depth = 0
    for mark in marks:
        depth += 1 if mark["opening"] else -1
        if depth < 0:
            return mark
    return None


def _split_channels(text: str) -> tuple[str, str]:
    finals = list(_FINAL.finditer(text))
    if not finals:
        return text, ""
    return text[: finals[-1].start()], _CHANNEL_END.split(text[finals[-1].end() :], maxsplit=1)[0]


def unfence(text: str) -> str:
    """Return what stands in the fence that a text is, or the text."""
    fenced = _FENCE.fullmatch(text)
    return fenced[1] if fenced else text


def is_json(text: str) -> bool:
    """Return whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
