"""Which servers are on this machine, and which certificates a client of theirs loads."""

from __future__ import annotations

import ssl

import pytest

from pytest_browsereval.addresses import find_certificates, is_local

LOCAL = (
    "http://127.0.0.1:1/v1",
    "http://127.8.0.1",
    "http://[::1]:1/v1",
    "http://localhost/v1",
    "http://a.localhost",
)
ELSEWHERE = ("http://10.0.0.1/v1", "http://localhost.example/v1", "http://0x7f.example", "http://")


def test_loopback_addresses_are_local(subtests: pytest.Subtests) -> None:
    """Only what stays on this machine is local."""
    for url, expected in [(url, True) for url in LOCAL] + [(url, False) for url in ELSEWHERE]:
        with subtests.test(url=url, expected=expected):
            assert is_local(url) is expected


@pytest.mark.parametrize("url", LOCAL)
def test_without_tls_nobody_is_trusted(url: str) -> None:
    """A redirect from this machine's own port to ``https`` finds no certificate that is good enough."""
    context = find_certificates(url)
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert not context.get_ca_certs()
