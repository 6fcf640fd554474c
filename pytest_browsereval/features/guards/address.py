"""Reads addresses as browsers do, so that a guard and the browser mean the same origin."""

from __future__ import annotations

import re
from urllib.parse import urljoin

_SPECIAL = frozenset({"http", "https", "ws", "wss"})
_BLANK = "".join(map(chr, range(33)))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def read_address(text: str, base: str) -> str:
    """Return an address with the slashes and the host that browsers see in it; absolute if it can be.

    https://url.spec.whatwg.org/#url-parsing: blanks around it and tabs and line breaks in it do not count;
    where the scheme is one of the web's, a backslash is a slash, and any number of them begins the host.

    Args:
        text: the address.
        base: what a relative one belongs to.

    Raises:
        ValueError: it is none.
    """
    text = re.sub(r"[\t\r\n]", "", text.strip().strip(_BLANK))
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    if scheme and scheme not in _SPECIAL:
        return text
    path: str = re.split(r"[?#]", text, maxsplit=1)[0]
    rest, path = text[len(path) :], path.replace("\\", "/")
    if scheme:
        path = f"{scheme}://{path[len(scheme) + 1 :].lstrip('/')}"
    elif path.startswith("//"):
        path = f"//{path.lstrip('/')}"
    return urljoin(base, path + rest)
