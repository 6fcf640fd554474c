"use strict";
// All orders, newest first; one that is still being packed can be cancelled.
function entry(order) {
  return html`<li class="panel order"><div><h2>${order.number}</h2><p class="quiet">${longDate(order.date)}</p></div>
    <p>${order.items.map((item) => `${item.quantity} × ${productById(item.id).name}`).join(", ")}</p>
    <span class="badge ${order.status}">${order.status}</span><span class="price">${money(order.total)}</span>
    <div class="acts"><a href="order.html?number=${order.number}" aria-label="View order ${order.number}">View</a>
      ${order.status === "packing" && html`<button data-cancel="${order.number}" aria-label="Cancel order ${order.number}">Cancel</button>`}</div></li>`;
}

function render() {
  draw(html`<h1>Your orders</h1>${NOTICE}<ul class="orders">${[...store.read().orders].reverse().map(entry)}</ul>`);
}

document.addEventListener("click", (event) => {
  const number = event.target.dataset.cancel;
  if (!number || !confirm(`Cancel order ${number}? This cannot be undone.`)) return;
  store.change((state) => (state.orders.find((order) => order.number === number).status = "cancelled"));
  say(`Order ${number} is cancelled.`);
});

render();
