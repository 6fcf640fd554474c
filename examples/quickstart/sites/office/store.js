"use strict";
// The office's state: one JSON document in localStorage under "office".
const KEY = "office";

const FRESH = {
  version: 1,
  leave: [{ id: "L-101", type: "Annual leave", from: "2026-01-05", to: "2026-01-09", days: 5, status: "approved" }],
  bookings: [
    { id: "B-1", room: "Birch", from: "09:30", to: "10:30", title: "Budget review", code: "4719" },
    { id: "B-2", room: "Cedar", from: "11:00", to: "12:00", title: "Interview", code: "2086" },
    { id: "B-3", room: "Linden", from: "13:00", to: "13:30", title: "Untitled", code: "7351" },
    { id: "B-4", room: "Rowan", from: "15:00", to: "16:30", title: "Release party", code: "9924" },
  ],
  invited: [],
  feedback: null,
  policies: { travel: null },
  board: { todo: ["Order badges", "Renew insurance", "Fix coffee machine"], doing: ["Plan summer party"], done: ["Water the plants"] },
};

const store = {
  read: () => JSON.parse(localStorage.getItem(KEY)),
  change(edit) {
    const state = store.read();
    edit(state);
    localStorage.setItem(KEY, JSON.stringify(state));
    if (typeof render === "function") render();
  },
};

if (!localStorage.getItem(KEY)) localStorage.setItem(KEY, JSON.stringify(FRESH));

// What is shown just now; each page adds its own.
window.appState = { page: location.pathname.split("/").pop().replace(".html", "") || "index" };

const today = () => new Date().toISOString().slice(0, 10);

function longDate(iso) {
  return new Date(`${iso}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
}
