"""Addresses of servers: whether one is on this machine, and what a connection to it needs."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl


def is_local(url: str) -> bool:
    """Return True if requests to an address stay on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_same_site(url: str, other: str) -> bool:
    """Return True if two addresses are of one site: of one server, or of a domain and a part of it."""
    one, two = urlsplit(url), urlsplit(other)
    if one.netloc == two.netloc:
        return True
    hosts = [(parts.hostname or "").removeprefix("www.") for parts in (one, two)]
    short, long = sorted(hosts, key=len)
    return "." in short and not is_local(url) and (short == long or long.endswith(f".{short}"))


def find_certificates(url: str) -> ssl.SSLContext | bool:
    """Return what a client of ``httpx`` shall ``verify`` with: its own certificates, True, for most.

    To load them takes 30 ms, and without TLS on this machine nobody looks at them. What is returned
    then trusts no certificate at all.
    """
    if urlsplit(url).scheme != "http" or not is_local(url):
        return True
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
