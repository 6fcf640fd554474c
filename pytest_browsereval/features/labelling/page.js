"use strict";
// What comes from a row, a page or a model is written by textContent only, never as HTML.

const MARKS = { pass: "✓", fail: "✗", unclear: "?" };
const $ = (id) => document.getElementById(id);
let attempts = [];
let current = 0;
let wanted = 0; // the attempt that is being fetched, or the one that is shown
let busy = false; // a key that comes meanwhile would label what nobody has seen
let shown = null;
let openStep = -1;
const undone = [];
let queue = Promise.resolve();

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

async function ask(path, options) {
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error || `status ${response.status}`);
  return answer;
}

function tell(problem) {
  $("problem").textContent = problem;
  $("problem").hidden = !problem;
}

async function trying(work) {
  try {
    await work();
    tell("");
  } catch (error) {
    const lost = error instanceof TypeError ? "the server does not answer. Is the command still running?" : error.message;
    tell(`Not done: ${lost}`);
  }
}

// -- the list

function nameOf(attempt) {
  const more = [];
  if (attempt.variant !== "default") more.push(attempt.variant);
  if (attempt.trial > 1) more.push(`trial ${attempt.trial}`);
  if (attempt.attempt > 1) more.push(`attempt ${attempt.attempt}`);
  return attempt.query_id + (more.length ? ` (${more.join(", ")})` : "");
}

function buildList() {
  $("attempts").replaceChildren(
    ...attempts.map((attempt) => {
      const button = element("button", { type: "button", onclick: () => show(attempt.place) });
      const mark = element("span", { className: "mark", ariaHidden: "true" });
      const name = element("bdi", { textContent: nameOf(attempt) });
      button.append(mark, name, element("span", { className: "unseen" }));
      return element("li", {}, button);
    }),
  );
}

function drawList() {
  const buttons = $("attempts").querySelectorAll("button");
  attempts.forEach((attempt, place) => {
    const [mark, , unseen] = buttons[place].children;
    mark.dataset.label = attempt.label || "";
    mark.textContent = MARKS[attempt.label] || "";
    unseen.textContent = `: ${attempt.label || "no label"}`;
    if (place === current) buttons[place].setAttribute("aria-current", "true");
    else buttons[place].removeAttribute("aria-current");
  });
  const done = attempts.filter((attempt) => attempt.label).length;
  $("count").textContent = `${done} of ${attempts.length} labelled`;
  $("bar").max = Math.max(attempts.length, 1);
  $("bar").value = done;
  for (const button of document.querySelectorAll(".verdict [data-label]"))
    button.setAttribute("aria-pressed", String(button.dataset.label === attempts[current].label));
  $("undo").disabled = !undone.length;
  $("previous").disabled = current === 0;
  $("next").disabled = current === attempts.length - 1;
}

// -- one attempt

async function show(place) {
  if (place < 0 || place >= attempts.length) return;
  saveNote();
  wanted = place;
  await trying(async () => {
    const answer = await ask(`attempts/${place}`);
    if (wanted !== place) return;
    current = place;
    shown = answer;
    history.replaceState(null, "", `#${place + 1}`);
    drawAttempt();
    drawList();
    $("attempts").children[place].scrollIntoView({ block: "nearest" });
  });
  if (wanted === place) wanted = current; // it could not be fetched
}

function given(target, text, otherwise) {
  target.textContent = text === null || text === "" ? otherwise : text;
  target.classList.toggle("none", text === null || text === "");
}

function drawAttempt() {
  const attempt = attempts[current];
  $("name").textContent = nameOf(attempt);
  document.title = `${current + 1} of ${attempts.length} · Label attempts`;
  given($("query"), shown.query, "no task");
  given($("answer"), shown.answer, "No answer was given.");
  const facts = { "Start page": shown.start_url, "Ended at": shown.final_url };
  const time = shown.duration_s === null ? "" : `${shown.duration_s} s, `;
  facts.Steps = `${shown.steps.length}, ${time}${shown.termination.replace("_", " ")}`;
  $("facts").replaceChildren();
  for (const [name, value] of Object.entries(facts))
    if (value) $("facts").append(element("dt", { textContent: name }), element("dd", { textContent: value }));
  $("note").value = attempt.note;
  veil("reference");
  veil("grades");
  drawSteps();
}

