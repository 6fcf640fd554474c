"use strict";
// The frame around every page, and small parts of pages.
function link(url, label, extra = "") {
  const here = location.pathname.split("/").pop() || "index.html";
  const current = (url === "./" ? "index.html" : url) === here;
  return html`<a href="${url}" ${current && raw('aria-current="page"')}>${label}${extra}</a>`;
}

// Draws header, body and footer. Pages call it again whenever the state has changed.
function draw(body) {
  const state = store.read();
  const count = state.cart.reduce((sum, item) => sum + item.quantity, 0);
  document.body.innerHTML = html`
    <header class="top"><div class="wrap">
      <a class="logo" href="./"><img src="icon.svg" alt="" width="34" height="34">Larkspur Goods</a>
      <form class="search" role="search" action="./">
        <input type="search" name="q" aria-label="Search products" placeholder="Search mugs, lamps, seeds …" value="${query.get("q") ?? ""}">
        <button>Search</button>
      </form>
      <nav aria-label="Main">${link("./", "Shop")}${link("orders.html", "Orders")}${link("saved.html", "Saved")}${link("help.html", "Help")}
        <a class="cart-link" href="cart.html">Cart <b>${count}</b></a></nav>
    </div></header>
    <main class="wrap">${body}</main>
    <footer class="wrap">Larkspur Goods · Harbour Lane 4 · Open Monday to Saturday · <a href="address.html">Your address</a></footer>`.text;
}

const say = (text) => ($("#notice").textContent = text);
const NOTICE = raw('<p id="notice" role="status"></p>');

function stars(rating) {
  return html`<span class="stars" role="img" aria-label="${rating.toFixed(1)} out of 5 stars"><span style="width:${(rating / 5) * 100}%">★★★★★</span>★★★★★</span>`;
}

function stockBadge(product) {
  if (!product.stock) return html`<span class="badge out">Out of stock</span>`;
  if (product.stock <= 5) return html`<span class="badge low">${product.stock} left</span>`;
  return html`<span class="badge">In stock</span>`;
}
