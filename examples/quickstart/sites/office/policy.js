"use strict";
// A document to read and to confirm, in a tab of its own.
const LIMITS = { Gothenburg: [145, 42], Hamburg: [160, 45], Lisbon: [135, 38], Tallinn: [118, 35], "Anywhere else": [125, 36] };

function render() {
  const read = store.read().policies.travel;
  document.body.innerHTML = html`<main class="paper"><h1>Travel policy</h1><p class="lead">Valid from 1 March 2026, version 7</p>
    <h2>Before you book</h2><p>Trips below five hours go by train. Flights need the written consent of your team lead at least 12 days ahead.</p>
    <h2>What we pay</h2><table><thead><tr><th scope="col">City</th><th scope="col">Hotel per night</th><th scope="col">Meals per day</th></tr></thead><tbody>${Object.entries(LIMITS).map(([city, [hotel, meals]]) =>
      html`<tr><th scope="row">${city}</th><td>€${hotel}</td><td>€${meals}</td></tr>`)}</tbody></table>
    <h2>Afterwards</h2><p>Hand in receipts within 20 days. What comes later is not paid.</p>
    <p class="confirm">${read ? html`<span class="chip good" role="status">You confirmed on ${longDate(read)}</span>` : html`<button class="main" id="confirm">I have read this policy</button>`}</p></main>`.text;
}

document.addEventListener("click", (event) => {
  if (event.target.id === "confirm") store.change((state) => (state.policies.travel = today()));
});

render();
