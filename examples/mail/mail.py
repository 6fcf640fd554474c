"""A mailbox in SQLite: messages, contacts, settings. `python mail.py PORT FOLDER`; FOLDER has `first.sql`."""

import html
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PAGE = """<!doctype html><html lang="en"><title>Mail</title><nav>
<a href="/">Inbox</a> <a href="/?folder=archive">Archive</a> <a href="/?folder=sent">Sent</a>
<a href="/write">Write</a> <a href="/contacts">Contacts</a> <a href="/settings">Settings</a></nav>"""
TABLES = ("messages", "contacts", "settings", "visits")

# By the path that is posted to: the statement that it runs on the fields of the form.
CHANGES = {
    "/archive": "update messages set folder = 'archive' where id = :id",
    "/delete": "delete from messages where id = :id",
    "/send": "insert into messages (folder, sender, recipient, subject, body, unread)"
    " values ('sent', 'me', :recipient, :subject, :body, 0)",
    "/contacts": "insert into contacts (name, email) values (:name, :email)",
    "/contact": "update contacts set email = :email where id = :id",
    "/forget": "delete from contacts where id = :id",
    "/settings": "update settings set value = :value where name = :name",
}


def form(action: str, button: str, hidden: dict[str, Any], fields: dict[str, tuple[str, str]]) -> str:
    """Return a form; `fields` have a label, and what is in them at first, by their names."""
    kept = (
        f'<input type="hidden" name="{name}" value="{html.escape(str(value))}">'
        for name, value in hidden.items()
    )
    shown = (
        f'<p><label>{html.escape(label)} <input name="{name}" value="{html.escape(value)}"></label></p>'
        for name, (label, value) in fields.items()
    )
    inside = "".join((*kept, *shown))
    return f'<form method="post" action="{action}">{inside}<button>{html.escape(button)}</button></form>'


class Handler(BaseHTTPRequestHandler):
    """The pages of the mailbox, and what its forms do."""

    file = Path()

    def ask(self, statement: str, values: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run one statement in a transaction of its own."""
        with closing(sqlite3.connect(self.file)) as database, database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(statement, values or {})]

    def do_GET(self) -> None:
        """Show a page."""
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        if url.path == "/api/state":
            state = {name: self.ask(f"select * from {name}") for name in TABLES}  # noqa: S608 our own names
            return self.answer(json.dumps(state))
        now = datetime.now(UTC).isoformat()
        self.ask("insert into visits values (:path, :at)", {"path": url.path, "at": now})
        pages: dict[str, Callable[..., str]] = {
            "/": self.folder,
            "/message": self.message,
            "/write": self.write,
            "/contacts": self.contacts,
        }
        body = pages.get(url.path, self.settings)(**query)
        return self.answer(PAGE + body)

    def folder(self, folder: str = "inbox") -> str:
        """List the messages of a folder."""
        found = self.ask("select * from messages where folder = :folder order by id", {"folder": folder})
        items = ""
        for one in found:
            link = f'<a href="/message?id={one["id"]}">{html.escape(one["subject"])}</a>'
            items += f"<li>{html.escape(one['sender'])}: {link}</li>"
        return f"<h1>{html.escape(folder.capitalize())}</h1><ul>{items}</ul>"

    def message(self, id: str) -> str:  # noqa: A002 the name in the address
        """Show a message, which has been read then."""
        [one] = self.ask("update messages set unread = 0 where id = :id returning *", {"id": id})
        head = f"<h1>{html.escape(one['subject'])}</h1><p>{html.escape(one['body'])}</p>"
        kept = {"recipient": one["sender"], "subject": f"Re: {one['subject']}"}
        reply = form("/send", "Reply", kept, {"body": ("Your reply", "")})
        return (
            head
            + reply
            + form("/archive", "Archive", {"id": id}, {})
            + form("/delete", "Delete", {"id": id}, {})
        )

    def write(self) -> str:
        """Show the form of a new message."""
        fields = {name: (name.capitalize(), "") for name in ("recipient", "subject", "body")}
        return "<h1>Write</h1>" + form("/send", "Send", {}, fields)

    def contacts(self) -> str:
        """List the people, each with a form."""
        forms = ""
        for one in self.ask("select * from contacts order by id"):
            name, own = one["name"], {"id": one["id"]}
            forms += form("/contact", f"Save {name}", own, {"email": (f"Email of {name}", one["email"])})
            forms += form("/forget", f"Forget {name}", own, {})
        new = form("/contacts", "Add contact", {}, {"name": ("Name", ""), "email": ("Email", "")})
        return f"<h1>Contacts</h1>{forms}{new}"

    def settings(self) -> str:
        """List the settings, each with a form."""
        forms = ""
        for one in self.ask("select * from settings"):
            field = {"value": (one["name"].capitalize(), one["value"])}
            forms += form("/settings", f"Save {one['name']}", {"name": one["name"]}, field)
        return f"<h1>Settings</h1>{forms}"

    def do_POST(self) -> None:
        """Change something, or begin anew."""
        fields = dict(
            parse_qsl(
                self.rfile.read(int(self.headers["Content-Length"] or 0)).decode(), keep_blank_values=True
            )
        )
        if self.path == "/reset":
            begin(self.file)
        else:
            self.ask(CHANGES[self.path], fields)
        self.send_response(303)
        self.send_header(
            "Location",
            "/" if self.path in {"/archive", "/delete", "/send", "/reset"} else self.headers["Referer"],
        )
        self.end_headers()

    def answer(self, text: str) -> None:
        """Send one document."""
        body = text.encode()
        self.send_response(200)
        self.send_header(
            "Content-Type", "application/json" if text.startswith("{") else "text/html; charset=utf-8"
        )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def begin(file: Path) -> None:
    """Bring the database to its first state."""
    with closing(sqlite3.connect(file)) as database:
        tables = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        drops = "".join(f"drop table {name};" for name in tables)
        database.executescript(
            f"begin; {drops} {file.with_name('first.sql').read_text(encoding='utf-8')} commit;"
        )


if __name__ == "__main__":
    Handler.file = Path(sys.argv[2], "mail.db")
    begin(Handler.file)
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
