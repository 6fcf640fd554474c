"""The odd MCP server as tests use it: how it is started, what its tools are for, who is left of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig
from tests.browsers.listening import Kept
from tests.features.mcp_browser import odd_server

PROGRAM = [sys.executable, odd_server.__file__]
USES: dict[str, Any] = {
    "navigate": {"tool": "go", "arguments": {"address": "{url}"}},
    "snapshot": {"tool": "look", "pattern": r"^At (?P<url>\S+)"},
    "screenshot": {"tool": "draw", "arguments": {"kind": "{format}"}},
    "close": "leave",
}
PATIENCE_S = 30.0


def over_stdio(**more: Any) -> McpBrowserConfig:
    """Return the block of a browser with a server for each attempt."""
    block = {"command": [*PROGRAM, "stdio"], "tools": USES, "connect_timeout_s": 30, **more}
    return McpBrowserConfig.model_validate(block).prepare(Path.cwd())


@contextmanager
def served(folder: Path, **env: str) -> Iterator[str]:
    """Run the server over HTTP; gives its address, with no path."""
    port_file = folder / "port"
    port = Kept()  # else another program may listen there once the server has ended
    command = [*PROGRAM, "http", str(port_file), str(port.number)]
    process = subprocess.Popen(command, env={**os.environ, **env})
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not port_file.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port.number}"
    finally:
        port_file.unlink(missing_ok=True)
        process.kill()
        process.wait()
        port.__exit__()


def over_http(url: str, **more: Any) -> McpBrowserConfig:
    """Return the block of the browser of a server that runs."""
    return McpBrowserConfig.model_validate({"url": url, "tools": USES, **more}).prepare(Path.cwd())


def servers_of(process: psutil.Process) -> list[psutil.Process]:
    """Return the servers over standard input that a process has started, by way of their leashes."""
    return [child for child, line in below(process).items() if {odd_server.__file__, "stdio"} <= {*line[:3]}]


def below(process: psutil.Process) -> dict[psutil.Process, list[str]]:
    """Return what a process has started, however far below it, with the command lines."""
    found = {}
    for child in process.children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            found[child] = child.cmdline()
    return found
