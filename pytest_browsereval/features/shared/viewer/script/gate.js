// What the gate came to: each rule, and the trials that it was decided by.

Object.assign(MARKS, { met: "✓", "not met": "✗", undecided: "?" });

function drawGate() {
  /** @type {[string, string, string, Record<string, string>, string[], boolean][]} */
  const rules = DATA.gate || [];
  const isMissed = (/** @type {any[]} */ rule) => !rule[5]; // also one that is undecided, unless the gate accepts that
  const missed = rules.filter(isMissed).length;
  $("gate").hidden = !rules.length;
  $("gate").open = missed > 0;
  $("gate-title").textContent = missed ? `Gate not met: ${missed} of ${counted(rules.length, "rule")}` : "Gate met";
  $("rules").replaceChildren(
    ...[...rules].sort((a, b) => Number(isMissed(b)) - Number(isMissed(a))).map(([name, word, message, choice]) =>
      element("li", {}, badge(word, "rule"), " ", element("b", {}, element("bdi", { textContent: name })), " ", element("bdi", { className: "soft", textContent: message }), " ", ...trialsOfRule(choice)),
    ),
  );
}

/** A link that chooses trials in the table, which may be below the window. @param {Record<string, string>} chosen @param {string} text */
function choosing(chosen, text) {
  const show = () => $("rows").getBoundingClientRect().top > innerHeight - 2 * rowHeight() && $("kinds").scrollIntoView();
  return element("a", { href: `#?${new URLSearchParams(chosen)}`, textContent: text, onclick: () => setTimeout(show, 50) });
}

/** Links to what a rule was decided by. @param {Record<string, string>} chosen */
function trialsOfRule({ id, rule, ...facets }) {
  if (id !== undefined)
    return LIST.filter((row) => row.id === id).flatMap((row) => [element("a", { href: addressOf(row), textContent: `${row.trial > 1 || many("trial") ? `trial ${row.trial}: ` : ""}${row.verdict}` }), " "]);
  if (rule !== undefined) {
    const { length } = LIST.filter((row) => FACETS.rule.of(row).includes(rule));
    return length ? [choosing({ rule }, `its ${counted(length, "trial")}`)] : [];
  }
  // Rules on pass rates are about trials under no attack.
  if (DATA.totals.derived && facets.verdict === "failed") facets.attack = NONE;
  const { verdict, ...others } = facets;
  const count = LIST.filter((row) => row.verdict === verdict && Object.entries(others).every(([name, value]) => FACETS[name].of(row).includes(value === NONE ? "" : value))).length;
  return verdict && count ? [choosing(facets, counted(count, `${verdict} trial`))] : [];
}
