"""A site that a command serves: started on a free port, waited for, reset, and ended with all it started."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.errors import ConfigError, ErrorSource, Fault
from pytest_browsereval.features.command_site.folder import copy_data, find_misfit
from pytest_browsereval.features.command_site.output import SiteOutput
from pytest_browsereval.features.shared.process import end_supervised
from pytest_browsereval.features.shared.processes import supervise_command
from pytest_browsereval.sites.base import Site
from pytest_browsereval.sites.settings import DATA, RESTART, SiteConfig, check_folder

if TYPE_CHECKING:
    from httpx import AsyncClient

# The supervisor gets this long to end after that. It ends by itself and leaves nothing behind; to kill it
# because the machine is busy would leave the site running.
_LEASH_S = 15.0

# Below the ephemeral ports, which systems give to any program that asks for a free one.
_PORTS = range(20_000, 30_000)
_PORTS_LOOKED_AT = 20
_PORTS_TRIED = 3
_ANSWER_S = 5.0
_ENDING_S = 1.0
_CLOSED = "was closed while it was needed"
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.25
_PLACEHOLDER = re.compile(r"\{(python|port|data)\}")


class CommandSite(Site):
    """One process of a site's command, on a port of its own.

    Args:
        name: the site's name, for messages.
        config: its block in the config.
        base_dir: the folder of the config.
        log: the file that its output is appended to; None keeps it in a nameless one.
        redact: takes secrets out of its output.
        withheld: files and folders that no copy of its data has.
    """

    def __init__(
        self,
        name: str,
        config: SiteConfig,
        base_dir: Path,
        log: Path | None,
        redact: Callable[[str], str] = str,
        *,
        withheld: Sequence[Path] = (),
    ) -> None:
        self._name = name
        self._config = config
        self._base_dir = base_dir
        self._withheld = withheld
        self._data: Path | None = None
        """The copy of its data, while it runs."""
        self._log = log
        self._redact = redact
        self._port = 0
        self._last_answer = ""
        self._output: SiteOutput | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._client: AsyncClient | None = None

    @staticmethod
    def check(name: str, config: SiteConfig, base_dir: Path) -> None:
        """Refuse a site that cannot work on this machine.

        Raises:
            ConfigError: a folder or the program is missing, or its data cannot be copied.
        """
        if config.data is not None:
            template = base_dir / config.data
            why = find_misfit(template) if template.is_dir() else "is not a folder"
            if why is not None:
                raise ConfigError(
                    f"sites.{name}.data is {str(config.data)!r}, and {str(template)!r} {why}. Allowed: a "
                    f"folder, relative to {str(base_dir)!r}, of files, folders and links that stay in it."
                )
        folder = check_folder(f"sites.{name}.cwd", config.cwd, config, base_dir)
        program = _fill(config, data=base_dir / (config.data or ""))[0]
        given = str(folder / program) if os.path.dirname(program) else program  # noqa: PTH120 a Path drops ./
        if shutil.which(given, path=config.env.get("PATH")) is None:
            raise ConfigError(
                f"sites.{name}.command begins with {(config.command or ())[0]!r}, which is neither a program "
                f"on PATH nor one in {str(folder)!r}. Allowed: a program that can be executed, or {{python}} "
                "for the Python that runs pytest. Install it, or write its path."
            )

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def data(self) -> Path | None:
        """The copy of its data, while it runs."""
        return self._data

    async def start(self) -> None:
        """Start the command and wait until it answers; a port that was snatched away is given up."""
        for chance in range(1, _PORTS_TRIED + 1):
            try:
                if self._config.data is not None:
                    self._data = await self._copy_data(self._base_dir / self._config.data)
                with _claim_port() as claim:
                    self._port = claim.getsockname()[1]
                    self._launch()
                    await self._until_healthy()
            except Fault:
                was_snatched = self.has_ended and _is_taken(self._port)
                await self.close()
                if chance == _PORTS_TRIED or not was_snatched:
                    raise
            except BaseException:
                await self.close()
                raise
            else:
                return

    async def reset(self) -> None:
        """Send the reset request and wait until the site is healthy again."""
        if self._config.reset is None or self._config.reset == RESTART:
            return
        method, _, path = self._config.reset.partition(" ")
        answer = await self._ask(method, path, self._config.health_timeout_s)
        if answer is None or answer >= 400:
            raise self._fault(f"was not reset by {method} {self.url}{path} ({self._last_answer})")
        await self._until_healthy()

    @property
    def has_ended(self) -> bool:
        """True once the process has ended."""
        return self._process is not None and self._process.poll() is not None

    async def trouble(self) -> str | None:
        """Return how the site was lost, with its last output; None while a process listens on its port."""
        process = self._process  # close() may come between two steps
        if process is None:
            return self._describe_failure(_CLOSED)
        if not self.has_ended and await self._ask("GET", self._config.health, _ANSWER_S) is not None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):  # the exit code follows the silence
            await asyncio.to_thread(process.wait, _ENDING_S)
        if self._process is not None and not self.has_ended:
            if await _is_listened_to(self._port):
                return None  # slow, but there
            with contextlib.suppress(subprocess.TimeoutExpired):  # a busy machine takes its time to end it
                await asyncio.to_thread(process.wait, _LEASH_S)
        if self._process is None:
            return self._describe_failure(_CLOSED)
        return self._describe_failure("was lost while it was needed")

    async def close(self) -> None:
        """End the process and what it has started."""
        process, self._process = self._process, None
        client, self._client = self._client, None
        output, self._output = self._output, None
        data, self._data = self._data, None
        try:
            if process is not None:
                await end_supervised(process, self._config.stop_timeout_s + _LEASH_S)
        finally:
            if output is not None:
                await asyncio.to_thread(output.close)
            if client is not None:
                with contextlib.suppress(OSError, RuntimeError):
                    await client.aclose()
            if data is not None:
                await asyncio.to_thread(shutil.rmtree, data, ignore_errors=True)

    # -- the process

    async def _copy_data(self, template: Path) -> Path:
        try:
            return await asyncio.to_thread(copy_data, template, [one.resolve() for one in self._withheld])
        except OSError as error:
            raise self._fault(f"cannot be started, because its data cannot be copied: {error}") from error

    def _launch(self) -> None:
        """Start the command on its port; as quick as asyncio's own, which forks on the loop as well.

        asyncio's would kill the supervisor when its loop is lost, before that has ended the site.
        """
        import httpx

        # Loopback only: no proxy, no certificates, and no kept connection that a site may have dropped.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.AsyncClient(trust_env=False, verify=False, limits=limits)  # noqa: S501 plain http
        try:
            self._output = SiteOutput(self._log, self._redact)
            self._process = subprocess.Popen(  # noqa: S603 the config's own command
                # Which removes the copy of the data as well: it is there when this process is killed.
                supervise_command(
                    _fill(self._config, self._port, self._data or DATA),
                    self._config.stop_timeout_s,
                    folder=None if self._data is None else str(self._data),
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self._config.folder(self._base_dir, self._data),
                env=self._config.environment(self._port, self._data or DATA),
                start_new_session=True,  # Ctrl-C is for pytest; the site ends when its supervisor is let go
            )
        except OSError as error:
            raise self._fault(f"cannot be started: {error}") from error
        if self._process.stdout is not None:
            self._output.follow(self._process.stdout)

    async def _until_healthy(self) -> None:
        limit_s, pause_s = self._config.health_timeout_s, _FIRST_PAUSE_S
        question = f"GET {self.url}{self._config.health}"
        try:
            async with asyncio.timeout(limit_s):
                while (await self._ask("GET", self._config.health, _ANSWER_S) or 500) >= 500:
                    if self.has_ended:
                        raise self._fault(f"ended before it answered {question}")
                    await asyncio.sleep(pause_s)
                    pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
            if self.has_ended:  # it was another program that answered
                raise self._fault(f"ended before it answered {question}")
        except TimeoutError:
            what = f"was not ready within {limit_s:g} s: {question} ({self._last_answer or 'no answer'})"
            raise self._fault(what) from None

    async def _ask(self, method: str, path: str, limit_s: float) -> int | None:
        """Return the status of an answer, or None where there is none; both are remembered for messages."""
        import httpx

        if self._client is None:
            raise self._fault(_CLOSED)
        try:
            answer = await self._client.request(method, self.url + path, timeout=limit_s)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self._last_answer = f"{type(error).__name__}: {error}"
            return None
        self._last_answer = f"status {answer.status_code}"
        return answer.status_code

    # -- messages

    def _fault(self, what: str) -> Fault:
        return Fault(ErrorSource.SITE, self._describe_failure(what))

    def _describe_failure(self, what: str) -> str:
        code = self._process.poll() if self._process else None
        state = "Its process had not ended" if code is None else f"Its process ended with exit code {code}"
        lines = self._output.last_lines(has_ended=code is not None) if self._output else []
        rule = "it has to listen on 127.0.0.1 at the port in {port} or the variable PORT"
        folder = self._config.folder(self._base_dir, self._data)
        head = [
            f"The site {self._name!r} {what}. {state}; {rule}.",
            f"  command: {_fill(self._config, self._port, self._data or DATA)!r} in {str(folder)!r}",
            f"  its last {len(lines)} lines:" if lines else "  it printed nothing",
        ]
        return "\n".join([*head, *(f"    {line}" for line in lines)])


def _fill(config: SiteConfig, port: int | str = "{port}", data: Path | str = DATA) -> list[str]:
    """Return the command with its placeholders filled in."""
    values = {"python": sys.executable, "port": str(port), "data": str(data)}
    return [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in config.command or ()]


def _claim_port() -> socket.socket:
    """Return a socket of UDP whose port is free: until it is closed, no other site takes that port."""
    for port in (*(secrets.choice(_PORTS) for _ in range(_PORTS_LOOKED_AT)), 0):
        claim = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as listener, contextlib.suppress(OSError):
            claim.bind(("127.0.0.1", port))
            listener.bind(claim.getsockname())
            return claim
        claim.close()
    raise Fault(ErrorSource.SITE, "No port is free.")


def _is_taken(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False


async def _is_listened_to(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
