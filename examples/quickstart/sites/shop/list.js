"use strict";
// The product list: search, filters, sorting and pages, all of it in the address.
const PAGE_SIZE = 8;
const KEYS = ["q", "category", "min", "max", "stock", "sort", "page"];
const SORTS = {
  featured: ["Featured", () => 0],
  "price-asc": ["Price: low to high", (a, b) => a.price - b.price],
  "price-desc": ["Price: high to low", (a, b) => b.price - a.price],
  rating: ["Best rated", (a, b) => b.rating - a.rating],
  name: ["Name", (a, b) => a.name.localeCompare(b.name, "en")],
};

function address(changes) {
  const params = new URLSearchParams();
  for (const key of KEYS) {
    const value = key in changes ? changes[key] : query.get(key);
    if (value && value !== "featured") params.set(key, value);
  }
  return params.size ? `./?${params}` : "./";
}

function found() {
  const words = (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const [min, max] = [Number(query.get("min") ?? 0), Number(query.get("max") || Infinity)];
  return PRODUCTS.filter((product) => {
    const text = `${product.name} ${product.category} ${product.about}`.toLowerCase();
    return words.every((word) => text.includes(word))
      && (!query.get("category") || product.category === query.get("category"))
      && product.price >= min && product.price <= max
      && (!query.get("stock") || product.stock > 0);
  }).sort((SORTS[query.get("sort")] ?? SORTS.featured)[1]);
}

function card(product) {
  return html`<li class="card">${art(product)}
    <h2><a href="product.html?id=${product.id}">${product.name}</a></h2>
    <p class="rated">${stars(product.rating)} ${product.rating.toFixed(1)}</p>
    <p class="buy"><span class="price">${money(product.price)}</span>${stockBadge(product)}
      ${product.stock > 0 && html`<button class="quick" data-add="${product.id}" aria-label="Add ${product.name} to cart">+</button>`}</p></li>`;
}

function filters() {
  const chosen = query.get("category") ?? "";
  const choice = (value, label) => html`<label><input type="radio" name="category" value="${value}" ${value === chosen && "checked"}> ${label}</label>`;
  return html`<form id="filters" class="panel" aria-label="Filters">
    <fieldset><legend>Category</legend>${choice("", "All products")}${CATEGORIES.map((name) => choice(name, name))}</fieldset>
    <fieldset class="prices"><legend>Price</legend>
      <label>From <input name="min" inputmode="decimal" value="${query.get("min") ?? ""}" aria-label="Minimum price"></label>
      <label>to <input name="max" inputmode="decimal" value="${query.get("max") ?? ""}" aria-label="Maximum price"></label></fieldset>
    <label><input type="checkbox" name="stock" value="1" ${query.get("stock") && "checked"}> In stock only</label>
    <div class="sort"><label for="sort">Sort by</label><select id="sort" name="sort">${Object.entries(SORTS).map(([key, [label]]) =>
      html`<option value="${key}" ${key === query.get("sort") && "selected"}>${label}</option>`)}</select></div>
    <button class="main">Apply filters</button>
    ${location.search && html`<a href="./">Clear all</a>`}</form>`;
}

function pager(pages, page) {
  if (pages < 2) return "";
  return html`<nav class="pager" aria-label="Pages">${page > 1 && html`<a href="${address({ page: page - 1 })}">Previous</a>`}
    <span>Page ${page} of ${pages}</span>${page < pages && html`<a href="${address({ page: page + 1 })}">Next</a>`}</nav>`;
}

function render() {
  const products = found();
  const pages = Math.max(1, Math.ceil(products.length / PAGE_SIZE));
  const page = Math.min(pages, Math.max(1, Number(query.get("page")) || 1));
  const shown = products.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  const title = query.get("q") ? `Results for “${query.get("q")}”` : query.get("category") || "All products";
  draw(html`<div class="shelf">${filters()}<section>
    <div class="bar"><h1>${title}</h1><p id="count">${products.length} ${products.length === 1 ? "product" : "products"}</p></div>
    ${NOTICE}
    ${shown.length ? html`<ul class="cards">${shown.map(card)}</ul>` : html`<p class="panel">Nothing matches. Try fewer words or a wider price range.</p>`}
    ${pager(pages, page)}</section></div>`);
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "filters") return;
  event.preventDefault();
  const wanted = Object.fromEntries(new FormData(event.target));
  location.href = address({ stock: "", ...wanted, page: "" });
});

document.addEventListener("click", (event) => {
  const id = event.target.dataset.add;
  if (!id) return;
  const added = addToCart(id);
  say(added ? `${productById(id).name} added to cart.` : `No more ${productById(id).name} in stock.`);
});

render();
