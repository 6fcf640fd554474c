"""A place at a URL that keeps objects: what obstore offers, with errors that say what to do."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.threads import run_apart
from pytest_browsereval.model.display import one_line
from pytest_browsereval.redaction.address import plain_url, plain_urls
from pytest_browsereval.redaction.known import redact_known

if TYPE_CHECKING:
    from obstore.store import ObjectStore

KEYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "s3": (
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE",),
        ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
    ),
    "gs": (("GOOGLE_APPLICATION_CREDENTIALS",), ("GOOGLE_SERVICE_ACCOUNT",), ("GOOGLE_SERVICE_ACCOUNT_KEY",)),
    "az": (
        ("AZURE_STORAGE_ACCOUNT_KEY",),
        ("AZURE_STORAGE_SAS_TOKEN",),
        ("AZURE_CLIENT_ID", "AZURE_TENANT_ID"),
    ),
}
"""Variables that have a key, by the scheme of a URL: one of these groups has to be set."""

RETRIES = {"max_retries": 12, "retry_timeout": timedelta(minutes=3)}
"""A throttled bucket asks for patience: with obstore's own settings it would be given up after 4 s."""

CONFLICTS = 20
"""Times that a new object is written which others are said to write, and which never is there."""

_URL = re.compile(r"(s3|gs|az)://[^/@?#]+(/[^?#]*)?|file:///+[^/?#][^?#]*")
_SENTENCES = {
    "Unable to canonicalize|NoSuchBucket|^FileNotFoundError": (
        "there is no such bucket or folder. Check the URL."
    ),
    r"(File exists|Not a directory) \(os error": "there is a file where a folder has to be. Check the URL.",
    "InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|40[13] [FU]|^PermissionDenied|^Unauthenticated": (
        "the key is not accepted, or lacks a permission. Check the key, its permissions, and this "
        "machine's clock."
    ),
    "dns error|HttpError {": (
        "its server cannot be reached. Check the URL, `AWS_ENDPOINT_URL` and the like, and the network."
    ),
}
"""What codes of stores and classes of obstore mean, as patterns, the most exact first."""

Result = TypeVar("Result")


class RemoteError(UsageError):
    """A bucket cannot be used as it has to be."""


