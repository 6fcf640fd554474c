// The run page: how it went, and what is chosen of it.

/** Draws plots and tasks by variant of what is chosen. @param {Row[]} rows @returns {string} what their verdicts come to */
function drawChosen(rows) {
  const plain = rows.filter((row) => !row.derived); // as the pass rate, which is of these
  drawPlots(plain.length ? plain : rows);
  drawVariants(rows);
  const counts = tally(rows);
  const judged = counts.passed + counts.failed;
  return judged && !choice.kind && rows.length < LIST.length ? `, ${percent(counts.passed / judged)} of ${judged.toLocaleString("en")} judged passed` : "";
}

const BRIEF = /^(Started|Agent|Variants|Trials|Cost|Duration|pass@.*)$/;

/** @param {[number, number]} known what the cost is at least, and of how many attempts it is unknown @returns {string} */
function knownCost([known, unknown]) {
  return known ? `at least ${money(known)}; ${counted(unknown, "attempt")} unknown` : "unknown";
}

function drawSummary() {
  const { totals, run } = DATA;
  $("rate").textContent = percent(totals.rate);
  const judged = `${totals.passed.toLocaleString("en")} of ${totals.judged.toLocaleString("en")} judged passed`;
  const interval = totals.interval ? `; 95\u00a0% interval ${percent(totals.interval[0])} to ${percent(totals.interval[1])}` : "";
  const besides = totals.derived ? `; ${counted(totals.derived, "trial")} under attack excluded` : "";
  $("rate-of").textContent = totals.judged ? judged + interval + besides : "No trial was judged.";
  const bar = PARTS.filter((verdict) => totals[verdict]).map((verdict) => {
    const part = element("span", { "data-verdict": verdict });
    part.style.flexGrow = String(totals[verdict]);
    return part;
  });
  $("bar").replaceChildren(...bar);
  const notes = [];
  if (totals.errored) notes.push(`${counted(totals.errored, "errored trial is", "errored trials are")} not in the rate.`);
  if (totals.false_claims) notes.push(`${counted(totals.false_claims, "trial")} failed although the agent ended with an answer.`);
  if (totals.damaged) notes.push(`${counted(totals.damaged, "attempt is", "attempts are")} damaged and not counted.`);
  if (totals.unfinished && !run.goesOn) notes.push(`${counted(totals.unfinished, "attempt is", "attempts are")} not finished.`);
  if (run.selected !== null && run.selected > totals.trials + totals.derived && !run.goesOn) notes.push(`${counted(run.selected - totals.trials - totals.derived, "trial")} of ${run.selected.toLocaleString("en")} never finished.`);
  if (run.left_out) notes.push(run.left_out);
  $("notes").textContent = notes.join(" ");
  const known = LIST.filter((row) => row.ms !== null);
  /** @type {[string, Child][]} */
  const facts = Object.entries(run.facts).map(([name, value]) => [name, element("bdi", { textContent: factText(name, String(value)), title: String(value) })]);
  const of = run.goesOn && run.selected ? ` of ${run.selected.toLocaleString("en")}` : "";
  facts.push(["Trials", (totals.trials + totals.derived).toLocaleString("en") + of + (ROWS.length > LIST.length ? `, in ${counted(ROWS.length, "attempt")}` : "")]);
  facts.push(["Cost", totals.cost === null ? knownCost(totals.known_cost) : totals.cost ? money(totals.cost) : null]);
  const ends = known.map((row) => Date.parse(row.started) + Number(row.ms));
  const [first, last] = [Math.min(...known.map((row) => Date.parse(row.started))), Math.max(...ends)];
  if (last > first && !run.resumes.length) facts.push(["Duration", time(last - first)]);
  facts.push(["Total attempt time", known.length ? time(known.reduce((sum, row) => sum + Number(row.ms), 0)) : null]);
  facts.push(...repeatsFacts(), ...quarantineFacts());
  if (run.resumes.length) facts.push(["Resumed", element("span", {}, ...run.resumes.flatMap((/** @type {string} */ line) => [element("bdi", { textContent: line }), element("br")]))]);
  fill($("run-facts"), facts);
  $("facts-box").open = run.resumes.length > 0 || facts.some(([name, value]) => name === "Quarantine" && value); // to be seen at once
  const brief = facts.filter(([name, value]) => value && BRIEF.test(name));
  $("run-brief").replaceChildren(...brief.flatMap(([name, value], place) => [place ? " · " : "", /^(Trials|pass)/.test(name) ? `${name} ` : "", value instanceof Element ? value.cloneNode(true) : String(value)]));
}

/** A fact of the run in short; where the browser was found stands in its tip. @param {string} name @param {string} value */
const factText = (name, value) => (name === "Started" ? moment(value) : name === "Browser" ? value.replace(/ \(.*$/, "") : value);

/** What repeated trials say of each other. @returns {[string, Child][]} */
function repeatsFacts() {
  const all = DATA.repeats;
  if (!all) return [];
  const { k, pass_at_k: at, pass_hat_k: hat, tasks, tasks_counted: of } = all;
  const rates = at === null ? `no task has ${k} judged trials` : `${percent(at)} and ${percent(hat)} of ${counted(of, "task")}${of < tasks ? `; ${counted(tasks - of, "task has", "tasks have")} fewer judged trials` : ""}`;
  const kinds = Object.entries(all.stability).map(([kind, count]) => `${Number(count).toLocaleString("en")} ${kind}`);
  return [[`pass@${k}, pass^${k}`, rates], ["Repeated tasks", kinds.join(", ")]];
}

/** @returns {[string, Child][]} */
function quarantineFacts() {
  const { now, over } = DATA.quarantine;
  const ended = Object.keys(over).length;
  const rows = Object.keys(now).length;
  const parts = [rows ? `${counted(rows, "task")} left out of the gate’s rates; the rate above counts all` : "", ended ? `${counted(ended, "task")} out of quarantine` : ""];
  return [["Quarantine", parts.filter(Boolean).join("; ")]];
}
