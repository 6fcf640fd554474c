"use strict";
// A table that sorts, filters and has pages; people can be ticked and invited.
const PAGE_SIZE = 8;
const COLUMNS = { name: "Name", department: "Department", role: "Role", city: "City", started: "First day", extension: "Extension" };
const unique = (key) => [...new Set(PEOPLE.map((person) => person[key]))].sort();
Object.assign(appState, { filter: "", department: "", city: "", sort: "name", descending: false, current: 1, ticked: [], matches: PEOPLE.length });

function compare(a, b) {
  const [x, y] = [a[appState.sort], b[appState.sort]];
  const order = typeof x === "number" ? x - y : x.localeCompare(y, "en");
  return (appState.descending ? -order : order) || a.name.localeCompare(b.name, "en");
}

function matching() {
  const { filter, department, city } = appState;
  return PEOPLE.filter((person) => Object.values(person).join(" ").toLowerCase().includes(filter.toLowerCase())
    && (!department || person.department === department) && (!city || person.city === city)).sort(compare);
}

function head() {
  return Object.entries(COLUMNS).map(([key, label]) => {
    const isSorted = appState.sort === key;
    return html`<th scope="col" aria-sort="${isSorted ? (appState.descending ? "descending" : "ascending") : "none"}"><button data-sort="${key}">${label}</button>${isSorted && html`<span aria-hidden="true">${appState.descending ? "▼" : "▲"}</span>`}</th>`;
  });
}

function line(person) {
  const { name, department, role, city, started, extension } = person;
  return html`<tr><td><input type="checkbox" data-tick="${name}" aria-label="Tick ${name}" ${appState.ticked.includes(name) && "checked"}></td><th scope="row">${name}</th>
    <td><span class="dot ${department}"></span>${department}</td><td>${role}</td><td>${city}</td><td>${longDate(started)}</td><td>${extension}</td></tr>`;
}

function select(key, label, options) {
  return html`<span><label for="${key}">${label}</label> <select id="${key}" data-filter="${key}"><option value="">All</option>${options.map((one) => html`<option ${one === appState[key] && "selected"}>${one}</option>`)}</select></span>`;
}

// The table is redrawn on its own, so that the filter box keeps its cursor.
function drawTable() {
  const found = matching();
  const pages = Math.max(1, Math.ceil(found.length / PAGE_SIZE));
  appState.current = Math.min(pages, Math.max(1, appState.current));
  appState.matches = found.length;
  const shown = found.slice((appState.current - 1) * PAGE_SIZE, appState.current * PAGE_SIZE);
  $("#table").innerHTML = html`<table><thead><tr><th scope="col"><span class="hidden">Tick</span></th>${head()}</tr></thead><tbody>${shown.map(line)}</tbody></table>
    ${!found.length && html`<p>Nobody matches.</p>`}`.text;
  $("#pager").innerHTML = html`<span>${found.length} people · Page ${appState.current} of ${pages}</span>
    <button data-turn="-1" ${appState.current === 1 && "disabled"}>Previous page</button><button data-turn="1" ${appState.current === pages && "disabled"}>Next page</button>
    <button class="main" id="invite" ${!appState.ticked.length && "disabled"}>Invite ticked (${appState.ticked.length})</button>`.text;
}

function render() {
  draw(html`<h1>People</h1>${NOTICE}<section class="panel"><div class="tools"><span><label for="filter">Filter</label> <input id="filter" value="${appState.filter}" placeholder="Name, role, extension …"></span>
    ${select("department", "Department", unique("department"))}${select("city", "City", unique("city"))}</div><div id="table"></div><div id="pager" class="tools"></div></section>`);
  drawTable();
}

document.addEventListener("input", ({ target }) => {
  if (target.id === "filter") Object.assign(appState, { filter: target.value, current: 1 });
  else if (target.dataset.filter) Object.assign(appState, { [target.dataset.filter]: target.value, current: 1 });
  else if (target.dataset.tick) appState.ticked = target.checked ? [...appState.ticked, target.dataset.tick] : appState.ticked.filter((name) => name !== target.dataset.tick);
  drawTable();
});

document.addEventListener("click", ({ target }) => {
  const { sort, turn } = target.dataset;
  if (sort) Object.assign(appState, { descending: appState.sort === sort && !appState.descending, sort, current: 1 });
  else if (turn) appState.current += Number(turn);
  else if (target.id === "invite") {
    const names = appState.ticked;
    appState.ticked = [];
    store.change((state) => (state.invited = [...new Set([...state.invited, ...names])]));
    say(`Invited: ${names.join(", ")}.`);
  } else return;
  drawTable();
});

render();
