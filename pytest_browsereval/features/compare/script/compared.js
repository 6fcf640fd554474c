// The overview of the comparison page: what the difference comes to, and what it rests on.

const drawChosen = () => "";

/** Draws what does not depend on the choice. */
function drawOnce() {
  const { sides } = DATA;
  $("verdict").textContent = DATA.verdict;
  $("basis").textContent = DATA.basis;
  const counts = tally(LIST);
  const bar = KIND.all.filter((change) => counts[change]).map((change) => {
    const part = element("span", { "data-change": change, title: `${counts[change].toLocaleString("en")} ${change}` });
    part.style.flexGrow = String(counts[change]);
    return part;
  });
  $("bar").replaceChildren(...bar);
  $("counts").textContent = DATA.counts;
  $("notes").replaceChildren(...DATA.notes.map((/** @type {string} */ note) => element("li", { textContent: note })));
  $("runs").replaceChildren(...SIDES.map((side) => runLine(side, sides[side].run)));
  $("figures").replaceChildren(...tableParts(DATA.figures));
  $("variants").hidden = !DATA.variants.length;
  $("variants-table").replaceChildren(...(DATA.variants.length ? tableParts(DATA.variants) : []));
  $("differences").hidden = !DATA.differences.length;
  $("differences-title").textContent = `Other differences (${DATA.differences.length.toLocaleString("en")})`;
  $("differences-list").replaceChildren(...DATA.differences.map((/** @type {string} */ line) => element("li", { className: "given", textContent: line })));
  $("together").onchange = drawTogether;
  buildPanes();
}

/** @param {Side} side @param {any} run */
function runLine(side, run) {
  const name = run.page ? element("a", { href: addressOfPath(run.page) }, element("bdi", { textContent: run.name })) : element("bdi", { textContent: run.name });
  const text = [run.facts.Eval, run.facts.Agent, run.facts.Started && moment(run.facts.Started)].filter(Boolean).join(" · ");
  const more = side === "a" ? " (baseline)" : "";
  return element("li", {}, element("b", { textContent: `${side.toUpperCase()}${more} ` }), name, element("bdi", { className: "soft", textContent: text ? ` ${text}` : "" }));
}

/** A head and rows, the first cell of each its name. @param {string[][]} table */
function tableParts([head, ...rows]) {
  const cells = head.map((title) => (title ? element("th", { scope: "col", textContent: title }) : element("td")));
  const lines = rows.map(([name, ...values]) => {
    const title = element("th", { scope: "row", className: name.startsWith(" ") ? "under" : "", textContent: name.trim() });
    return element("tr", {}, title, ...values.map((value) => element("td", {}, element("bdi", { textContent: value }))));
  });
  return [element("thead", {}, element("tr", {}, ...cells)), element("tbody", {}, ...lines)];
}

/** @type {Record<string, () => void>} */
const LIST_KEYS = {
  l: () => choose("kind", choice.kind === "lost" ? "" : "lost"),
  g: () => choose("kind", choice.kind === "gained" ? "" : "gained"),
  e: () => choose("kind", choice.kind === "newly errored" ? "" : "newly errored"),
};
