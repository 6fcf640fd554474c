"""A shop with ten switches: below ``/NAME/`` it is broken in that way while ``broken.txt`` lists the name."""

from __future__ import annotations

import json
import sys
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from pytest_browsereval.local_server import LocalHandler

BREAKAGES = (
    "renamed", "removed", "error500", "moved", "flow", "slow", "login", "modal", "price", "api",
)  # fmt: skip

START = '<h1>Shop</h1><a href="mug">Mug</a> <a href="cup">Cup</a> <a href="about">About</a>'
ITEM = """<h1>{item}</h1><p>Price: ${price}.00</p>{field}
<button onclick="add()">{button}</button><p id=note></p>
<script>
async function add() {{
  const field = document.querySelector('input');
  const quantity = Number(field ? field.value : 0);
  if (!(quantity > 0)) {{ note.textContent = 'Give a quantity.'; return; }}
  sessionStorage.cart = JSON.stringify([quantity, {price}]);
  location = 'cart';
}}
</script>"""
CART = """<h1>Cart</h1><p id=cart></p>{terms}
<button id=order onclick="buy()" {off}>Order</button><p id=note></p>
<script>
const [quantity, price] = JSON.parse(sessionStorage.cart || '[0, 0]');
cart.textContent = `${{quantity}} pieces, $${{quantity * price}}.00`;
async function buy() {{
  const answer = await fetch('api', {{method: 'POST', body: JSON.stringify([quantity, price])}});
  note.textContent = answer.ok ? `Order placed: $${{await answer.text()}}.00` : 'Something went wrong.';
}}
</script>"""
MODAL = """<div role=dialog style="position:fixed;inset:0;background:#fff9">
Rate us! <a href="about">Later</a></div>"""
NOTHING = "<h1>Not found</h1>"
INSTEAD = {
    "error500": ("<h1>Internal error</h1>", 500),
    "moved": (NOTHING, 404),
    "login": ("<h1>Log in</h1><label>Password <input type=password></label>", 200),
}
"""What stands in the place of a page."""


def main(port: int, switches: Path) -> None:
    """Serve the shop."""

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            page, broken = self.read_path()
            if page == "cart" and broken == "slow":
                time.sleep(60)
            pages = {"": START, "about": "<h1>About us</h1>", "cart": self.draw_cart(broken)}
            pages |= {one: self.draw_item(one, broken) for one in ("mug", "cup")}
            text, status = pages.get(page, NOTHING), 200 if page in pages else 404
            if page == "mug":
                text, status = INSTEAD.get(broken, (text, status))
            self.answer(text + MODAL * (broken == "modal" and page == "mug"), status)

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            quantity, price = json.loads(self.rfile.read(size) or "[0, 0]")
            is_broken = self.read_path()[1] == "api"
            self.answer("{}" if is_broken else str(quantity * price), 500 if is_broken else 200)

        def read_path(self) -> tuple[str, str]:
            """Return the page, and how it is broken."""
            _, name, page = [*self.path.split("/"), "", ""][:3]
            listed = switches.read_text().split() if switches.exists() else []
            return page, name if name in listed else ""

        def draw_item(self, item: str, broken: str) -> str:
            button = "Put into the basket" if broken == "renamed" else "Add to cart"
            field = "" if broken == "removed" else "<label>Quantity <input></label>"
            price = 6 if broken == "price" else 5
            return ITEM.format(
                item=item.title(), price=price if item == "mug" else 3, field=field, button=button
            )

        def draw_cart(self, broken: str) -> str:
            terms = '<label><input type=checkbox onchange="order.disabled = !this.checked"> I agree</label>'
            return CART.format(terms=terms * (broken == "flow"), off="disabled" * (broken == "flow"))

        def answer(self, text: str, status: int = 200) -> None:
            body = f"<!doctype html><title>Shop</title>{text}".encode() if "<" in text else text.encode()
            self.send(status, "text/html; charset=utf-8", body)

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
