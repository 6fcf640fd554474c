"""Secrets taken out, and put in again where that is possible."""

from __future__ import annotations

import json

from pytest_browsereval.run.hiding import Hiding

PASSWORD, TOKEN = 'pass"word', "pass"


def redact(text: str) -> str:
    return text.replace("sk-key", "[redacted]")


def test_named_secrets_come_back_with_their_present_values() -> None:
    """A recording made with one password is replayed with another one; the longest name comes first."""
    then, now = Hiding([PASSWORD, TOKEN], redact), Hiding(["hunter2", "t0ken"], redact)
    arguments = json.dumps({"text": PASSWORD, "code": TOKEN})
    hidden = then.hidden({"arguments": arguments, "said": f"{PASSWORD} and {TOKEN}"})
    assert hidden == {
        "arguments": '{"text": "[secret:1:json]", "code": "[secret:2]"}',
        "said": "[secret:1] and [secret:2]",
    }
    assert then.restored(hidden) == {"arguments": arguments, "said": f"{PASSWORD} and {TOKEN}"}
    assert now.restored({"said": "[secret:1] and [secret:2]"}) == {"said": "hunter2 and t0ken"}


def test_what_only_the_run_knows_to_be_secret_does_not_come_back() -> None:
    """A key: nobody types it into a page."""
    hiding = Hiding([], redact)
    assert hiding.hidden(["the key sk-key"]) == ["the key [redacted]"]
    assert hiding.restored(["the key [redacted]"]) == ["the key [redacted]"]


def test_a_secret_without_quotes_is_told_by_one_name() -> None:
    """And an empty variable is no secret."""
    hiding = Hiding(["", "plain"], str)
    assert hiding.hidden("a plain text") == "a [secret:2] text"
    assert hiding.restored("[secret:1]") == "[secret:1]"
