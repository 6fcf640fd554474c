// The run page: how it went, what is chosen of it, the table.

/** @param {string} name @param {string} value */
function choose(name, value) {
  if (name === "query") choice.query = value;
  else if (name === "verdict") choice.verdict = value;
  else choice.chosen[name] = value;
  redraw();
}

/** @param {string} name */
function sortBy(name) {
  choice.isDown = choice.sort === name ? !choice.isDown : Boolean(SORTS[name].isDown);
  choice.sort = name;
  redraw();
  /** @type {any} */ ($("head").querySelector("[aria-sort] button"))?.focus();
}

/** Draws what follows from the choice, and keeps it in the address. */
function redraw() {
  shownRows = sorted(chosenRows());
  history.replaceState(null, "", overviewAddress());
  drawFilters();
  drawHead();
  drawRows(true);
  drawPlots(shownRows);
  $("table").setAttribute("aria-rowcount", String(shownRows.length + 1));
  const counts = tally(shownRows);
  const judged = counts.passed + counts.failed;
  const rate = judged && !choice.verdict && shownRows.length < TRIALS.length ? `, ${percent(counts.passed / judged)} of ${judged.toLocaleString("en")} judged passed` : "";
  $("found").textContent = shownRows.length ? `${shownRows.length.toLocaleString("en")} of ${TRIALS.length.toLocaleString("en")}${rate}` : "No trial fits.";
  $("clear").hidden = !isChosen();
}

const isChosen = () => Boolean(choice.query || choice.verdict || Object.values(choice.chosen).some(Boolean));

function overviewAddress() {
  const given = new URLSearchParams();
  if (choice.query) given.set("q", choice.query);
  if (choice.verdict) given.set("verdict", choice.verdict);
  for (const [name, value] of Object.entries(choice.chosen)) if (value) given.set(name, value);
  if (choice.sort !== "verdict" || choice.isDown) given.set("sort", (choice.isDown ? "-" : "") + choice.sort);
  return `#?${given}`;
}

/** Takes the choice from the address. @param {string} text */
function readChoice(text) {
  const given = new URLSearchParams(text);
  const sort = given.get("sort") || "verdict";
  const name = sort.replace(/^-/, "");
  choice.query = given.get("q") || "";
  choice.verdict = ORDER.includes(given.get("verdict") || "") ? String(given.get("verdict")) : "";
  choice.chosen = Object.fromEntries(Object.keys(FACETS).map((facet) => [facet, given.get(facet) || ""]));
  choice.sort = Object.hasOwn(SORTS, name) ? name : "verdict";
  choice.isDown = sort.startsWith("-");
}

function drawSummary() {
  const { totals, run } = DATA;
  $("rate").textContent = percent(totals.rate);
  const judged = `${totals.passed.toLocaleString("en")} of ${totals.judged.toLocaleString("en")} judged passed`;
  const interval = totals.interval ? `; 95\u00a0% interval ${percent(totals.interval[0])} to ${percent(totals.interval[1])}` : "";
  $("rate-of").textContent = totals.judged ? judged + interval : "No trial was judged.";
  const bar = PARTS.filter((verdict) => totals[verdict]).map((verdict) => {
    const part = element("span", { "data-verdict": verdict });
    part.style.flexGrow = String(totals[verdict]);
    return part;
  });
  $("bar").replaceChildren(...bar);
  const notes = [];
  if (totals.errored) notes.push(`${counted(totals.errored, "errored trial is", "errored trials are")} not in the rate.`);
  if (totals.damaged) notes.push(`${counted(totals.damaged, "attempt is", "attempts are")} damaged and counted nowhere.`);
  if (totals.unfinished) notes.push(`${counted(totals.unfinished, "attempt is", "attempts are")} not finished.`);
  if (run.selected !== null && run.selected > totals.trials) notes.push(`${counted(run.selected - totals.trials, "trial")} of ${run.selected.toLocaleString("en")} never finished.`);
  if (run.left_out) notes.push(run.left_out);
  $("notes").textContent = notes.join(" ");
  const known = TRIALS.filter((row) => row.ms !== null);
  /** @type {[string, Child][]} */
  const facts = Object.entries(run.facts).map(([name, value]) => [name, element("bdi", { textContent: name === "Started" ? String(value).replace("T", " ").replace(/\.\d+Z$/, " UTC") : String(value) })]);
  facts.push(["Trials", totals.trials.toLocaleString("en") + (ROWS.length > TRIALS.length ? `, in ${counted(ROWS.length, "attempt")}` : "")]);
  facts.push(["Cost", totals.cost === null ? "not known" : totals.cost ? money(totals.cost) : null]);
  facts.push(["Time of all", known.length ? time(known.reduce((sum, row) => sum + Number(row.ms), 0)) : null]);
  fill($("run-facts"), facts);
}

function buildFilters() {
  const verdicts = ["", ...PARTS.filter((verdict) => DATA.totals[verdict])];
  $("verdicts").replaceChildren(
    ...verdicts.map((verdict) => element("button", { type: "button", "data-verdict": verdict, onclick: () => choose("verdict", verdict) })),
  );
  const facets = Object.keys(FACETS).filter(many);
  $("facets").replaceChildren(
    ...facets.map((facet) => {
      const select = element("select", { id: `facet-${facet}`, onchange: () => choose(facet, select.value) });
      return element("label", {}, element("span", { textContent: FACETS[facet].title }), select);
    }),
  );
  let typing = 0;
  $("search").oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(() => choose("query", $("search").value), 120);
  };
  $("clear").onclick = () => {
    readChoice("");
    redraw();
    $("search").focus();
  };
}

function drawFilters() {
  if ($("search").value !== choice.query && document.activeElement !== $("search")) $("search").value = choice.query;
  const counts = tally(chosenRows({ verdict: true }));
  for (const button of $("verdicts").children) {
    const verdict = button.dataset.verdict;
    const count = verdict ? counts[verdict] : Object.values(counts).reduce((sum, one) => sum + one, 0);
    const mark = verdict ? element("span", { ariaHidden: "true", textContent: `${MARKS[verdict]} ` }) : null;
    button.replaceChildren(...[mark, `${verdict || "all"} `, element("b", { textContent: count.toLocaleString("en") })].filter(Boolean));
    button.ariaPressed = String(choice.verdict === verdict);
  }
  for (const facet of Object.keys(FACETS).filter(many)) {
    const select = $(`facet-${facet}`);
    const options = groups(facet, chosenRows({ facet })).map(([value, rows]) => [value || NONE, rows.length]);
    const chosen = choice.chosen[facet];
    if (chosen && !options.some(([value]) => value === chosen)) options.push([chosen, 0]);
    options.sort(([a], [b]) => String(a).localeCompare(String(b), "en", { numeric: true }));
    select.replaceChildren(
      element("option", { value: "", textContent: "all" }),
      ...options.map(([value, count]) => element("option", { value, textContent: `${brief(String(value), 60)} (${Number(count).toLocaleString("en")})` })),
    );
    select.value = chosen || "";
  }
}
