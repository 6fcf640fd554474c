"use strict";
// Cards that are dragged from column to column.
const COLUMNS = { todo: "To do", doing: "Doing", done: "Done" };

function column([key, label]) {
  const cards = store.read().board[key];
  return html`<section class="panel column" id="${key}" aria-label="${label}"><h2>${label} <small>${cards.length}</small></h2>${cards.map((card) => html`<div class="card" draggable="true">${card}</div>`)}</section>`;
}

function render() {
  draw(html`<h1>Board</h1><p class="lead">Drag a card to the column where it belongs.</p>${NOTICE}<div class="columns three">${Object.entries(COLUMNS).map(column)}</div>`);
}

document.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", event.target.textContent));

document.addEventListener("dragover", (event) => {
  if (event.target.closest(".column")) event.preventDefault();
});

document.addEventListener("drop", (event) => {
  const to = event.target.closest(".column")?.id;
  if (!to) return;
  event.preventDefault();
  const card = event.dataTransfer.getData("text/plain");
  if (!Object.values(store.read().board).flat().includes(card)) return;
  store.change(({ board }) => {
    for (const key of Object.keys(board)) board[key] = board[key].filter((one) => one !== card);
    board[to].push(card);
  });
  say(`“${card}” is in ${COLUMNS[to]}.`);
});

render();