function picture(number, alt) {
  const address = `attempts/${current}/pictures/${number}`;
  const image = element("img", { alt, loading: "lazy", decoding: "async" });
  image.src = address;
  return element("a", { className: "shot", href: address, target: "_blank", rel: "noopener" }, image);
}

function drawSteps() {
  $("steps").replaceChildren(...shown.steps.map(stepLine));
  if (!shown.steps.length) $("steps").append(element("li", { className: "none", textContent: "No steps were taken." }));
  $("pictures").replaceChildren();
  if (shown.pictures.length) $("pictures").append(element("h3", { textContent: "Further pictures" }));
  for (const one of shown.pictures) $("pictures").append(picture(one.picture, `Picture ${one.number}`));
  openStep = -1;
  unfold(shown.steps.length - 1);
}

function stepLine(step, place) {
  const button = element("button", { type: "button", ariaExpanded: "false", onclick: () => unfold(place) });
  button.append(
    element("span", { className: "number", textContent: step.number }),
    element("bdi", { className: "tool", textContent: step.tool }),
    element("bdi", { className: "brief", textContent: step.arguments.replace(/\s+/g, " ").slice(0, 200) }),
  );
  if (step.failed) button.append(element("span", { className: "failed", textContent: "failed" }));
  return element("li", {}, button);
}

function unfold(place) {
  if (place < 0 || place >= shown.steps.length) return;
  const lines = $("steps").children;
  if (openStep >= 0) {
    lines[openStep].querySelector(".step").remove();
    lines[openStep].querySelector("button").ariaExpanded = "false";
    delete lines[openStep].dataset.open;
  }
  openStep = place === openStep ? -1 : place;
  if (openStep < 0) return;
  lines[place].append(stepBody(place));
  lines[place].querySelector("button").ariaExpanded = "true";
  lines[place].dataset.open = "";
}

function stepBody(place) {
  const step = shown.steps[place];
  const body = element("div", { className: "step" });
  // Many agents take no picture of their last step: the page is then as the last one shows it.
  const seen = shown.steps.slice(0, place + 1).findLast((one) => one.picture !== null);
  if (seen) body.append(picture(seen.picture, `The page after step ${seen.number}, ${seen.tool}`));
  if (seen && seen !== step)
    body.append(element("p", { className: "hint", textContent: `No picture of its own; this is the page after step ${seen.number}.` }));
  const parts = { "The agent said": step.thought, Arguments: step.arguments, Result: step.result, Page: step.url };
  for (const [title, text] of Object.entries(parts))
    if (text && text !== "{}")
      body.append(element("h4", { textContent: title }), element("pre", { textContent: text, tabIndex: 0 }));
  return body;
}

function moveStep(by) {
  const place = openStep < 0 ? (by > 0 ? 0 : shown.steps.length - 1) : openStep + by;
  if (place === openStep || place < 0 || place >= shown.steps.length) return;
  unfold(place);
  $("steps").children[place].scrollIntoView({ block: "nearest" });
}

// -- what is hidden

function veil(name) {
  $(name).ariaExpanded = "false";
  $(`${name}-text`).hidden = true;
  $(`${name}-text`).replaceChildren();
}

async function unveil(name) {
  if ($(name).ariaExpanded === "true") return veil(name);
  const place = current;
  await trying(async () => {
    const answer = await ask(`attempts/${place}/${name}`);
    if (place !== current) return;
    $(`${name}-text`).replaceChildren(...(name === "grades" ? gradeParts(answer) : referenceParts(answer)));
    $(`${name}-text`).hidden = false;
    $(name).ariaExpanded = "true";
  });
}

function part(title, text) {
  return [element("h4", { textContent: title }), element("pre", { textContent: text, tabIndex: 0 })];
}

