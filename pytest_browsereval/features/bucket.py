"""URLs of buckets: where the runs of all evals can lie."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from pytest_browsereval.errors import UsageError
from pytest_browsereval.redaction.address import plain_url

SCHEMES = ("s3", "gs", "az", "file")


def parse_bucket(url: str) -> SplitResult:
    """Return the parts of a URL if it is that of a folder in which runs can lie.

    Args:
        url: such as ``s3://bucket/folder`` or ``file:///folder``.

    Raises:
        UsageError: it is not; the message has no login, query or fragment of it.
    """
    if not url.isprintable():  # `urlsplit` leaves some out in silence, and a terminal obeys others
        raise UsageError(
            f"{plain_url(url)!a} is not the URL of a folder: it has characters that do not print."
        )
    try:
        parts = urlsplit(url)
        has_login = parts.username is not None or parts.password is not None
    except ValueError:  # its text may have the login
        raise UsageError(f"{plain_url(url)!a} is not a URL.") from None
    if has_login:
        raise UsageError(
            f"a URL must not have a key in it ({parts.scheme}://...@{parts.hostname}): it would be printed "
            "and stored. Put the key into the environment."
        )
    if parts.scheme not in SCHEMES:
        begins = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise UsageError(
            f"{plain_url(url)!a} is not the URL of a folder in which runs can lie. It begins with {begins}."
        )
    if parts.scheme == "file":
        example, has_place = "file:///shared/folder", bool(parts.path.strip("/")) and not parts.netloc
    else:
        example, has_place = f"{parts.scheme}://bucket/folder", bool(parts.netloc)
    if not has_place or "?" in url or "#" in url:
        raise UsageError(f"{plain_url(url)!a} is not the URL of a folder. Write `{example}`.")
    return parts
