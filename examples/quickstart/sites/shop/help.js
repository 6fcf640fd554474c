"use strict";
// Delivery, returns and repairs.
function render() {
  draw(html`<h1>Help</h1><div class="help">
    <section class="panel"><h2>Delivery</h2><p>Standard delivery takes four days and costs ${money(DELIVERY.standard.price)}; it is free from ${money(FREE_FROM)}. Express delivery arrives on the next day and costs ${money(DELIVERY.express.price)}. We deliver to Denmark, Finland, Germany, Norway and Sweden.</p></section>
    <section class="panel"><h2>Returns</h2><p>You may send anything back within 45 days, in its box if you still have it. Candles and seeds stay with you once they are opened.</p></section>
    <section class="panel"><h2>Repairs</h2><p>Kettles, lamps and clocks are repaired in our workshop for a flat fee of $15.00. Bring them in on a Thursday.</p></section>
    <section class="panel"><h2>Gift wrapping</h2><p>Write a gift note at the checkout and we wrap the parcel in recycled paper, free of charge.</p></section></div>`);
}

render();
