"""Tokens that let a program use the tools of one attempt, and no other one's."""

from __future__ import annotations

import secrets

_PREFIX = secrets.token_hex(16)


def new_token() -> str:
    """Return a token for one attempt. All tokens of this process begin alike."""
    return _PREFIX + secrets.token_hex(16)


def common_part() -> str:
    """Return what all tokens of this process begin with: redacting it makes any of them useless."""
    return _PREFIX
