"""Which names are those of secrets: one rule, in every spelling, at every place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_browsereval.redaction.names import (
    SHORTEST_SECRET,
    Place,
    is_password_name,
    is_secret_name,
    secret_values,
)
from pytest_browsereval.redaction.spellings import SHORTEST_TYPED, list_typed_forms

PLACES: tuple[Place, ...] = ("key", "variable", "field")

EVERYWHERE = (
    *("api key", "x api key", "open ai api key", "access key", "access key id", "secret access key"),
    *("secret key", "auth key", "private key", "subscription key", "account key", "shared key"),
    *("signing key", "encryption key", "master key"),
    *("token", "access token", "refresh token", "id token", "session token", "auth token", "csrf token"),
    *("x auth token", "amz security token", "csrf", "xsrf", "jwt", "bearer", "secret", "client secret"),
    *("password", "user password", "passwd", "user pwd", "passphrase", "passcode", "pin", "card pin"),
    *("otp", "totp", "authorization", "proxy authorization", "auth", "basic auth", "credential"),
    *("credentials", "cookie", "cookies", "set cookie", "session id", "signature", "db pw", "mysql pwd"),
    *("authentication", "creds"),
)  # fmt: skip

NOWHERE = (
    *("max tokens", "input tokens", "tokenizer", "keys", "keyboard", "secretary", "author", "authority"),
    *("passed", "compass", "spin", "pinned", "mapping", "opinion", "sessions", "jot", "bear", "design"),
    *("query", "name", "page", "path", "hotkeys", "monkeys", "cookbook", "option", "total", "typo", "pwdx"),
)


def spellings(words: str) -> Iterator[str]:
    """Yield a name as it is written in configs, environments, headers, forms and JSON."""
    first, *rest = words.split()
    yield from ("_".join([first, *rest]), "-".join([first, *rest]), ".".join([first, *rest]))
    yield first + "".join(word.capitalize() for word in rest)
    yield "".join(word.capitalize() for word in [first, *rest])
    yield "-".join(word.capitalize() for word in [first, *rest])
    yield "_".join([first, *rest]).upper()
    yield f"user[{'_'.join([first, *rest])}]"
    yield f"user%5B{'_'.join([first, *rest])}%5D"


def test_usual_names_are_secrets_at_every_place(subtests: pytest.Subtests) -> None:
    """In camel case, kebab case, snake case and capitals, with a number behind them and words before them."""
    for place in PLACES:
        for words in EVERYWHERE:
            with subtests.test(place=place, words=words):
                for name in spellings(words):
                    assert is_secret_name(name, place), name
                snake = words.replace(" ", "_")
                for name in (f"{snake}_2", f"{snake}2", f"SHOP_{snake.upper()}", f"{snake.upper()}2"):
                    assert is_secret_name(name, place), name


def test_foreign_names_are_no_secrets(subtests: pytest.Subtests) -> None:
    """Names that only look like one of a secret keep their values."""
    for place in PLACES:
        for words in NOWHERE:
            with subtests.test(place=place, words=words):
                assert not any(is_secret_name(name, place) for name in spellings(words))


GLUED = (
    *("apikey", "APIKEY", "openAIKey", "APIKey", "accesstoken", "PGPASSWORD", "JSESSIONID", "PHPSESSID"),
    *("sessid", "csrfmiddlewaretoken", "clientsecret", "authkey", "privatekey", "secretAccessKey"),
    *("AccessKeyID", "passWord", "dbpasswd", "userPwd", "xsrf-token", "__Host-csrf", "authenticity_token"),
    *("oauth", "OAuthToken", "authorisation", "AUTHTOKEN"),
)  # fmt: skip


def test_words_may_be_written_in_one(subtests: pytest.Subtests) -> None:
    """Where no other word ends so, a name needs no sign between its words."""
    for name in GLUED:
        with subtests.test(name=name):
            at = ("variable",) if name == "openAIKey" else PLACES
            assert [place for place in at if not is_secret_name(name, place)] == []


def test_differences_between_places_are_meant(subtests: pytest.Subtests) -> None:
    """A variable is not a field, and neither is a key; the module says why."""
    cases: list[tuple[str, list[Place]]] = [
        ("stripe_key", ["variable"]),  # a key of the keyboard elsewhere
        ("SMTP_PASS", ["variable", "field"]),  # `must_pass` is a rule of a gate
        ("shop_login", ["variable"]),  # in replies that is who somebody is
        ("session", ["field"]),
        ("usersession", ["field"]),
        ("PWD", ["key", "field"]),  # the working folder of every shell
        ("OLDPWD", ["key", "field"]),
        ("password_confirmation", ["field"]),
        ("token-v2", ["field"]),
        ("session_id_old", ["field"]),
        ("api_key_env", ["field"]),  # the last word of a key says what it is: here a variable's name
        ("TOKEN_URL", ["field"]),
        ("cookie_banner", []),
        ("set-cookie2", ["key", "variable", "field"]),
    ]
    for name, places in cases:
        with subtests.test(name=name, places=places):
            assert [place for place in PLACES if is_secret_name(name, place)] == places


def test_passwords_are_known_among_fields() -> None:
    """They are hidden however short they are; tokens that are short are kinds of token."""
    known = (
        "password",
        "userPassword",
        "passwd",
        "pwd",
        "pass",
        "pin",
        "otp",
        "totp",
        "passphrase",
        "user[pw]",
    )
    assert [name for name in known if not is_password_name(name)] == []
    other = ("token", "token_type", "session", "auth", "spin", "passed", "compass", "bypass", "secret")
    assert [name for name in other if is_password_name(name)] == []


def test_a_long_name_takes_no_time() -> None:
    """Pages send what they like: names are looked at in one pass."""
    for place in PLACES:
        assert not is_secret_name("a" * 200_000, place)
        assert is_secret_name("a_" * 50_000 + "token", place)


def test_a_secret_may_be_as_short_as_the_shortest() -> None:
    """One of a variable, and one that a field takes blanks from; what is shorter is none."""
    value, typed = "x" * SHORTEST_SECRET, "x" * SHORTEST_TYPED
    assert secret_values({"API_KEY": value, "OTHER_KEY": value[1:]}) == (value,)
    assert list_typed_forms(f" {typed}") == {f" {typed}", typed}
    assert list_typed_forms(f" {typed[1:]}") == {f" {typed[1:]}"}
