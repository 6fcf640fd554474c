"""Runs a verifier of WebArena-Infinity; started by its path, in a process of its own, by any Python.

``python driver.py VERIFIER STATE``: serves the JSON file STATE at ``/api/state`` of a free port of
the loopback, calls ``verify(address)`` of the file VERIFIER, and writes what it returned to
``verdict.json``. What a verifier prints is not read.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

VERDICT = "verdict.json"
STATE = "/api/state"


def serve(body: bytes) -> str:
    """Answer with a state until the process ends, and return the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer with the state, and with status 404 to any other request."""
            # No matter what a verifier adds to the address, there is one state.
            is_state = self.path.partition("?")[0].rstrip("/") == STATE
            answer = body if is_state else b'{"error": "only the state was recorded"}'
            self.send_response(200 if is_state else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def main(verifier: str, state: str) -> None:
    """Call the verifier and write its verdict."""
    spec = importlib.util.spec_from_file_location("verifier", verifier)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{verifier} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    returned = module.verify(serve(Path(state).read_bytes()))
    is_pair = isinstance(returned, (tuple, list)) and len(returned) == 2 and isinstance(returned[0], bool)
    verdict = {
        "passed": returned[0] if is_pair else None,
        "message": str(returned[1] if is_pair else repr(returned)),
    }
    # A file and not the output: verifiers print what they like.
    Path(VERDICT).write_text(json.dumps(verdict), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
