"""Spellings of secrets: quoted, in addresses, in markup, in base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import escape
from itertools import product
from urllib.parse import quote, quote_plus

_SHORTEST = 7
"""Characters; fewer would be found in pictures by chance."""


SHORTEST_TYPED = 4
"""Characters that are left of a secret without blanks; fewer would be found in any text."""

LONG_LINE = 16
"""Characters from which on a line of a secret is one by itself."""

_STAYS = {
    "component": "!'()*",  # encodeURIComponent
    "uri": "!'()*;,/?:@&=+$#",  # encodeURI
    "query": "!$%&()*+,/:;=?@[\\]^`{|}",  # typed after a question mark
    "path": "!$%&()*+,/:;=@[]'",  # typed in a path
    "hash": "!$%&()*+,/:;=?@[\\]^{|}'",  # typed after a hash
}


def list_spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return secrets as they are, quoted by JSON, Python, scripts, URLs and HTML; the longest first.

    A grader quotes an answer in its reasoning; a form sends what was typed in the address; the page's markup,
    with the state in its scripts, is recorded.
    """
    found = set()
    for secret in _with_lines(filter(None, secrets)):
        found |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
        found |= {repr(secret)[1:-1], quote(secret), quote(secret, safe=""), quote_plus(secret)}
        found |= {escape(secret), *spell_for_browsers(secret).values(), *_spell_for_scripts(secret)}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def _with_lines(secrets: Iterable[str]) -> Iterator[str]:
    """Yield secrets, as fields hold them too, and the longer lines of those of several: output has lines."""
    for secret in secrets:
        yield from list_typed_forms(secret)
        lines = [line.strip() for line in secret.splitlines()]
        yield from (line for line in lines if len(lines) > 1 and len(line) >= LONG_LINE)


def list_typed_forms(secret: str) -> set[str]:
    """Return a secret, and what fields of one line and programs make of it that take off blanks around it.

    A secret that was read from a file often ends with a line break.
    """
    lines = [line.strip() for line in secret.splitlines()]
    forms = (secret.strip(), "".join(lines), " ".join(lines))
    return {secret, *(form for form in forms if len(form) >= SHORTEST_TYPED)}


def spell_for_browsers(secret: str) -> dict[str, str]:
    """Return a text as browsers write it into forms, addresses and markup, by the names of these ways."""
    ways = {"form": quote_plus(secret, safe="*").replace("~", "%7E")}
    ways |= {name: quote(secret, safe=stays) for name, stays in _STAYS.items()}
    # Markup: between tags, and in attributes of both ages.
    text = escape(secret, quote=False).replace("\xa0", "&nbsp;")
    ways |= {"text": text, "attribute": text.replace('"', "&quot;")}
    older = secret.replace("&", "&amp;").replace("\xa0", "&nbsp;").replace('"', "&quot;")
    return ways | {"older": older}


_ESCAPED = (
    "",
    "&<>",  # Rails, Go, Django's json_script
    "&<>'",  # Flask's tojson
    "&<>'=",  # Gson
    "&<>'\"",  # PHP with its JSON_HEX flags
    "&<>'\"+`",  # .NET
    "&<>'\"=-;`\\",  # Django's escapejs
)
"""Signs that JSON and scripts in pages have as ``\\u0026``, in addition to those that are not ASCII."""


def _spell_for_scripts(secret: str) -> set[str]:
    """Return a text as servers write it into JSON and scripts of pages; also that in JSON or markup."""
    found: set[str] = set()
    for signs, is_upper, is_ascii, slash in product(_ESCAPED, (False, True), (False, True), ("/", "\\/")):
        table: dict[str, str | int | None] = {"/": slash}
        for one in set(secret) - {"/"}:
            is_escaped = one in signs or (is_ascii and not one.isascii())
            table[one] = _escape(one, is_upper) if is_escaped else json.dumps(one, ensure_ascii=False)[1:-1]
        found.add(secret.translate(str.maketrans(table)))
    escaped = [form for form in found if "\\" in form]
    found |= {json.dumps(form, ensure_ascii=is_ascii)[1:-1] for form in escaped for is_ascii in (False, True)}
    markup = {escape(form) for form in (secret, *found)}
    markup |= {form.replace("&#x27;", "&#39;").replace("&quot;", "&#34;") for form in markup}
    return found | markup | {form.encode("ascii", "xmlcharrefreplace").decode() for form in markup}


def _escape(one: str, is_upper: bool) -> str:  # noqa: FBT001
    """Return a character as one or two escapes of JSON."""
    units = one.encode("utf-16-be", "surrogatepass")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    return "".join(f"\\u{code.upper() if is_upper else code}" for code in codes)


def list_base64_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return what of secrets is the same in base64 no matter what stands next to them, the longest first.

    Three bytes become four characters, so that a secret has three forms, by how much stands before it. A
    character that says something of a neighbour as well is in none of them; at the end of a text the last
    one has no neighbour.
    """
    found: set[str] = set()
    for data in {data for secret in secrets for form in list_typed_forms(secret) for data in _encode(form)}:
        for before in range(3):
            plain = base64.b64encode(bytes(before) + data).decode()
            start = -(-8 * before // 6)
            form = plain[start : 8 * (before + len(data)) // 6]
            if len(form) < _SHORTEST:
                continue
            # Where nothing follows it, the last character is the secret's alone.
            for each in (form, plain[start:], plain[start:].rstrip("=")):
                # In an address both signs of the first are quoted; the second is made for addresses.
                found |= {each, quote(each, safe=""), each.replace("+", "-").replace("/", "_")}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def _encode(text: str) -> Iterator[bytes]:
    """Yield a text as bytes; ``btoa`` of a page knows no others than those of Latin-1."""
    yield text.encode("utf-8", "surrogatepass")
    if not text.isascii():
        with suppress(UnicodeEncodeError):
            yield text.encode("latin-1")
