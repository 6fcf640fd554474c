"""A desk that takes orders and keeps them on the server: a program for sites of whole runs."""

from __future__ import annotations

import json
import os
from urllib.parse import parse_qs

from pytest_browsereval.local_server import LocalHandler, LocalServer

PAGE = """<title>Desk</title><h1>The desk sells pens.</h1>
<form method=post action=/orders><input name=item><button>Order</button></form>"""


class Desk(LocalHandler):
    """An order is a form's ``item``, or the body as it is; a POST of ``/reset`` forgets all."""

    orders: tuple[str, ...] = ()

    def do_GET(self) -> None:
        if self.path == "/api/state":
            self.send(200, "application/json", json.dumps({"orders": Desk.orders}).encode())
        else:
            self.send(200, "text/html", PAGE.encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        ordered = parse_qs(body).get("item", [body])
        Desk.orders = () if self.path == "/reset" else (*Desk.orders, *ordered)
        self.send(200, "text/html", b"<title>Thanks</title>done")


if __name__ == "__main__":
    LocalServer(Desk, int(os.environ["PORT"])).serve_forever()
