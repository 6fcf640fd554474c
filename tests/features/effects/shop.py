"""A shop with a SQLite database: its pages send statements, and POST /reset brings the first state back."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from pytest_browsereval.local_server import LocalHandler

FIRST = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, user TEXT, sku TEXT, quantity INT, status TEXT);
INSERT INTO orders VALUES (7, 'bob', 'cup', 1, 'open'), (8, 'ada', 'pen', 3, 'open');
CREATE TABLE stock (sku TEXT PRIMARY KEY, "left" INT, updated_at TEXT);
INSERT INTO stock VALUES ('mug', 5, 'then'), ('cup', 9, 'then');
CREATE TABLE log (line TEXT);
CREATE TABLE users (name TEXT PRIMARY KEY, email TEXT, password TEXT);
INSERT INTO users VALUES ('ada', 'ada@shop.test', 'lovelace1815');
"""
STATEMENTS = {
    "Order": "INSERT INTO orders VALUES (9, 'ada', 'mug', 2, 'open'); "
    'UPDATE stock SET "left" = "left" - 2, updated_at = hex(randomblob(4)) WHERE sku = \'mug\'',
    "Order again": "INSERT INTO orders VALUES (10, 'ada', 'mug', 2, 'open')",
    "Order a cup": "INSERT INTO orders VALUES (11, 'ada', 'cup', 2, 'open')",
    "Cancel": "UPDATE orders SET status = 'cancelled' WHERE id = 7",
    "Change": "UPDATE orders SET quantity = 9 WHERE id = 7",
    "Delete": "DELETE FROM orders WHERE id = 7",
    "Log": "INSERT INTO log VALUES ('seen')",
    "Move": "UPDATE users SET email = 'eve@shop.test', password = 'hunter2hunter2' WHERE name = 'ada'",
    "Flutter": "",
}


def flutter(database: Path) -> None:
    """Change the state for as long as the server runs."""
    while True:
        with sqlite3.connect(database, timeout=30) as connection:
            connection.execute('UPDATE stock SET "left" = "left" + 1 WHERE sku = \'cup\'')
        time.sleep(0.02)


def main(database: Path, port: int) -> None:
    """Serve the shop."""

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            if self.path == "/state":
                rows = sqlite3.connect(database).execute("SELECT id, status FROM orders").fetchall()
                self.answer(json.dumps({"orders": [{"id": one, "status": status} for one, status in rows]}))
                return
            buttons = "".join(
                f"<button onclick=\"fetch('/{name}', {{method: 'POST'}}).then((r) => r.text()).then((t) => "
                f"document.querySelector('output').textContent = t)\">{name}</button>"
                for name in STATEMENTS
            )
            self.answer(f"<!doctype html><title>Shop</title>{buttons}<output></output>")

        def do_POST(self) -> None:
            name = self.path[1:].replace("%20", " ")
            if name == "Flutter":
                threading.Thread(target=flutter, args=(database,), daemon=True).start()
            elif name == "reset":
                database.unlink(missing_ok=True)
                sqlite3.connect(database).executescript(FIRST).connection.close()
            else:
                sqlite3.connect(database).executescript(STATEMENTS[name]).connection.close()
            folder = database.with_name("orders")
            folder.mkdir(exist_ok=True)
            for one, status in sqlite3.connect(database).execute("SELECT id, status FROM orders"):
                (folder / f"{one}.json").write_text(json.dumps({"status": status}))
            self.answer(f"Done: {name}")

        def answer(self, text: str) -> None:
            self.send(200, "text/html", text.encode())

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
