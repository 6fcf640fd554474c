"""Names of secrets, in any spelling: keys of blocks, environment variables, fields of pages.

There is one list. Where a place differs on purpose, the place is an argument with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal
from urllib.parse import parse_qsl, unquote_plus

Place = Literal["key", "variable", "field"]
"""Where a name stands: a key of a config's block (or an option of a command), an environment variable, or a
header, a parameter or a field of what pages send."""

SHORTEST_SECRET = 6
"""Shorter values are not looked for in texts: ``test`` would vanish from each."""

_PASSWORDS = ("[a-z]*pass_?(?:word|wd|phrase|code)", "[a-z]*pwd", "pw", "pin", "[th]?otp")

_KEYS = "access|account|api|auth|encryption|master|private|secret|shared|signing|subscription"

_NAMES = (
    *_PASSWORDS,
    f"[a-z]*(?:{_KEYS})_?key(?:_?id)?",
    "[a-z]*(?:token|secret|jwt|[cx]srf|sess(?:ion)?_?id)",
    "o?auth|bearer|authentication|authori[sz]ation",
    "credentials?|creds?|signature",
)
"""Words of a name joined by ``_``. Where a letter may stand before a word, names are written in one as well:
``accesstoken``, ``PGPASSWORD``, ``JSESSIONID``."""

_MORE: dict[Place, tuple[str, ...]] = {
    # `must_pass` and `press_key` are options, a `login` is who someone is.
    "key": (),
    # Nobody keeps keys of a keyboard in the environment: `STRIPE_KEY`, `SMTP_PASS`, `SHOP_LOGIN`.
    "variable": ("key", "pass", "login"),
    # A page calls what it knows someone by its session.
    "field": ("pass", "[a-z]*session"),
}

_COOKIES = r"(?:set_?)?cookies?(?:_?\d+)?"

_WORKING_FOLDERS = frozenset({"pwd", "oldpwd"})
"""Variables that every shell sets."""


def _pattern(names: Sequence[str], place: Place) -> re.Pattern[str]:
    inner = "|".join(names)
    if place == "field":  # `password_confirmation`, `token-v2`: pages have other words after it
        return re.compile(rf"(?:^|_)(?:{inner})\d*(?:_|$)|(?:^|_){_COOKIES}$")
    # Of keys and variables the last word says what they are: `max_tokens`, `api_key_env`, `TOKEN_URL`.
    return re.compile(rf"(?:^|_)(?:{inner}|{_COOKIES})(?:_?\d+)?$")


_SECRETS = {place: _pattern((*_NAMES, *more), place) for place, more in _MORE.items()}
_OF_PASSWORDS = _pattern((*_PASSWORDS, "pass"), "field")


def is_secret_name(name: str, place: Place) -> bool:
    """Return whether what stands under this name must not be written.

    Args:
        name: in any spelling: ``apiKey``, ``API_KEY``, ``x-api-key``, ``user[password]``.
        place: where it stands.
    """
    words = _words(name)
    if place == "variable" and words in _WORKING_FOLDERS:
        return False
    return bool(_SECRETS[place].search(words))


def is_password_name(name: str) -> bool:
    """Return whether a field of this name holds what is secret however short it is: a password, a PIN."""
    return bool(_OF_PASSWORDS.search(_words(name)))


def secret_values(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values among environment variables that must not be written wherever they stand."""
    return tuple(
        value
        for name, value in variables.items()
        if len(value) >= SHORTEST_SECRET and is_secret_name(name, "variable")
    )


def header_secrets(headers: Collection[str], query: str = "", *others: str) -> tuple[str, ...]:
    """Return the values of headers, those of a query and others that are long enough to be looked for.

    Of ``Bearer TOKEN`` the token alone is a secret too: servers repeat it in messages.
    """
    given = [*headers, *(word for value in headers for word in value.split()[1:]), *others]
    given += [query, *(value for _, value in parse_qsl(query))]
    return tuple(dict.fromkeys(one for one in given if len(one) >= SHORTEST_SECRET))


def _words(name: str) -> str:
    """Return the words of a name in lower case, joined by ``_``: ``openAIKey`` is ``open_ai_key``."""
    plain = unquote_plus(name)
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
    return re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
