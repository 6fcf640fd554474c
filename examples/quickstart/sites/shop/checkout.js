"use strict";
// The checkout form; an order is placed when every field is right.
const COUNTRIES = ["Denmark", "Finland", "Germany", "Norway", "Sweden"];
const RULES = {
  name: [/\S+ \S+/, "Enter your first and last name."],
  email: [/^[^@\s]+@[^@\s]+\.[^@\s]+$/, "Enter an email address, like name@example.test."],
  street: [/\S/, "Enter your street and number."],
  city: [/\S/, "Enter your city."],
  postcode: [/^\d{4,5}$/, "A postcode has 4 or 5 digits."],
  country: [/\S/, "Choose a country."],
};

function field(name, label, extra = "") {
  return html`<p class="field ${name}"><label for="${name}">${label}</label><input id="${name}" name="${name}" ${raw(extra)}><small id="${name}-error" class="error"></small></p>`;
}

function sumLines() {
  const state = store.read();
  const sums = totals(state, $("[name=delivery]:checked")?.value);
  return html`${state.cart.map((item) => html`<div><dt>${item.quantity} × ${productById(item.id).name}</dt><dd>${money(cents(productById(item.id).price * item.quantity))}</dd></div>`)}
    ${sums.discount > 0 && html`<div class="good"><dt>Discount ${state.coupon}</dt><dd>−${money(sums.discount)}</dd></div>`}
    <div><dt>Delivery</dt><dd>${sums.shipping ? money(sums.shipping) : "Free"}</dd></div>
    <div class="total"><dt>Total</dt><dd>${money(sums.total)}</dd></div>`;
}

function render() {
  if (!store.read().cart.length) {
    draw(html`<h1>Checkout</h1><div class="panel empty"><p>Your cart is empty.</p><a class="main button" href="./">Go shopping</a></div>`);
    return;
  }
  draw(html`<h1>Checkout</h1><div class="cart"><form id="checkout" class="panel" novalidate>
    <div class="head"><h2>Delivery address</h2><button type="button" id="use-saved">Use my saved address</button></div>
    <p id="problems" role="alert"></p>
    <div class="fields">${field("name", "Full name")}${field("email", "Email", 'type="email"')}${field("street", "Street address")}${field("city", "City")}${field("postcode", "Postcode", 'inputmode="numeric"')}
      <p class="field country"><label for="country">Country</label><select id="country" name="country"><option value="">Choose …</option>${COUNTRIES.map((name) => html`<option>${name}</option>`)}</select><small id="country-error" class="error"></small></p></div>
    <fieldset class="options"><legend>Delivery</legend>${Object.entries(DELIVERY).map(([key, { label, price, days }], i) =>
      html`<label><input type="radio" name="delivery" value="${key}" ${!i && "checked"}> ${label} (${money(price)}), arrives ${longDate(today(), days)}</label>`)}</fieldset>
    <p class="field"><label for="note">Gift note</label><input id="note" name="note"></p>
    <p class="options"><label><input type="checkbox" name="terms"> I accept the terms</label> <small id="terms-error" class="error"></small></p>
    <button class="main">Place order</button></form>
    <aside class="panel summary" aria-label="Summary"><h2>Your order</h2><dl id="sums"></dl></aside></div>`);
  $("#sums").innerHTML = sumLines().text;
}

function problemsIn(form) {
  const problems = Object.entries(RULES).filter(([name, [pattern]]) => !pattern.test(form[name].value.trim())).map(([name, [, why]]) => [name, why]);
  if (!form.terms) problems.push(["terms", "Please accept the terms."]);
  return problems;
}

function placeOrder(values) {
  const state = store.read();
  const { delivery, note, terms, ...address } = values;
  const order = { number: "", date: today(), status: "placed", delivery, coupon: state.coupon, ...totals(state, delivery), items: state.cart, address, note: note.trim() };
  order.number = orderNumber(order);
  localStorage.setItem(KEY, JSON.stringify({ ...state, cart: [], coupon: null, orders: [...state.orders, order] }));
  location.href = `order.html?number=${order.number}`;
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "checkout") return;
  event.preventDefault();
  const values = Object.fromEntries(new FormData(event.target));
  const checked = Object.fromEntries(Object.keys(RULES).map((name) => [name, { value: values[name] }]));
  const problems = problemsIn({ ...checked, terms: values.terms });
  for (const name of [...Object.keys(RULES), "terms"]) $(`#${name}-error`).textContent = Object.fromEntries(problems)[name] ?? "";
  $("#problems").textContent = problems.length ? `Please correct ${problems.length} ${problems.length === 1 ? "field" : "fields"}.` : "";
  if (!problems.length) placeOrder(values);
});

document.addEventListener("change", (event) => {
  if (event.target.name === "delivery") $("#sums").innerHTML = sumLines().text;
});

document.addEventListener("click", (event) => {
  if (event.target.id === "use-saved") for (const [name, value] of Object.entries(savedAddress())) $(`#${name}`).value = value;
});

render();
