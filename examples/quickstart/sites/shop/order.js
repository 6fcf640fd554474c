"use strict";
// The confirmation of one order.
function render() {
  const order = store.read().orders.find((one) => one.number === query.get("number"));
  if (!order) {
    draw(html`<h1>Order not found</h1><p>Check the number, or look at <a href="orders.html">your orders</a>.</p>`);
    return;
  }
  const isNew = order.status === "placed";
  draw(html`<div class="panel thanks">${isNew ? html`<h1>Thank you for your order</h1>` : html`<h1>Order ${order.number}</h1>`}
    <p>Order number <strong id="number">${order.number}</strong> · ${longDate(order.date)} · <span class="badge ${order.status}">${order.status}</span></p>
    ${order.address && html`<p>${DELIVERY[order.delivery].label} delivery to ${order.address.name}, ${order.address.street}, ${order.address.postcode} ${order.address.city}, ${order.address.country}.</p>`}
    ${order.status !== "cancelled" && order.status !== "delivered" && html`<p>Arrives on <strong>${longDate(order.date, DELIVERY[order.delivery].days)}</strong>.</p>`}
    <dl>${order.items.map((item) => html`<div><dt>${item.quantity} × ${productById(item.id).name}</dt><dd>${money(cents(productById(item.id).price * item.quantity))}</dd></div>`)}
      <div class="total"><dt>Total with delivery</dt><dd>${money(order.total)}</dd></div></dl>
    ${order.note && html`<p>Gift note: “${order.note}”</p>`}
    <p><a href="orders.html">All orders</a></p></div>`);
}

render();
