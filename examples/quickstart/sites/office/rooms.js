"use strict";
// Today's bookings; what is done to them goes through alert, confirm and prompt.
appState.last = null;

function line({ id, room, from, to, title }) {
  return html`<tr><th scope="row">${room}</th><td>${from} to ${to}</td><td>${title}</td><td class="acts">
    <button data-code="${id}" aria-label="Door code of ${room}">Door code</button><button data-rename="${id}" aria-label="Rename ${room}">Rename</button>
    <button data-cancel="${id}" aria-label="Cancel ${room}">Cancel</button></td></tr>`;
}

function render() {
  draw(html`<h1>Rooms</h1>${NOTICE}<section class="panel"><h2>Today's bookings</h2><table class="rooms"><thead><tr><th scope="col">Room</th><th scope="col">Time</th><th scope="col">Title</th><th></th></tr></thead>
    <tbody>${store.read().bookings.map(line)}</tbody></table></section>`);
}

function done(text, result) {
  appState.last = result;
  say(text);
}

const ACTS = {
  code({ room, code }) {
    alert(`The door code of ${room} is ${code}.`);
    done(`You have seen the door code of ${room}.`, { act: "code", room });
  },
  rename({ id, room, title }) {
    const wanted = prompt(`A new title for ${room}:`, title);
    if (!wanted?.trim()) return done(`${room} keeps its title.`, { act: "rename", room, accepted: false });
    store.change((state) => (state.bookings.find((one) => one.id === id).title = wanted.trim()));
    done(`${room} is now called “${wanted.trim()}”.`, { act: "rename", room, accepted: true });
  },
  cancel({ id, room, title }) {
    if (!confirm(`Cancel “${title}” in ${room}?`)) return done(`${room} stays booked.`, { act: "cancel", room, accepted: false });
    store.change((state) => (state.bookings = state.bookings.filter((one) => one.id !== id)));
    done(`${room} is free again.`, { act: "cancel", room, accepted: true });
  },
};

document.addEventListener("click", ({ target }) => {
  for (const [act, id] of Object.entries(target.dataset)) ACTS[act]?.(store.read().bookings.find((one) => one.id === id));
});

render();
