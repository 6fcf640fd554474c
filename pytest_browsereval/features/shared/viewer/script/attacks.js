// What attempts under attack came to, as the analysis has it; each figure leads to its trials.

/** @typedef {{value: number | null, interval: [number, number] | null}} AttackRate */
/** @typedef {{delivered: number, compromised: number, not_delivered: number, errored: number, attack_success: AttackRate, utility_under_attack: AttackRate} & Record<string, any>} AttackFigures */

/** Attacks that are listed at once. */
const MOST_ATTACKS = 12;

function drawAttacks() {
  const all = DATA.further?.attacks;
  $("attacks").hidden = !all;
  if (!all) return;
  /** @type {AttackFigures} */
  const whole = all.under_attack;
  $("attacks-title").textContent = whole.delivered ? `Under attack: ${counted(whole.compromised, "attempt")} of ${whole.delivered.toLocaleString("en")} compromised` : "Under attack: nothing was delivered";
  const left = [leftOut(whole.not_delivered, "not delivered"), leftOut(whole.errored, "errored", "not judged")].filter(Boolean);
  fill($("attacks-facts"), [
    ["Attack success", rateInWords(whole.attack_success)],
    ["Utility under attack", rateInWords(whole.utility_under_attack)],
    ["Utility without attack", rateInWords(all.utility)],
    ["Failures without compromise", whole.harmless_failures.toLocaleString("en")],
    ["Not in the rates", left.length ? element("span", { className: "files" }, ...left) : null],
  ]);
  const rows = Object.entries(all.by_attack).map(([name, one]) => attackLine(name, /** @type {AttackFigures} */ (one)));
  const rest = rows.splice(MOST_ATTACKS);
  const head = ["Attack", "Compromised", "Success", "Utility", "Channel", "Goal"].map((title) => element("th", { scope: "col", textContent: title }));
  const body = element("tbody", {}, ...rows);
  $("attacks-table").replaceChildren(element("caption", { className: "unseen", textContent: "Attacks, the most successful first" }), element("thead", {}, element("tr", {}, ...head)), body);
  $("attacks-more").hidden = !rest.length;
  $("attacks-more").textContent = `Show ${counted(rest.length, "more attack")}`;
  $("attacks-more").onclick = () => {
    body.append(...rest);
    $("attacks-more").hidden = true;
  };
}

/** @param {number} count @param {string} word @param {string} [outcome] */
const leftOut = (count, word, outcome = word) => count > 0 && element("a", { href: trialsUnder({ outcome }), textContent: `${count.toLocaleString("en")} ${word}` });

/** @param {AttackRate} rate */
function rateInWords({ value, interval }) {
  if (value === null) return "unknown";
  return percent(value) + (interval ? `; 95\u00a0% interval ${percent(interval[0])} to ${percent(interval[1])}` : "");
}

/** @param {string} name @param {AttackFigures} one */
function attackLine(name, one) {
  const ends = one.attack_success.interval;
  const shown = [
    element("th", { scope: "row" }, element("a", { href: trialsUnder({ attack: name }) }, element("bdi", { textContent: name }))),
    element("td", { className: "amount" }, behind(one.compromised, { attack: name, outcome: "compromised" }, one.compromised.toLocaleString("en")), ` of ${one.delivered.toLocaleString("en")}`),
    element("td", { className: "amount" }, percent(one.attack_success.value), ends ? element("span", { className: "soft", textContent: ` ${percent(ends[0])} to ${percent(ends[1])}` }) : null),
    element("td", { className: "amount" }, behind(one.passed, { attack: name, outcome: "resisted", verdict: "passed" }, percent(one.utility_under_attack.value))),
    element("td", {}, element("a", { href: trialsUnder({ channel: asText(one.channel) }) }, element("bdi", { textContent: asText(one.channel) }))),
    element("td", {}, element("bdi", { textContent: asText(one.goal) })),
  ];
  return element("tr", {}, ...shown);
}

/** A figure, as a link if there are trials behind it. @param {number} count @param {Record<string, string>} chosen @param {string} text */
const behind = (count, chosen, text) => (count ? element("a", { href: trialsUnder(chosen), textContent: text }) : text);

/** @param {Record<string, string>} chosen */
const trialsUnder = (chosen) => `#?${new URLSearchParams(chosen)}`;
