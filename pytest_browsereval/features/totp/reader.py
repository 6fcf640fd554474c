"""Reads secrets of TOTP, and gives a config what makes their codes."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha1, sha256, sha512
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from pyotp import TOTP

    from pytest_browsereval.config import EvalConfig

_URI = "otpauth://totp/"


class TotpReader:
    """Gives each variable that is a code what makes it."""

    name = "totp"

    def recognises(self, tree: Mapping[str, Any]) -> bool:
        """Whether there are variables, one of which may be a code."""
        return "variables" in tree

    def complete(self, config: EvalConfig) -> EvalConfig:
        """Return the config with its codes.

        Raises:
            ConfigError: a secret is none of TOTP, or the package is missing.
        """
        for name, one in config.variables.items():
            if one is not None:
                try:
                    config.codes[name] = read_totp(one.totp.get_secret_value())
                except ValueError as error:
                    raise config.wrong(("variables", name, "totp"), error) from None
        return config


def read_totp(secret: str) -> TOTP:
    """Return what makes codes.

    Raises:
        ValueError: the package is missing, or it is not a secret of TOTP.
    """
    try:
        import pyotp
    except ImportError:
        raise ValueError("needs a package. Run `pip install 'pytest-browsereval[totp]'`") from None

    class Totp(pyotp.TOTP):
        min_secret_length_bits = 80  # many sites give no more, and it is their choice

    try:
        plain = secret.replace(" ", "")
        head, _, query = plain.partition("?") if "://" in plain else (_URI, "", f"secret={plain}")
        given = dict(parse_qsl(query)) if head.startswith(_URI) else {}
        digits, period = int(given.get("digits", 6)), int(given.get("period", 30))
        digest = {"SHA1": sha1, "SHA256": sha256, "SHA512": sha512}[given.get("algorithm", "SHA1")]
        made = Totp(given["secret"], digits=digits, interval=period, digest=digest)
        made.now()
    except (ValueError, KeyError, ZeroDivisionError):
        raise ValueError(
            "is not a TOTP secret. Write the base 32 text that the site shows next to its QR code, or "
            f"the address in the code, which begins with `{_URI}`."
        ) from None
    return made
