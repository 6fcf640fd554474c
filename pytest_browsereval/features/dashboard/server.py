"""Serves the dashboard from a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.dashboard.app import Dashboard
from pytest_browsereval.features.dashboard.feed import Watched
from pytest_browsereval.local_server import HOST, UVICORN

if TYPE_CHECKING:
    from uvicorn import Server

# What the extra `dashboard` installs.
NEEDS = ("starlette", "uvicorn")

# Pages get the last events within this time; a page that hangs does not hold pytest up.
CLOSE_S = 5.0

_BACKLOG = 64


def check_extra() -> None:
    """Check that the libraries are installed; they are not imported.

    Raises:
        UsageError: one is missing.
    """
    if lacking := [name for name in NEEDS if find_spec(name) is None]:
        verb = "is" if len(lacking) == 1 else "are"
        raise UsageError(
            f"--eval-dashboard needs {' and '.join(lacking)}, which {verb} not installed. Run "
            "`pip install 'pytest-browsereval[dashboard]'`."
        )


class DashboardServer:
    """The dashboard of a session, from its start to its end.

    To import uvicorn and starlette takes a third of a second. A run without an open page does not pay it: the
    thread waits for the first connection, and imports them only then.

    Args:
        runs: returns the runs that there are.
        port: where to listen; 0 takes a free port.

    Raises:
        UsageError: a library is missing, or the port is taken.
    """

    def __init__(self, runs: Callable[[], Sequence[Watched]], port: int = 0) -> None:
        check_extra()
        try:
            self._listener = socket.create_server((HOST, port), backlog=_BACKLOG)
        except (OSError, OverflowError) as error:
            message = getattr(error, "strerror", None) or str(error)
            raise UsageError(
                f"--eval-dashboard={port}: the port cannot be used: {message}. Name another one, or none for "
                "a free one."
            ) from None
        self.dashboard = Dashboard(runs, self._listener.getsockname()[1])
        self.url = self.dashboard.access.url
        self._bell, self._ringer = socket.socketpair()
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closing = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="browsereval-dashboard", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send open pages the last events, and close the port."""
        with self._lock:
            self._is_closing = True
            if self._loop is not None:
                with contextlib.suppress(RuntimeError):  # it has just ended
                    self._loop.call_soon_threadsafe(self._end)
        with contextlib.suppress(OSError):
            self._ringer.send(b".")
        self._thread.join(CLOSE_S)

    # -- in the thread

    def _run(self) -> None:
        try:
            if self._is_asked():
                asyncio.run(self._serve())
        finally:
            for one in (self._listener, self._bell, self._ringer):
                one.close()

    def _is_asked(self) -> bool:
        """Wait for the first connection; False if the session ends before."""
        with selectors.DefaultSelector() as selector:
            for one in (self._listener, self._bell):
                selector.register(one, selectors.EVENT_READ)
            return all(key.fileobj is self._listener for key, _ in selector.select())

    async def _serve(self) -> None:
        import uvicorn

        config = uvicorn.Config(self.dashboard.app(), http="h11", **UVICORN)
        with self._lock:
            if self._is_closing:
                return
            self._server, self._loop = uvicorn.Server(config), asyncio.get_running_loop()
        await self._server.serve(sockets=[self._listener])

    def _end(self) -> None:
        """Let streams send the last events, and end the server with them."""
        assert self._server is not None  # noqa: S101 set with the loop
        for feed in self.dashboard.feeds:
            with contextlib.suppress(Exception):  # the run is recorded: an error of its page must not fail it
                feed.catch_up()
        self._server.should_exit = True
