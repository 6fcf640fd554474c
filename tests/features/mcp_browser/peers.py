"""Packages from npm: axe, and MCP servers of others, pointed at the Chromium of this machine."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_browsereval.browsers.binary import candidates

PINNED = {"@playwright/mcp": "0.0.83", "chrome-devtools-mcp": "1.11.0", "axe-core": "4.14.1"}
INSTALL_S = 240
PATIENCE_S = 60.0
OLDEST_NODE = {20: 19, 22: 12}
"""What chrome-devtools-mcp runs on, by major version; newer ones do."""


def installed(config: pytest.Config) -> Path:
    """Return the folder of the packages, installed once and kept. Fail without npm: who asks wants them."""
    assert has_npm(), "there is no npm, or no node"
    assert config.cache
    cache = config.cache.mkdir("mcp-peers")
    modules = cache / "node_modules"
    if any(_version(modules / name) != version for name, version in PINNED.items()):
        wanted = [f"{name}@{version}" for name, version in PINNED.items()]
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        done = subprocess.run(
            ["npm", "install", "--prefix", str(cache), *options, *wanted],
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return modules


def _version(package: Path) -> str | None:
    file = package / "package.json"
    return str(json.loads(file.read_text())["version"]) if file.is_file() else None


def chromium(*, is_shell: bool = False) -> str:
    """Return a full Chromium, as most users have; or the headless shell, which starts in half the time."""
    found = [each for each in candidates() if each.is_headless_shell is is_shell]
    path = next((each.path for each in found if each.path), None)
    if path is None and is_shell:
        return chromium()
    if path is None:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            path = Path(playwright.chromium.executable_path)
    return str(path)


def playwright_mcp(programs: Path, *more: str, is_shell: bool = False) -> list[str]:
    """Return the command of Playwright's server."""
    browser = chromium(is_shell=is_shell)
    options = ["--headless", "--isolated", "--no-sandbox", "--executable-path", browser]
    return [str(programs / "playwright-mcp"), *options, *more]


def devtools_mcp(programs: Path, *, is_shell: bool = False) -> list[str]:
    """Return the command of Chrome's server, its statistics off; skips where Node is too old for it."""
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = map(int, told.strip().lstrip("v").split(".")[:2])
    if minor < OLDEST_NODE.get(major, 0 if major > max(OLDEST_NODE) else 10**6):
        pytest.skip(f"chrome-devtools-mcp needs Node 20.19, 22.12 or newer; here is {told.strip()}")
    options = ["--headless", "--isolated", "--no-usage-statistics", "--no-performance-crux"]
    options += ["--executablePath", chromium(is_shell=is_shell), "--chromeArg=--no-sandbox"]
    return [str(programs / "chrome-devtools-mcp"), *options]


@contextmanager
def served(command: list[str], folder: Path) -> Iterator[str]:
    """Run Playwright's server over HTTP; gives its address. It answers to the name localhost only."""
    process, port = _listening(command, folder)
    try:
        yield f"http://localhost:{port}"
    finally:
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
        process.kill()
        process.wait()


def _listening(command: list[str], folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start the server; again if another program has got its port, or anything else has ended it."""
    for _ in range(5):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        process = subprocess.Popen([*command, "--port", str(port)], cwd=folder)
        deadline = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < deadline:
            if _listens(process.pid, port):
                return process, port
            time.sleep(0.05)
        process.kill()
        process.wait()
    raise AssertionError("the server does not listen")


def _listens(pid: int, port: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            found = each.net_connections("tcp")
            if any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in found):
                return True
    return False


def browser_block(command: list[str], **more: Any) -> dict[str, Any]:
    """Return the block of a browser with a server for each attempt."""
    return {"type": "mcp", "command": command, **more}


def has_npm() -> bool:
    """Return whether programs can be installed."""
    return shutil.which("npm") is not None and shutil.which("node") is not None
