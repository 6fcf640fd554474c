"""The variables that a program of an attempt gets: few of ours, and what its block names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from pytest_browsereval.redaction.names import secret_values
from pytest_browsereval.temporary import read_environment

BASE = (
    *("PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM"),
    *("TMPDIR", "TMP", "TEMP", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_RUNTIME_DIR"),
    *("SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "PROGRAMDATA"),
)
"""What programs need to run at all on Linux, macOS and Windows: no key, and nobody's home."""

_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
_LOOPBACK = "127.0.0.1,localhost"


def environment(names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a program.

    Args:
        names: variables of ours that are passed on besides the base, where they are set.
        given: variables that are set for it.
    """
    ours = read_environment()
    passed = {name: ours[name] for name in (*BASE, *names) if name in ours}
    result = {**passed, **given}
    if _PROXIES & {name.lower() for name in result}:  # our own server is not reached by a proxy
        for name in ("NO_PROXY", "no_proxy"):
            result[name] = ",".join(filter(None, (result.get(name), _LOOPBACK)))
    return result


def secrets_in(names: Iterable[str], given: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values among a program's variables that must never be written."""
    passed = {name: os.environ.get(name, "") for name in names}
    return secret_values({**passed, **given})
