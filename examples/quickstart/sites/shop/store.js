"use strict";
// The shop's state: one JSON document in localStorage under "shop".
const KEY = "shop";

const FRESH = {
  version: 1,
  cart: [],
  coupon: null,
  saved: [],
  orders: [
    { number: "LG-260114-3307", date: "2026-01-14", status: "delivered", delivery: "standard", total: 64.9,
      items: [{ id: "dinner-plate", quantity: 5 }] },
    { number: "LG-260227-5120", date: "2026-02-27", status: "shipped", delivery: "standard", total: 89,
      items: [{ id: "wool-blanket", quantity: 1 }] },
    { number: "LG-260301-7748", date: "2026-03-01", status: "packing", delivery: "standard", total: 76.5,
      items: [{ id: "fountain-pen", quantity: 1 }, { id: "dotted-notebook", quantity: 3 }] },
  ],
};

const COUPONS = {
  SPRING10: { text: "10 % off everything", percent: 10 },
  FREESHIP: { text: "Free standard delivery", freeStandard: true },
  WELCOME5: { text: "$5 off", expired: "2026-02-28" },
};

const DELIVERY = {
  standard: { label: "Standard", price: 4.9, days: 4 },
  express: { label: "Express", price: 12, days: 1 },
};

const FREE_FROM = 75;

const store = {
  read: () => JSON.parse(localStorage.getItem(KEY)),
  change(edit) {
    const state = store.read();
    edit(state);
    localStorage.setItem(KEY, JSON.stringify(state));
    if (typeof render === "function") render();
  },
};

const SAVED_ADDRESS = { name: "Robin Ekström", email: "robin@larkspur.test", street: "Quay Road 12", city: "Gothenburg", postcode: "41106", country: "Sweden" };

if (!localStorage.getItem(KEY)) localStorage.setItem(KEY, JSON.stringify(FRESH));

// The address that was saved, or the one that the account began with.
const savedAddress = () => store.read().address ?? SAVED_ADDRESS;

const cents = (amount) => Math.round(amount * 100) / 100;
const money = (amount) => `$${amount.toFixed(2)}`;

function longDate(iso, addDays = 0) {
  const date = new Date(`${iso}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + addDays);
  return date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
}

const today = () => new Date().toISOString().slice(0, 10);

// Puts a product into the cart, never more than there are; returns how many were added.
function addToCart(id, quantity = 1) {
  let added = 0;
  store.change((state) => {
    const line = state.cart.find((item) => item.id === id) ?? { id, quantity: 0 };
    added = Math.max(0, Math.min(quantity, productById(id).stock - line.quantity));
    if (!added) return;
    if (!line.quantity) state.cart.push(line);
    line.quantity += added;
  });
  return added;
}

// Makes the cart hold just this: {"stoneware-mug": 2}. For a task's setup_script.
function fillCart(quantities) {
  store.change((state) => {
    state.cart = Object.entries(quantities).map(([id, quantity]) => ({ id, quantity }));
  });
}

function totals(state, delivery = "standard") {
  const coupon = COUPONS[state.coupon] ?? {};
  const subtotal = cents(state.cart.reduce((sum, item) => sum + productById(item.id).price * item.quantity, 0));
  const discount = cents((subtotal * (coupon.percent ?? 0)) / 100);
  const free = delivery === "standard" && (coupon.freeStandard || subtotal - discount >= FREE_FROM);
  const shipping = free || !state.cart.length ? 0 : DELIVERY[delivery].price;
  return { subtotal, discount, shipping, total: cents(subtotal - discount + shipping) };
}

// The same order has the same number, on every machine: a checksum of what was bought.
function orderNumber(order) {
  const text = order.items.map((item) => `${item.id}*${item.quantity}`).join("+") + `=${order.total}`;
  let hash = 2166136261;
  for (const letter of text) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
  return `LG-${today().slice(2).replaceAll("-", "")}-${1000 + (hash % 9000)}`;
}
