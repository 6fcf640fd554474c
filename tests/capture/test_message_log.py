from __future__ import annotations

import json
import resource
import signal
from pathlib import Path

import pytest

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage, UserMessage, message_adapter
from pytest_browsereval.runs.folder import read_messages

pytestmark = pytest.mark.quick

TIME = "2026-05-01T10:00:00.000Z"


@pytest.mark.parametrize("damage", ['"timestamp": "yesterday", ', "", '"timestamp": null, '])
def test_a_line_without_its_time_is_damaged(tmp_path: Path, damage: str) -> None:
    """No time is made up: messages are read up to that line."""
    line = '{"type": "user", %s"content": "Go."}\n'
    (tmp_path / "messages.jsonl").write_text(line % f'"timestamp": "{TIME}", ' + line % damage + line)
    assert list(read_messages(tmp_path)) == [UserMessage(content="Go.", timestamp=TIME)]


def test_half_a_character_loses_no_message(tmp_path: Path) -> None:
    """JSON and JavaScript allow single surrogates; a line with one is written, and read back."""
    log = MessageLogger(tmp_path)
    log.log(ToolCallMessage(tool="fill", tool_call_id="call-1", params={"text": "\udfff \ud83e\uded6"}))
    log.close()
    told = message_adapter.validate_json((tmp_path / "messages.jsonl").read_bytes())
    assert isinstance(told, ToolCallMessage)
    assert told.params == {"text": "\N{REPLACEMENT CHARACTER} 🫖"}


def test_names_on_disk_are_those_of_the_design_documents(tmp_path: Path) -> None:
    """Field spellings and absent fields are part of the format."""
    log = MessageLogger(tmp_path)
    log.log(ToolCallMessage(timestamp=TIME, tool="click", tool_call_id="call-1", params={}))
    log.close()
    assert json.loads((tmp_path / "messages.jsonl").read_text()) == {
        "timestamp": TIME,
        "type": "tool_call",
        "tool": "click",
        "toolCallId": "call-1",
        "params": {},
    }


@pytest.mark.parametrize("secret", ["sk-12345678", 'a"quoted\\key', "schlüssel-🔑", "two\nlines"])
def test_secrets_are_replaced_before_they_are_written(tmp_path: Path, secret: str) -> None:
    """Nested values too, and also where JSON writes a character in another way."""
    log = MessageLogger(tmp_path, redact=lambda text: text.replace(secret, "***"))
    log.log(ToolCallMessage(tool="fill", tool_call_id="1", params={"deep": [{"text": f"key {secret}!"}]}))
    log.close()
    (line,) = (tmp_path / "messages.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["params"] == {"deep": [{"text": "key ***!"}]}
    (message,) = log.messages
    assert isinstance(message, ToolCallMessage)
    assert message.params == {"deep": [{"text": "key ***!"}]}


def test_half_a_line_does_not_stay(tmp_path: Path) -> None:
    """A write that ends in the middle is taken back, so that what follows can be read."""
    log = MessageLogger(tmp_path)
    log.log(UserMessage(content="first"))
    size = (tmp_path / "messages.jsonl").stat().st_size
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, allowed[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            log.log(UserMessage(content="second " * 50))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
        signal.signal(signal.SIGXFSZ, handler)
    log.log(UserMessage(content="third"))
    log.close()
    lines = (tmp_path / "messages.jsonl").read_text().splitlines()
    assert [json.loads(line)["content"] for line in lines] == ["first", "third"]
    kept = [message.content for message in log.messages if isinstance(message, UserMessage)]
    assert kept == ["first", "third"]


def test_a_call_is_recorded_whatever_it_was_called_with(tmp_path: Path) -> None:
    """What JSON cannot hold is replaced by why; the line stays, and can be read."""
    log, deep = MessageLogger(tmp_path), json.loads("[" * 300 + "]" * 300)
    log.log(ToolCallMessage(tool="click", tool_call_id="call-1", params={"target": object()}))
    log.log(ToolResultMessage(tool_call_id="call-1", result=deep, is_error=False))
    log.close()
    call, result = read_messages(tmp_path)
    assert isinstance(call, ToolCallMessage)
    assert "Unable to serialize unknown type" in call.params["unrecorded"]
    assert isinstance(result, ToolResultMessage)
    assert result.result == {"unrecorded": "nested more than 100 levels"}
    assert log.messages == (call, result)
