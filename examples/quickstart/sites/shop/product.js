"use strict";
// One product.
const product = productById(query.get("id"));

function buyBox(saved) {
  return html`<div class="buybox">
    ${product.stock > 0 && html`<span><label for="quantity">Quantity</label> <select id="quantity">${[1, 2, 3, 4, 5, 6].filter((n) => n <= product.stock).map((n) => html`<option>${n}</option>`)}</select></span>`}
    <button class="main" id="add" ${!product.stock && "disabled"}>Add to cart</button>
    <button id="save" aria-pressed="${saved ? "true" : "false"}">${saved ? "Saved" : "Save for later"}</button></div>`;
}

function reviews() {
  if (!product.reviews) return html`<p class="quiet">Nobody has written a review yet.</p>`;
  return html`<ul class="reviews">${product.reviews.map((review) => html`<li>${stars(review.stars)} <b>${review.by}</b><p>${review.text}</p></li>`)}</ul>`;
}

function render() {
  if (!product) {
    draw(html`<h1>Product not found</h1><p>It may have been sold out for good. <a href="./">Back to the shop</a></p>`);
    return;
  }
  document.title = `${product.name} · Larkspur Goods`;
  draw(html`<nav class="crumbs" aria-label="Breadcrumb"><a href="./">Shop</a> › <a href="./?category=${product.category}">${product.category}</a> › ${product.name}</nav>
    <div class="product"><div class="frame">${art(product)}</div><section>
      <h1>${product.name}</h1>
      <p class="rated">${stars(product.rating)} ${product.rating.toFixed(1)}</p>
      <p class="big"><span class="price">${money(product.price)}</span> ${stockBadge(product)}</p>
      <p>${product.about}</p>
      ${buyBox(store.read().saved.includes(product.id))}
      <div class="said">${NOTICE}<a href="cart.html">View cart</a></div>
      <table class="details"><caption>Details</caption><tbody>${Object.entries(product.details).map(([key, value]) => html`<tr><th scope="row">${key}</th><td>${value}</td></tr>`)}</tbody></table>
    </section></div>
    <section class="panel"><h2>Reviews</h2>${reviews()}</section>`);
}

document.addEventListener("click", (event) => {
  if (event.target.id === "add") {
    const wanted = Number($("#quantity").value);
    const added = addToCart(product.id, wanted);
    say(added ? `${added} × ${product.name} added to cart.` : "You have all that we have in your cart already.");
  }
  if (event.target.id === "save") {
    store.change((state) => {
      const rest = state.saved.filter((id) => id !== product.id);
      state.saved = rest.length < state.saved.length ? rest : [...rest, product.id];
    });
  }
});

render();
