"""A place at a URL that keeps objects: what obstore offers, with errors that say what to do."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import SplitResult, urlsplit

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
    "file": (),
}
"""Variables that have a key, by the scheme of a URL: one of these groups has to be set."""

RETRIES = {"max_retries": 12, "retry_timeout": timedelta(minutes=3)}
"""A throttled bucket asks for patience: with obstore's own settings it would be given up after 4 s."""

CONFLICTS = 20
"""Times that a new object is written which others are said to write, and which never is there."""

_NO_FOLDER = "there is no such bucket or folder. Check the URL."
_SENTENCES = {
    "Unable to canonicalize|NoSuchBucket|^FileNotFoundError": _NO_FOLDER,
    r"(File exists|Not a directory) \(os error": "there is a file where a folder has to be. Check the URL.",
    "SlowDown": "the bucket kept answering 503 (slow down). Try again later.",
    "RequestTimeTooSkewed": "the clock of this machine is wrong. Set it.",
    "InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|40[13] [FU]|^PermissionDenied|^Unauthenticated": (
        "the key is not accepted, or may not do this. Check it, and what it is allowed to do."
    ),
    "dns error|HttpError {": (
        "its server cannot be reached. Check the URL, `AWS_ENDPOINT_URL` and the like, and the network."
    ),
}
"""What codes of stores and classes of obstore mean, as patterns, the most exact first."""


class RemoteError(UsageError):
    """A bucket cannot be used as it has to be."""