class Bucket:
    """A folder at a URL. What its store refuses raises ``RemoteError``.

    Args:
        url: of it, as it is shown in messages.
        store: obstore's, for paths below the URL.
    """

    def __init__(self, url: str, store: ObjectStore) -> None:
        self.url = url
        self._store = store

    @classmethod
    def open(cls, url: str, *, is_written: bool = False) -> Self:
        """Return the bucket at a URL; nothing is asked of it yet.

        Args:
            url: of a folder in it.
            is_written: whether a local folder is made if it is not there.

        Raises:
            RemoteError: it is not such a URL, there is no key for it, or the extra is not installed.
        """
        _check_url(url)
        try:
            from obstore.store import from_url
        except ImportError:
            how = "Run `pip install 'pytest-browsereval[remote]'`"
            raise RemoteError(f"{url}: runs at a URL need an extra. {how}") from None
        options: dict[str, Any] = {"mkdir": is_written}
        if not url.startswith("file:"):
            options = {"retry_config": RETRIES, "client_options": _client_options()}
        return cls(url.rstrip("/"), _ask(url, partial(from_url, url, **options)))

    def put(self, path: str, content: bytes) -> None:
        """Write an object, or write it anew."""
        _ask(self.url, partial(self._store.put, path, content))

    def put_new(self, path: str, content: bytes) -> bool:
        """Write an object that is not there yet; return whether it is ours.

        An answer that got lost makes obstore write twice, and its second try finds the object of the first:
        the one who finds the very bytes has written them, so they have to be nobody else's. A store may also
        refuse writers who come at once (409): as long as nothing is there, nobody has won.

        Args:
            path: of it.
            content: holds a token of this process.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def write() -> bool:
            try:
                self._store.put(path, content, mode="create")
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

        for _ in range(CONFLICTS):
            if _ask(self.url, write):
                return True
            if (found := self.get(path)) is not None:
                return found == content
        raise RemoteError(f"{self.url}/{path} cannot be written: the bucket says that others write it too.")

    def get(self, path: str) -> bytes | None:
        """Return an object; None if it is not there."""

        def read() -> bytes | None:
            try:
                return bytes(self._store.get(path).bytes())
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
                return None

        return _ask(self.url, read)

    def list_folders(self, path: str) -> list[str]:
        """Return the names of the folders in one."""
        found = _ask(self.url, lambda: self._store.list_with_delimiter(path)["common_prefixes"])
        return sorted(one.rstrip("/").rpartition("/")[2] for one in found)

    def list_all(self, path: str) -> list[str]:
        """Return the paths of all objects below a folder, as seen from it."""
        found = _ask(self.url, lambda: [one["path"] for some in self._store.list(path) for one in some])
        return sorted(str(one).partition(f"{path}/")[2] for one in found)

    def check_conditions(self) -> None:
        """Check that an object that is there is not written over by who wants a new one.

        Whose try counts rests on it, and some servers ignore the condition.

        Raises:
            RemoteError: it is.
        """
        probe = f".probe-{secrets.token_hex(8)}"
        is_first, is_second = (self.put_new(probe, secrets.token_bytes(8)) for _ in range(2))
        _ask(self.url, partial(self._store.delete, probe))
        if not is_first or is_second:
            how = "Use one with conditional writes, such as S3, Google Cloud Storage or Azure."
            raise RemoteError(f"{self.url}: this store ignores `If-None-Match`. {how}")


def _check_url(url: str) -> None:
    """Refuse what is not the URL of a folder, and one without a key in the environment.

    A library would ask the cloud's metadata service for a key, and wait.

    Raises:
        RemoteError: it is refused; the message has no login, query or fragment of it.
    """
    if not (match := _URL.fullmatch(url)) or not url.isprintable():  # a terminal obeys other characters
        raise RemoteError(
            f"{redact_known(plain_url(url))!a} is not the URL of a folder for runs. Write "
            "s3://bucket/folder, gs://bucket/folder, az://account/container/folder or "
            "file:///shared/folder. Put the key into the environment: a URL is printed and stored."
        )
    groups, has_role = KEYS.get(match[1], ()), os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower()
    if not groups or any(all(map(os.environ.get, group)) for group in groups):
        return
    if match[1] == "s3" and has_role == "false":
        return
    ways = "; or ".join(" and ".join(group) for group in groups)
    if match[1] == "s3":
        ways += ". On a machine with a role of its own set `AWS_EC2_METADATA_DISABLED=false`"
    raise RemoteError(f"there is no key for {url}. Set {ways}.")


def _client_options() -> dict[str, Any]:
    """Return what the HTTP client needs: an endpoint of this machine may be spoken to in plain."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
    is_here = urlsplit(endpoint).hostname in ("localhost", "127.0.0.1", "::1")
    return {"allow_http": is_here or os.environ.get("AWS_ALLOW_HTTP") == "true", "timeout": "60s"}


def _ask(url: str, work: Callable[[], Result]) -> Result:
    """Return what a call of obstore returns, made in a thread for which nobody waits.

    Raises:
        RemoteError: in the place of its errors, whose texts have the server's XML and a trace of Rust.
    """
    try:
        return run_apart(work)
    except Exception as error:
        if not isinstance(error, OSError) and not type(error).__module__.startswith("obstore"):
            raise
        text = f"{type(error).__name__}: {error}"
        said = next((sentence for codes, sentence in _SENTENCES.items() if re.search(codes, text)), None)
        first = redact_known(plain_urls(text)).splitlines()[0]  # it may name any object
        raise RemoteError(f"{url}: {said or one_line(first, 200)}") from None
