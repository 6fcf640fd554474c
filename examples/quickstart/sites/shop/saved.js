"use strict";
// Products saved for later.
function render() {
  const saved = store.read().saved.map(productById);
  draw(html`<h1>Saved for later</h1>${NOTICE}${saved.length ? html`<ul class="orders">${saved.map((product) => html`<li class="panel order saved">${art(product)}
    <h2><a href="product.html?id=${product.id}">${product.name}</a></h2>${stockBadge(product)}<span class="price">${money(product.price)}</span>
    <button data-move="${product.id}" aria-label="Move ${product.name} to cart" ${!product.stock && "disabled"}>Move to cart</button></li>`)}</ul>`
    : html`<div class="panel empty"><p>Nothing saved yet.</p></div>`}`);
}

document.addEventListener("click", (event) => {
  const id = event.target.dataset.move;
  if (!id) return;
  addToCart(id);
  store.change((state) => (state.saved = state.saved.filter((one) => one !== id)));
  say(`${productById(id).name} moved to cart.`);
});

render();
