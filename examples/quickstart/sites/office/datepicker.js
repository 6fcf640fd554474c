"use strict";
// A calendar of our own: a read-only box, a button, a month to leaf through.
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const picker = { open: null, month: "2026-03", values: {} };

const iso = (year, month, day) => new Date(Date.UTC(year, month, day)).toISOString().slice(0, 10);

function shiftMonth(by) {
  const [year, month] = picker.month.split("-").map(Number);
  picker.month = iso(year, month - 1 + by, 1).slice(0, 7);
}

function calendar(label) {
  const [year, month] = picker.month.split("-").map(Number);
  const blanks = (new Date(Date.UTC(year, month - 1, 1)).getUTCDay() + 6) % 7;
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const days = Array.from({ length }, (_, i) => iso(year, month - 1, i + 1));
  return html`<div class="calendar" role="dialog" aria-label="${label}"><div class="month">
    <button type="button" data-shift="-1" aria-label="Previous month">‹</button><b aria-live="polite">${MONTHS[month - 1]} ${year}</b>
    <button type="button" data-shift="1" aria-label="Next month">›</button></div>
    <div class="days">${["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"].map((name) => html`<i>${name}</i>`)}${Array(blanks).fill(raw("<span></span>"))}
    ${days.map((day) => html`<button type="button" data-day="${day}" aria-label="${longDate(day)}" aria-pressed="${String(picker.values[picker.open] === day)}" ${day < today() && "disabled"}>${Number(day.slice(8))}</button>`)}</div></div>`;
}

function dateField(name, label) {
  const value = picker.values[name];
  return html`<div class="field date"><label for="${name}">${label}</label><div class="join"><input id="${name}" readonly placeholder="Not chosen" value="${value ? longDate(value) : ""}">
    <button type="button" data-pick="${name}" aria-expanded="${String(picker.open === name)}" aria-label="Choose ${label.toLowerCase()}">▾</button></div>
    ${picker.open === name && calendar(`Choose ${label.toLowerCase()}`)}<small id="${name}-error" class="error"></small></div>`;
}

// Handles a click if it was meant for the calendar; true if so.
function pickerClick({ pick, shift, day }) {
  if (pick) {
    picker.open = picker.open === pick ? null : pick;
    picker.month = (picker.values[pick] ?? picker.values.from ?? today()).slice(0, 7);
  } else if (shift) shiftMonth(Number(shift));
  else if (day) {
    picker.values[picker.open] = day;
    picker.open = null;
  } else return false;
  return true;
}
