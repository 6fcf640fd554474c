"""Secrets taken out, and put in again where that is possible."""

from __future__ import annotations

import json
from html import escape
from urllib.parse import quote, quote_plus

from pytest_browsereval.features.replay.restoring import RestoringRedactor

PASSWORD, TOKEN = 'pass"word', "pass"


NOW = {"PASSWORD": 'hunter"2', "PIN": "t0ken"}


def redact(text: str) -> str:
    return text.replace("sk-key", "[redacted]")


def test_named_secrets_come_back_with_their_present_values() -> None:
    """A recording made with one password is replayed with another one; the longest name comes first."""
    then = RestoringRedactor({"PASSWORD": PASSWORD, "PIN": TOKEN}, redact)
    now = RestoringRedactor(NOW, redact)
    arguments = json.dumps({"text": PASSWORD, "code": TOKEN})
    hidden = then.redact({"arguments": arguments, "said": f"{PASSWORD} and {TOKEN}"})
    assert hidden == {
        "arguments": '{"text": "[secret:PASSWORD]", "code": "[secret:PIN]"}',
        "said": "[secret:PASSWORD] and [secret:PIN]",
    }
    assert then.restore(hidden) == {"arguments": arguments, "said": f"{PASSWORD} and {TOKEN}"}
    assert now.restore({"said": "[secret:PASSWORD] and [secret:PIN]"}) == {"said": 'hunter"2 and t0ken'}


def test_what_has_no_name_stays_away() -> None:
    """A key, which nobody types into a page, and a name that the config has no more; JSON is quoted again."""
    key = RestoringRedactor({}, redact)
    assert key.restore(key.redact(["the key sk-key"])) == ["the key [redacted]"]
    pin = RestoringRedactor({"PIN": "plain"}, str)
    assert pin.redact("a plain text") == "a [secret:PIN] text"
    assert pin.restore(pin.redact('{"text": "plain"}')) == '{"text": "plain"}'
    assert pin.restore("[secret:OTHER]") == "[secret:OTHER]"


def sent(secret: str) -> dict[str, str]:
    """Return a secret as pages send and show it."""
    return {
        "form": "user=ann&pw=" + quote_plus(secret),
        "url": "https://shop.test/?pw=" + quote(secret, safe="!'()*"),
        "json": json.dumps({"pw": secret}, ensure_ascii=False),
        "ascii": json.dumps({"pw": secret}),
        "markup": f"<b>{escape(secret, quote=False)}</b>",
        "said": secret,
    }


def test_a_secret_comes_back_as_it_was_written() -> None:
    """Else the form that a page sends is not the one that was recorded; with another value too."""
    then = RestoringRedactor({"PW": "p@ss & wörd+1"}, str)
    hidden = then.redact(sent("p@ss & wörd+1"))
    assert "wörd" not in str(hidden)
    assert hidden["form"] == "user=ann&pw=[secret:PW|form]"
    assert then.restore(hidden) == sent("p@ss & wörd+1")
    for secret in ("p@ss word+1", 'pä"ss & wörd', "plain-1"):
        assert RestoringRedactor({"PW": secret}, str).restore(hidden) == sent(secret)


def test_what_is_compared_has_one_mark_for_a_secret() -> None:
    """However it is written: as it is, in JSON, in a form."""
    redactor = RestoringRedactor({"PW": "p@ss wörd"}, str)
    then = ["[secret:PW]", '{"pw": "[secret:PW]"}', "pw=[secret:PW]"]
    now = ["p@ss wörd", json.dumps({"pw": "p@ss wörd"}), "pw=p%40ss+w%C3%B6rd"]
    assert redactor.normalize(redactor.redact(now)) == then == redactor.normalize(then)