function referenceParts(answer) {
  const parts = Object.entries(answer).flatMap(([name, text]) => part(name, text));
  return parts.length ? parts : [element("p", { className: "none", textContent: "The row has no reference." })];
}

function gradeParts(answer) {
  const parts = part(`Verdict: ${answer.verdict}`, answer.reason);
  for (const grade of answer.grades) {
    const score = grade.score === null ? "no score" : `score ${grade.score}`;
    const advisory = grade.advisory ? ", advisory" : "";
    parts.push(...part(`${grade.grader}: ${grade.verdict}, ${score}${advisory}`, grade.reasoning));
  }
  return parts;
}

// -- labels

function send(place, label, note) {
  const body = JSON.stringify({ place, label, note });
  queue = queue.then(() =>
    trying(async () => {
      attempts[place] = await ask("labels", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      drawList();
    }),
  );
  return queue;
}

function nextWithout(place) {
  const order = [...attempts.slice(place + 1), ...attempts.slice(0, place)];
  const found = order.find((attempt) => !attempt.label);
  return found ? found.place : null;
}

async function alone(work) {
  if (!shown || busy || wanted !== current) return;
  busy = true;
  await work().finally(() => (busy = false));
}

async function label(word) {
  const place = current;
  const { label: before, note } = attempts[place];
  await send(place, word, $("note").value);
  if (attempts[place].label !== word) return;
  undone.push({ place, label: before, note });
  const next = nextWithout(place);
  if (next !== null && current === place) await show(next);
  const rest = next === null ? "All attempts are labelled." : "";
  $("status").textContent = `${nameOf(attempts[place])} is labelled ${word}. ${rest}`;
  drawList();
}

async function undo() {
  const last = undone.pop();
  if (!last) return;
  await send(last.place, last.label, last.note);
  await show(last.place);
  $("status").textContent = `Undone: ${nameOf(attempts[last.place])} has ${last.label ? `the label ${last.label}` : "no label"} again.`;
  drawList();
}

function saveNote() {
  const attempt = attempts[current];
  if (shown && attempt.note !== $("note").value) send(current, attempt.label, $("note").value);
}

// -- keys

const KEYS = {
  p: () => alone(() => label("pass")),
  f: () => alone(() => label("fail")),
  u: () => alone(() => label("unclear")),
  z: () => alone(undo),
  n: () => $("note").focus(),
  r: () => unveil("reference"),
  g: () => unveil("grades"),
  ArrowLeft: () => show(wanted - 1),
  ArrowRight: () => show(wanted + 1),
  ArrowUp: () => moveStep(-1),
  ArrowDown: () => moveStep(1),
};

document.addEventListener("keydown", (event) => {
  const writes = event.target instanceof HTMLTextAreaElement;
  if (writes && event.key === "Escape") event.target.blur();
  if (writes || event.ctrlKey || event.altKey || event.metaKey || event.isComposing || !shown) return;
  const act = $("keys").checked ? KEYS[event.key] : undefined;
  if (!act || (event.repeat && !event.key.startsWith("Arrow"))) return;
  event.preventDefault();
  act();
});
for (const button of document.querySelectorAll(".verdict [data-label]"))
  button.addEventListener("click", () => alone(() => label(button.dataset.label)));
$("undo").addEventListener("click", () => alone(undo));
$("reference").addEventListener("click", () => unveil("reference"));
$("grades").addEventListener("click", () => unveil("grades"));
$("previous").addEventListener("click", () => show(wanted - 1));
$("next").addEventListener("click", () => show(wanted + 1));
$("note").addEventListener("change", saveNote);

trying(async () => {
  const run = await ask("attempts");
  attempts = run.attempts;
  $("run").textContent = run.run;
  $("labeller").textContent = run.labeller || "an unnamed labeller";
  $("all").open = !matchMedia("(max-width: 1000px)").matches;
  buildList();
  const named = Number(location.hash.slice(1)) - 1;
  const first = attempts.findIndex((attempt) => !attempt.label);
  await show(named in attempts ? named : Math.max(first, 0));
});
