"""A basket in memory: POST /Mug puts one in, DELETE /Mug takes one out, which is 409 where there is none."""

from __future__ import annotations

import sys
from http.server import ThreadingHTTPServer
from pathlib import Path

from pytest_browsereval.local_server import LocalHandler


def main(port: int) -> None:
    """Serve the basket."""
    basket: list[str] = []

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            self.send(200, "text/plain", b"")

        def do_POST(self) -> None:
            basket.append(self.path)
            self.send(200, "text/plain", b"")

        def do_DELETE(self) -> None:
            is_there = self.path in basket
            basket[:] = [one for one in basket if one != self.path]
            self.send(200 if is_there else 409, "text/plain", b"")

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    listed, started = Path("broken.txt"), Path("started.txt")
    if listed.exists() and "dead" in listed.read_text():
        if started.exists():
            sys.exit("it starts only once")
        started.touch()
    main(int(sys.argv[1]))
