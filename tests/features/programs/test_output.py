from __future__ import annotations

import json
from typing import Any

from pytest_browsereval.features.programs.output import AnswerEvent, OutputReader, UsageRule

DOCUMENT = {"response": "42", "stats": {"models": {}}}


def read(reader: OutputReader, text: str) -> list[dict[str, Any]]:
    """Read an output to its end; return its objects."""
    found = [reader.read(line) for line in text.split("\n")]
    return [record for record in (*found, reader.read_rest()) if record is not None]


def test_one_object_over_several_lines_is_read() -> None:
    """What lies around it does not matter."""
    for before in ("", "Loaded credentials.\n\n"):
        for after in ("", "\nBye.\n"):
            reader = OutputReader(AnswerEvent(expression="response"))
            assert read(reader, before + json.dumps(DOCUMENT, indent=2) + after) == [DOCUMENT]
            assert reader.find_answer() == "42"


def test_text_is_no_object() -> None:
    """Numbers, lists, broken and bottomless JSON are passed over."""
    lines = ["7", "[1]", "{broken", '{"a":' * 100_000, '{"a": 1', "null", '"text"']
    assert read(OutputReader("event"), "\n".join(lines)) == []


def test_the_last_fitting_line_has_the_answer() -> None:
    """Later lines that give nothing do not take it away; what is no text is written as JSON."""
    reader = OutputReader("event")
    lines = [{"type": "answer", "content": text} for text in ("one", 2, " ", None)]
    read(reader, "\n".join(map(json.dumps, [*lines, {"type": "usage"}])))
    assert reader.find_answer() == "2"
    for given in (True, False):
        read(reader, json.dumps({"type": "answer", "content": given}))
        assert reader.find_answer() == json.dumps(given)


def test_wrong_numbers_count_nothing() -> None:
    """Negative, endless, true and textual numbers are none; a cost that is none is unknown."""
    odd: list[Any] = [-5, float("inf"), float("nan"), True, "12", None, [1]]
    for value in odd:
        told = UsageRule().usage({"type": "usage", "input_tokens": value, "cost_usd": value})
        assert told is not None
        assert (told.input_tokens, told.cost_usd, told.requests) == (0, None, 1)
    assert UsageRule().usage({"type": "other", "input_tokens": 1}) is None
