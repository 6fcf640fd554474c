// The queue: what waits, what was skipped; and what can be wanted of the run.

/**
 * @typedef {{id: string, variant: string, trial: number, query: string, why: string}} Waiting
 * @typedef {{began_at: string, trials: number, over: number, waiting: number, next: Waiting[], skipped: number, needless: number, last_skipped: Waiting[]}} Queue
 */

/** @param {Waiting} one */
function waitingName(one) {
  const more = [];
  if (one.variant !== "default") more.push(one.variant);
  if (one.trial > 1) more.push(`trial ${one.trial}`);
  return one.id + (more.length ? ` (${more.join(", ")})` : "");
}

/** @param {Queue} queue */
function drawQueue(queue) {
  $("queue").replaceChildren(...queue.next.map(waitingLine));
  const more = queue.waiting - queue.next.length;
  $("queue-more").textContent = more > 0 ? `and ${more.toLocaleString("en")} more` : queue.waiting ? "" : queue.began_at ? "No task is waiting." : "The waiting tasks are unknown.";
  $("skipped-box").hidden = !queue.skipped;
  $("skipped").replaceChildren(
    ...queue.last_skipped.map((one) => element("li", { title: one.why }, element("bdi", { textContent: waitingName(one) }), " ", element("bdi", { className: "soft", textContent: one.why }))),
  );
  const earlier = queue.skipped - queue.last_skipped.length;
  $("skipped-more").textContent = earlier > 0 ? `and ${earlier.toLocaleString("en")} before them` : "";
}

/** @param {Waiting} one */
function waitingLine(one) {
  const name = waitingName(one);
  const text = element("span", { className: "text", title: `${name}\n${one.query}` }, element("bdi", { textContent: name }), " ", element("bdi", { className: "soft", textContent: one.query }));
  return element("li", {}, text);
}

/** @param {string} what */
async function want(what) {
  const body = JSON.stringify({ want: what });
  const answer = await fetch("control", { method: "POST", headers: { "Content-Type": "application/json" }, body }).catch(() => null);
  if (answer && answer.ok) return trouble("");
  const why = answer ? (await answer.json().catch(() => ({}))).error : "no answer; the run may have ended";
  trouble(`Not done: ${why || "it was refused"}.`);
}

/** @param {string} text */
function trouble(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}
