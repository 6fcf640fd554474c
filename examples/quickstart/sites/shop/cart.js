"use strict";
// The cart: quantities, removal, coupon, totals.
function row(item) {
  const product = productById(item.id);
  const counts = Array.from({ length: Math.min(10, product.stock) }, (_, i) => i + 1);
  return html`<tr><td>${art(product)}</td><th scope="row"><a href="product.html?id=${product.id}">${product.name}</a><small>${money(product.price)} each</small></th>
    <td><select data-quantity="${item.id}" aria-label="Quantity of ${product.name}">${counts.map((n) => html`<option ${n === item.quantity && "selected"}>${n}</option>`)}</select></td>
    <td class="price">${money(cents(product.price * item.quantity))}</td>
    <td><button class="plain" data-remove="${item.id}" aria-label="Remove ${product.name}">Remove</button></td></tr>`;
}

function summary(state) {
  const sums = totals(state);
  return html`<aside class="panel summary" aria-label="Summary"><h2>Summary</h2><dl>
    <div><dt>Subtotal</dt><dd>${money(sums.subtotal)}</dd></div>
    ${sums.discount > 0 && html`<div class="good"><dt>Discount</dt><dd>−${money(sums.discount)}</dd></div>`}
    <div><dt>Standard delivery</dt><dd>${sums.shipping ? money(sums.shipping) : "Free"}</dd></div>
    <div class="total"><dt>Total</dt><dd>${money(sums.total)}</dd></div></dl>
    <form id="coupon"><label for="code">Coupon code</label><div class="join"><input id="code" autocomplete="off" value="${state.coupon ?? ""}"><button>Apply</button></div></form>
    ${NOTICE}
    <a class="main button" href="checkout.html">Checkout</a>
    <p class="quiet">Standard delivery is free from ${money(FREE_FROM)}.</p></aside>`;
}

function render() {
  const state = store.read();
  const lines = state.cart.length;
  draw(html`<h1>Your cart</h1>${lines ? html`<div class="cart"><table class="panel lines"><tbody>${state.cart.map(row)}</tbody></table>${summary(state)}</div>`
    : html`<div class="panel empty"><p>Your cart is empty.</p><a class="main button" href="./">Go shopping</a></div>`}`);
}

function applyCoupon(code) {
  const coupon = COUPONS[code];
  const usable = coupon && !(coupon.expired < today());
  store.change((state) => (state.coupon = usable ? code : null));
  if (usable) say(`${code}: ${coupon.text}.`);
  else if (coupon) say(`${code} expired on ${longDate(coupon.expired)}.`);
  else say(code ? `We do not know the coupon ${code}.` : "Coupon removed.");
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "coupon") return;
  event.preventDefault();
  applyCoupon($("#code").value.trim().toUpperCase());
});

document.addEventListener("change", (event) => {
  const id = event.target.dataset.quantity;
  if (id) store.change((state) => (state.cart.find((item) => item.id === id).quantity = Number(event.target.value)));
});

document.addEventListener("click", (event) => {
  const id = event.target.dataset.remove;
  if (id) store.change((state) => (state.cart = state.cart.filter((item) => item.id !== id)));
});

render();
