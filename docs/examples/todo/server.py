"""A to-do list to try agents on: pages, a log-in, state as JSON, and a reset. `python server.py PORT`."""

from __future__ import annotations

import base64
import html
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

FIRST = {"Buy milk": False, "Call Ada": True}
BASIC = f"Basic {base64.b64encode(b'ada:rosebud').decode()}"
todos = dict(FIRST)

LIST = """<!doctype html><title>To-do</title><h1>To-do</h1>
<p role="status">{open} open</p>
<ul>{items}</ul>
<form method="post" action="/add"><label>New task <input name="name"></label> <button>Add</button></form>"""
ITEM = """<li><form method="post" action="/toggle">{name}: {state}
<button name="name" value="{name}">{action} {name}</button></form></li>"""
LOGIN = """<!doctype html><title>Log in</title><h1>Log in</h1>
<form method="post" action="/login"><label>User <input name="user"></label>
<label>Password <input name="password" type="password"></label> <button>Log in</button></form>"""


class Handler(BaseHTTPRequestHandler):
    """The paths of the list; `/private` and `/staging` show the list behind a log-in and basic auth."""

    def do_GET(self) -> None:
        """Show a page, or the state."""
        if self.path == "/api/todos":
            self.answer(json.dumps({"todos": todos}), "application/json")
        elif self.path == "/staging" and self.headers.get("Authorization") != BASIC:
            self.answer("Unauthorized", status=401)
        elif self.path == "/private" and "user=ada" not in self.headers.get("Cookie", ""):
            self.answer(LOGIN)
        else:
            items = "".join(
                ITEM.format(
                    name=html.escape(name, quote=True),
                    state="done" if is_done else "open",
                    action="Reopen" if is_done else "Finish",
                )
                for name, is_done in todos.items()
            )
            self.answer(LIST.format(open=list(todos.values()).count(False), items=items))

    def do_POST(self) -> None:
        """Change the list, or log in."""
        form = parse_qs(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
        name = form.get("name", [""])[0]
        if self.path == "/reset":
            todos.clear()
            todos.update(FIRST)
        elif self.path == "/login" and form.get("password") != ["rosebud"]:
            self.answer(LOGIN, status=403)
            return
        elif self.path == "/add" and name:
            todos[name] = False
        elif self.path == "/toggle" and name in todos:
            todos[name] = not todos[name]
        self.send_response(303)
        if self.path == "/login":
            self.send_header("Set-Cookie", f"user={form['user'][0]}; Path=/; HttpOnly")
        self.send_header("Location", "/private" if self.path == "/login" else "/")
        self.end_headers()

    def answer(self, text: str, media_type: str = "text/html; charset=utf-8", status: int = 200) -> None:
        """Send one document."""
        body = text.encode()
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="staging"')
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
