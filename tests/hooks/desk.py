"""A desk that takes orders and keeps them on the server: a program for sites of whole runs."""

from __future__ import annotations

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

PAGE = """<title>Desk</title><h1>The desk sells pens.</h1>
<form method=post action=/orders><input name=item><button>Order</button></form>"""


class Desk(BaseHTTPRequestHandler):
    """An order is a form's ``item``, or the body as it is; a POST of ``/reset`` forgets all."""

    orders: tuple[str, ...] = ()

    def say(self, text: str, kind: str = "text/html") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self) -> None:
        if self.path == "/api/state":
            self.say(json.dumps({"orders": Desk.orders}), "application/json")
        else:
            self.say(PAGE)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        ordered = parse_qs(body).get("item", [body])
        Desk.orders = () if self.path == "/reset" else (*Desk.orders, *ordered)
        self.say("<title>Thanks</title>done")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Stay silent."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Desk).serve_forever()
