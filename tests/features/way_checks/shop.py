"""A shop whose server answers: pages, an API, redirects, a form, a worker, a frame."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHOP = """<!doctype html><title>Shop</title><h1>Shop</h1>
<script>
const send = (path, body, more) => fetch(path, {method: 'POST', body: JSON.stringify(body),
  headers: {'content-type': 'application/json'}, ...more}).then((r) => r.text())
  .then(() => { document.querySelector('output').textContent = 'Sent ' + path; });
let mug = 0;
</script>
<button onclick="send('/api/orders', {items: [{id: 'cup', quantity: 1}], card: '4111'})">Order a cup</button>
<button onclick="send('/api/orders', {items: [{id: 'mug', quantity: 2}]})">Order a mug</button>
<button onclick="send('/api/empty', {a: 1})">Save</button>
<button onclick="send('/api/moved', {a: 1})">Move</button>
<button onclick="history.pushState({}, '', '/cart/new?x=1#top')">Cart</button>
<button onclick="new Worker('/worker.js')">Work</button>
<button onclick="window.open('/popup')">Open</button>
<button onclick="navigator.sendBeacon('/beacon', 'seen')">Beacon</button>
<button onclick="const f = new FormData(); f.append('a', new Blob(['x']), 'x.txt');
  fetch('/upload', {method: 'POST', body: f})">Upload</button>
<button onclick="fetch('/upload2', {method: 'POST', body: new Blob(['x'])})">Blob</button>
<button onclick="fetch('/logout', {method: 'POST'})">Log out</button>
<form method="post" action="/buy"><label>Quantity <input name="quantity"></label>
<label>Secret <input type="password" name="secret"></label>
<button>Buy</button></form><a href="/away">Away</a><output></output>
<iframe src="/frame"></iframe>"""

FORM = """<!doctype html><title>Form</title>
<label>Name <input name="name"></label><label for="c">Country</label>
<select id="c"><option value="de">Germany<option value="fr">France</select>
<label>Sizes <select multiple><option value="s">Small<option value="l">Large</select></label>
<label><input type="checkbox"> Newsletter</label>
<fieldset><legend>Shipping</legend><label><input type="radio" name="s" value="e"> Express</label>
<label><input type="radio" name="s" value="n"> Normal</label></fieldset>
<div contenteditable role="textbox" aria-label="Note"></div>
<div role="switch" aria-checked="true" tabindex="0" aria-label="Dark mode"></div>
<input placeholder="Search"><label>Password <input type="password"></label>
<label>Twice <input value="1"></label><label>Twice <input value="2"></label>
<label>Gone <input value="old" hidden></label><label>Gone <input value="new"></label>"""


WORKER = """self.oninstall = () => skipWaiting(); self.onactivate = (e) => e.waitUntil(clients.claim());
const send = (path, body) => fetch(path, {method: 'POST', body});
self.onfetch = (e) => e.respondWith(e.request.headers.get('x-change')
  ? send('/api/b', 'x').then(() => send('/api/a', 'y')) : fetch(e.request));"""


class Handler(BaseHTTPRequestHandler):
    """Answers by path."""

    def do_GET(self) -> None:
        if self.path == "/worker.js":
            self.answer(200, "fetch('/from-worker', {method: 'POST', body: 'hello'})", "text/javascript")
        elif self.path == "/sw.js":
            self.answer(200, WORKER, "text/javascript")
        elif self.path == "/away":
            self.answer(302, "", location="/landed")
        elif self.path == "/form":
            self.answer(200, FORM)
        else:
            self.answer(200, SHOP if self.path == "/" else f"<title>{self.path}</title>here")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/api/moved":
            self.answer(307, "", location="/api/orders2")
        elif self.path == "/api/empty":
            self.answer(204, "")
        else:
            self.answer(201 if self.path.startswith("/api") else 200, f"<title>{self.path}</title>thanks")

    def answer(self, status: int, text: str, kind: str = "text/html", location: str = "") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        if location:
            self.send_header("location", location)
        if status != 204:
            self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
