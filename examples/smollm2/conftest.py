"""Starts the model for the session."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
READY_S = 120.0
"""How long the model may take to load, on a machine that is busy."""
ENDING_S = 10.0


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


# Before the config is read, which names the variable. An address of your own is left alone.
OWN_PORT = None if "SMOLLM2_URL" in os.environ else _free_port()
os.environ.setdefault("SMOLLM2_URL", f"http://127.0.0.1:{OWN_PORT}/v1")


@pytest.fixture(scope="session", autouse=True)
def model() -> Iterator[None]:
    """Run the server for as long as tasks do."""
    if OWN_PORT is None:
        yield
        return
    command = [sys.executable, str(HERE / "serve.py"), str(OWN_PORT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:  # noqa: S603 our own
        try:
            _wait_until_ready(server)
            yield
        finally:
            server.terminate()
            try:
                server.wait(ENDING_S)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_until_ready(server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.fail(f"the model's server ended with exit code {server.returncode}; see README.md")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{OWN_PORT}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"the model was not ready within {READY_S:g} s")