class Bucket:
    """A folder at a URL.

    Args:
        url: of it, as it is shown in messages.
        store: obstore's, for paths below the URL.
    """

    def __init__(self, url: str, store: ObjectStore) -> None:
        self.url = url
        self._store = store

    @classmethod
    def open(cls, url: str, environment: Mapping[str, str] = os.environ, *, is_written: bool = False) -> Self:
        """Return the bucket at a URL; nothing is asked of it yet.

        Args:
            url: of a folder in it.
            environment: has the key.
            is_written: whether a local folder is made if it is not there.

        Raises:
            RemoteError: it is not such a URL, there is no key for it, or the extra is not installed.
        """
        parts = _parse(url)
        if parts.scheme != "file":
            _check_key(parts, environment)
        try:
            from obstore.store import from_url
        except ImportError:
            raise RemoteError(
                f"{url}: runs at a URL need an extra. Run `pip install 'pytest-browsereval[remote]'`"
            ) from None
        options: dict[str, Any] = {"mkdir": is_written}
        if parts.scheme != "file":
            options = {"retry_config": RETRIES, "client_options": _client_options(environment)}
        with _explain(url):
            return cls(url.rstrip("/"), from_url(url, **options))

    def put(self, path: str, content: bytes) -> None:
        """Write an object, or write it anew.

        Raises:
            RemoteError: it cannot be written.
        """
        with _explain(self.url):
            run_apart(partial(self._store.put, path, content))

    def put_new(self, path: str, content: bytes) -> bool:
        """Write an object that is not there yet; return whether it is ours.

        An answer that got lost makes obstore write twice, and its second try finds the object of the first:
        the one who finds the very bytes has written them, so they have to be nobody else's. A store may also
        refuse writers who come at once (409): as long as nothing is there, nobody has won.

        Args:
            path: of it.
            content: holds a token of this process.

        Raises:
            RemoteError: it cannot be written.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with _explain(self.url):
            for _ in range(CONFLICTS):
                try:
                    run_apart(partial(self._store.put, path, content, mode="create"))
                except (AlreadyExistsError, PreconditionError):
                    if (found := self.get(path)) is not None:
                        return found == content
                else:
                    return True
        raise RemoteError(f"{self.url}/{path} cannot be written: the bucket says that others write it, too.")

    def get(self, path: str) -> bytes | None:
        """Return an object; None if it is not there.

        Raises:
            RemoteError: it cannot be read.
        """
        with _explain(self.url):
            try:
                return run_apart(lambda: bytes(self._store.get(path).bytes()))
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
                return None

    def list_folders(self, path: str) -> list[str]:
        """Return the names of the folders in one.

        Raises:
            RemoteError: they cannot be listed.
        """
        with _explain(self.url):
            found = run_apart(lambda: self._store.list_with_delimiter(path)["common_prefixes"])
        return sorted(one.rstrip("/").rpartition("/")[2] for one in found)

    def list_all(self, path: str) -> list[str]:
        """Return the paths of all objects below a folder, as seen from it.

        Raises:
            RemoteError: they cannot be listed.
        """
        with _explain(self.url):
            found = run_apart(lambda: [one["path"] for some in self._store.list(path) for one in some])
        return sorted(str(one).partition(f"{path}/")[2] for one in found)

    def delete(self, path: str) -> None:
        """Remove an object.

        Raises:
            RemoteError: it cannot be removed.
        """
        with _explain(self.url):
            run_apart(partial(self._store.delete, path))

    def check_conditions(self) -> None:
        """Check that an object that is there is not written over by who wants a new one.

        Whose try counts rests on it, and some servers ignore the condition.

        Raises:
            RemoteError: it is.
        """
        probe = f".probe-{secrets.token_hex(8)}"
        is_first, is_second = (self.put_new(probe, secrets.token_bytes(8)) for _ in range(2))
        self.delete(probe)
        if not is_first or is_second:
            raise RemoteError(
                f"{self.url}: this store ignores `If-None-Match`, so it cannot tell which of two writers "
                "counts. Take one that knows conditional writes, as S3, Google Cloud Storage and Azure do."
            )


def _parse(url: str) -> SplitResult:
    """Return the parts of a URL, such as ``s3://bucket/folder`` or ``file:///folder``.

    Raises:
        RemoteError: runs cannot lie there; the message has no login, query or fragment of it.
    """
    shown = redact_known(plain_url(url))
    if not url.isprintable():  # `urlsplit` leaves some out in silence, and a terminal obeys others
        raise RemoteError(f"{shown!a} is not the URL of a folder: it has characters that do not print.")
    try:
        parts = urlsplit(url)
        has_login = parts.username is not None or parts.password is not None
    except ValueError:  # its text may have the login
        raise RemoteError(f"{shown!a} is not a URL.") from None
    if has_login:
        raise RemoteError(
            f"a URL must not have a key in it ({parts.scheme}://...@{parts.hostname}): it would be printed "
            "and stored. Put the key into the environment."
        )
    if parts.scheme not in KEYS:
        begins = ", ".join(f"{scheme}://" for scheme in KEYS)
        raise RemoteError(
            f"{shown!a} is not the URL of a folder in which runs can lie. It begins with {begins}."
        )
    is_file = parts.scheme == "file"
    has_place = bool(parts.path.strip("/")) and not parts.netloc if is_file else bool(parts.netloc)
    if not has_place or "?" in url or "#" in url:
        example = "file:///shared/folder" if is_file else f"{parts.scheme}://bucket/folder"
        raise RemoteError(f"{shown!a} is not the URL of a folder. Write `{example}`.")
    return parts


def _check_key(parts: SplitResult, environment: Mapping[str, str]) -> None:
    """Refuse what has no key, before a library asks the cloud's metadata service for one."""
    groups = KEYS[parts.scheme]
    if any(all(environment.get(name) for name in group) for group in groups):
        return
    if environment.get("AWS_EC2_METADATA_DISABLED", "").lower() == "false" and parts.scheme == "s3":
        return
    ways = "; or ".join(" and ".join(group) for group in groups)
    if parts.scheme == "s3":
        ways += ". On a machine with a role of its own set `AWS_EC2_METADATA_DISABLED=false`"
    raise RemoteError(f"there is no key for {parts.geturl()}. Set {ways}.")


def _client_options(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what the HTTP client needs: an endpoint of this machine may be spoken to in plain."""
    endpoint = environment.get("AWS_ENDPOINT_URL") or environment.get("AWS_ENDPOINT") or ""
    is_here = urlsplit(endpoint).hostname in ("localhost", "127.0.0.1", "::1")
    return {"allow_http": is_here or environment.get("AWS_ALLOW_HTTP") == "true", "timeout": "60s"}


@contextmanager
def _explain(url: str) -> Iterator[None]:
    """Have errors of obstore say in one sentence what is wrong.

    Raises:
        RemoteError: in their place.
    """
    try:
        yield
    except RemoteError:
        raise
    except Exception as error:
        if not isinstance(error, OSError) and not type(error).__module__.startswith("obstore"):
            raise
        raise RemoteError(f"{url}: {_sentence(error)}") from None


def _sentence(error: Exception) -> str:
    """Return what an error of obstore comes to: its own text has the server's XML and a trace of Rust."""
    name, text = type(error).__name__, str(error)
    for codes, sentence in _SENTENCES.items():
        if re.search(codes, f"{name}: {text}"):
            return sentence
    lines = [line.strip() for line in redact_known(plain_urls(text)).splitlines() if line.strip()]
    return f"{name}: {one_line(lines[0], 200) if lines else 'without a word'}"  # it may name any object
