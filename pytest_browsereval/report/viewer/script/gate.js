// What the gate came to: each rule, and the trials that it was decided by.

Object.assign(MARKS, { met: "✓", "not met": "✗", undecided: "?" });

function drawGate() {
  /** @type {[string, string, string, Record<string, string>][]} */
  const rules = DATA.gate || [];
  const missed = rules.filter(([, word]) => word === "not met").length;
  $("gate").hidden = !rules.length;
  $("gate-title").textContent = missed ? `Gate not met: ${missed} of ${counted(rules.length, "rule")}` : "Gate met";
  $("rules").replaceChildren(
    ...[...rules].sort((a, b) => Number(b[1] === "not met") - Number(a[1] === "not met")).map(([name, word, message, choice]) =>
      element("li", {}, badge(word, "rule"), " ", element("b", {}, element("bdi", { textContent: name })), " ", element("bdi", { className: "soft", textContent: message }), " ", ...trialsOfRule(choice)),
    ),
  );
}

/** Links to what a rule was decided by. @param {Record<string, string>} chosen */
function trialsOfRule({ id, sort, rule, ...facets }) {
  if (id !== undefined)
    return LIST.filter((row) => row.id === id).flatMap((row) => [element("a", { href: addressOf(row), textContent: `${row.trial > 1 || many("trial") ? `trial ${row.trial}: ` : ""}${row.verdict}` }), " "]);
  if (sort) return [element("a", { href: `#?${new URLSearchParams({ sort })}`, textContent: `trials, the ${sort.startsWith("-") ? "largest" : "smallest"} first` })];
  if (rule !== undefined) {
    const { length } = LIST.filter((row) => FACETS.rule.of(row).includes(rule));
    return length ? [element("a", { href: `#?${new URLSearchParams({ rule })}`, textContent: `its ${counted(length, "trial")}` })] : [];
  }
  const { verdict, ...others } = facets;
  const count = LIST.filter((row) => row.verdict === verdict && Object.entries(others).every(([name, value]) => FACETS[name].of(row).includes(value))).length;
  return verdict && count ? [element("a", { href: `#?${new URLSearchParams(facets)}`, textContent: counted(count, `${verdict} trial`) })] : [];
}
