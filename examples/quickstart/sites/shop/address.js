"use strict";
// The address of the account, which the checkout fills in.
const LABELS = { name: "Full name", email: "Email", street: "Street address", city: "City", postcode: "Postcode", country: "Country" };

function render() {
  const saved = savedAddress();
  draw(html`<h1>Your address</h1>${NOTICE}<form id="address" class="panel"><div class="fields">${Object.entries(LABELS).map(([name, label]) =>
    html`<p class="field ${name}"><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${saved[name]}" required></p>`)}</div>
    <button class="main">Save address</button></form>`);
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "address") return;
  event.preventDefault();
  store.change((state) => (state.address = Object.fromEntries(new FormData(event.target))));
  say("Your address is saved.");
});

render();
