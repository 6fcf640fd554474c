"use strict";
// A request for leave: every kind of form field, and two dates.
const TYPES = ["Annual leave", "Parental leave", "Training", "Unpaid leave"];
const PORTIONS = ["Full days", "Mornings only", "Afternoons only"];
const ALLOWANCE = 30;
Object.assign(appState, { form: { type: "", portion: "Full days", standin: "", reason: "", handed: false, tell: true }, dates: picker.values });

function workingDays(from, to) {
  let count = 0;
  for (let day = Date.parse(from); day <= Date.parse(to); day += 86400000) if (![0, 6].includes(new Date(day).getUTCDay())) count += 1;
  return count;
}

const worked = (days) => `${days} working ${days === 1 ? "day" : "days"}`;

function entry(request) {
  return html`<li><b>${request.id}</b> ${request.type}<br><small>${longDate(request.from)} to ${longDate(request.to)} · ${worked(request.days)}</small><span class="chip ${request.status === "approved" ? "good" : "warn"}">${request.status}</span></li>`;
}

function render() {
  const { leave } = store.read();
  const { form } = appState;
  const used = leave.filter((one) => one.type === "Annual leave").reduce((sum, one) => sum + one.days, 0);
  draw(html`<h1>Leave</h1>${NOTICE}<div class="columns wide"><form id="leave" class="panel" novalidate><h2>Ask for leave</h2>
    <p class="field"><label for="type">Type</label><select id="type" name="type"><option value="">Choose …</option>${TYPES.map((type) => html`<option ${type === form.type && "selected"}>${type}</option>`)}</select><small id="type-error" class="error"></small></p>
    <div class="pair">${dateField("from", "First day")}${dateField("to", "Last day")}</div>
    <fieldset><legend>Portion of the day</legend>${PORTIONS.map((portion) => html`<label><input type="radio" name="portion" value="${portion}" ${portion === form.portion && "checked"}> ${portion}</label>`)}</fieldset>
    <p class="field"><label for="standin">Stand-in</label><input id="standin" name="standin" value="${form.standin}" placeholder="Who looks after your work?"><small id="standin-error" class="error"></small></p>
    <p class="field"><label for="reason">Remarks</label><textarea id="reason" name="reason" rows="2">${form.reason}</textarea></p>
    <fieldset><label><input type="checkbox" name="handed" ${form.handed && "checked"}> My work is handed over</label><label><input type="checkbox" name="tell" ${form.tell && "checked"}> Tell my team</label></fieldset>
    <button class="main">Send request</button></form>
    <aside class="panel"><h2>My leave in 2026</h2><p class="lead"><b id="left">${ALLOWANCE - used}</b> of ${ALLOWANCE} days left</p><ul class="requests">${leave.map(entry)}</ul></aside></div>`);
}

function keep() {
  const values = Object.fromEntries(new FormData($("#leave")));
  appState.form = { ...values, handed: "handed" in values, tell: "tell" in values };
}

function problemsIn({ type, standin }, { from, to }) {
  return {
    type: type ? "" : "Choose a type.",
    from: from ? "" : "Choose the first day.",
    to: !to ? "Choose the last day." : to < from ? "The last day is before the first." : "",
    standin: standin.trim() ? "" : "Name a stand-in.",
  };
}

document.addEventListener("click", (event) => {
  if (!event.target.dataset.pick && !event.target.dataset.shift && !event.target.dataset.day) return;
  keep();
  pickerClick(event.target.dataset);
  render();
});

document.addEventListener("change", keep);

document.addEventListener("submit", (event) => {
  event.preventDefault();
  keep();
  const { form } = appState;
  const { from, to } = picker.values;
  const problems = problemsIn(form, { from, to });
  for (const [name, why] of Object.entries(problems)) $(`#${name}-error`).textContent = why;
  const count = Object.values(problems).filter(Boolean).length;
  if (count) return say(`Please correct ${count} ${count === 1 ? "field" : "fields"}.`);
  const days = workingDays(from, to) / (form.portion === "Full days" ? 1 : 2);
  const id = `L-${101 + store.read().leave.length}`;
  appState.form = { type: "", portion: "Full days", standin: "", reason: "", handed: false, tell: true };
  picker.values.from = picker.values.to = undefined;
  store.change((state) => state.leave.push({ id, type: form.type, from, to, days, portion: form.portion, standin: form.standin.trim(), reason: form.reason.trim(), handed_over: form.handed, tell_team: form.tell, status: "waiting" }));
  say(`Request ${id} is sent: ${longDate(from)} to ${longDate(to)}, ${worked(days)}.`);
});

render();
