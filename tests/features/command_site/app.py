"""A small site with a state: ``app.py PORT [WORD...]``; each word makes it misbehave in one way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

PORT, WORDS = int(sys.argv[1]), sys.argv[2:]
STATE = {"visits": 0, "resets": 0}


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class App(BaseHTTPRequestHandler):
    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self) -> None:
        if self.path == "/visit":
            STATE["visits"] += 1
        if self.path == "/die":
            say("last words")
            os._exit(9)
        if self.path == "/health" and "ill" in WORDS:
            self.answer(503, "ill")
            return
        self.answer(200, f"pid={os.getpid()} visits={STATE['visits']} resets={STATE['resets']}")

    def do_POST(self) -> None:
        STATE["visits"] = 0
        STATE["resets"] += 1
        self.answer(500 if "unresettable" in WORDS else 204, "")

    def log_message(self, *_: object) -> None:
        say("request", self.path)


def main() -> None:
    if "child" in WORDS:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        Path("child.pid").write_text(str(child.pid))
        Path("app.pid").write_text(str(os.getpid()))
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "broken" in WORDS:
        say("\n".join(f"line {number}" for number in range(30)), "\x1b[31mred\x1b[0m")
        sys.exit(3)
    if "mute" in WORDS:
        say("not listening")
        time.sleep(300)
    say("words", WORDS, "secret", os.environ.get("SECRET"), "port", os.environ["PORT"])
    try:
        server = HTTPServer(("127.0.0.1", PORT), App)
    except OSError:
        time.sleep(300 if "patient" in WORDS else 0)
        raise
    threading.Thread(target=server.serve_forever).start()


main()
