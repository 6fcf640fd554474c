"use strict";
// Tabs, questions that fold, and a policy that opens in a tab of its own.
const TABS = {
  Today: html`<ul><li><b>09:30</b> Budget review, Birch</li><li><b>12:15</b> Lunch walk, meet at the front desk</li><li><b>15:00</b> Release party, Rowan</li></ul>`,
  "This week": html`<ul><li><b>Tuesday</b> Window cleaning on floors 2 and 3</li><li><b>Wednesday</b> Fire drill at 14:20</li><li><b>Friday</b> The canteen closes at 13:00</li></ul>`,
  Notices: html`<ul><li>The lift on the east side is out of order until 11 March.</li><li>Parking permits for April are handed out by Wanja Schulz.</li><li>Lost: a green umbrella. Found: two left gloves.</li></ul>`,
};

const QUESTIONS = {
  "How do guests get on the network?": "Join “Northgate Guest” with the password quiet-heron-52. It changes every month.",
  "Who repairs my laptop?": "The service desk on floor 1, weekdays from 8:00 to 16:00, extension 1404.",
  "Where do I put my bicycle?": "In the cellar. The ramp is behind the loading bay; the gate opens with your badge.",
  "How do I order business cards?": "Write to the workplace team. A box of 100 takes nine working days.",
};

Object.assign(appState, { tab: "Today", open: [] });

function render() {
  const read = store.read().policies.travel;
  draw(html`<h1>Good morning, Robin</h1><p class="lead">Monday, ${longDate(today())}</p>
    <div class="columns"><section class="panel"><div role="tablist" aria-label="What is on" class="tabs">${Object.keys(TABS).map((name) =>
      html`<button role="tab" id="tab-${name}" aria-selected="${String(name === appState.tab)}">${name}</button>`)}</div>
      <div role="tabpanel" class="tabpanel" aria-label="${appState.tab}">${TABS[appState.tab]}</div></section>
    <section class="panel"><h2>Policies</h2><p>Travel rules changed on 1 March. Please read them before you book.</p>
      <p><a href="policy.html" target="_blank">Travel policy (opens a new tab)</a></p>
      <p id="policy-state" class="chip ${read ? "good" : "warn"}">${read ? `Read on ${longDate(read)}` : "Not read yet"}</p></section></div>
    <section class="panel"><h2>Questions</h2>${Object.entries(QUESTIONS).map(([question, answer], i) => html`<div class="fold">
      <button aria-expanded="${String(appState.open.includes(i))}" data-fold="${i}">${question}</button>${appState.open.includes(i) && html`<p>${answer}</p>`}</div>`)}</section>`);
}

document.addEventListener("click", (event) => {
  const { fold } = event.target.dataset;
  if (event.target.role === "tab") appState.tab = event.target.textContent;
  else if (fold !== undefined) appState.open = appState.open.includes(+fold) ? appState.open.filter((i) => i !== +fold) : [...appState.open, +fold];
  else return;
  render();
});

addEventListener("storage", render);
render();
