// A run: its figures, what has changed before it, and where there is more of it.

/** @type {{run: Run | null}} */
const seen = { run: null };

const drawChosen = () => {
  drawLines();
  drawGrids();
  return "";
};
const drawOnce = () => {};

/** @param {string[]} names of the address */
function openItem(names) {
  const run = BY_ID.get(names.join("/"));
  seen.run = run || null;
  if (!run) return gone(`There is no run ${names.join("/")} here. Write the page again: browsereval runs`);
  tell("");
  scrollTo(0, 0);
  document.title = `${run.name} · ${TITLE}`;
  $("run-name").textContent = run.id;
  $("run-outcome").replaceChildren(badge(run.outcome, "outcome"));
  fill($("run-details"), [
    ["Eval", element("bdi", { textContent: run.eval })],
    ["Started", `${moment(run.started)} UTC`],
    ["Commit", run.commit && element("bdi", { textContent: run.commit })],
    ["Gate", run.gate === null ? "none, or not decided" : run.gate ? "met" : element("bdi", { textContent: `not met: ${run.missed.join(", ")}` })],
    ["State", run.note ? `${run.state}: ${run.note}` : run.state],
  ]);
  drawVariants(run);
  drawChanges(run);
  drawMore(run);
  drawTurns(run);
  $("attempt").ariaBusy = "false";
}

/** Leaves the run that is open, and returns it. */
function leaveItem() {
  const { run } = seen;
  seen.run = null;
  return run;
}

/** @param {Run} run */
function drawVariants(run) {
  const titles = ["Variant", "Agent", "Pass rate, 95 % interval", "Passed", "Failed", "Errored", "Tasks", "Cost", "Steps, p95", "Time, p95"];
  const line = (/** @type {string} */ name, /** @type {string} */ agent, /** @type {Figures} */ one) => {
    const counts = [one.passed, one.failed, one.errored, one.tasks].map((count) => count.toLocaleString("en"));
    const cells = hasFigures(run) ? [rateText(one), ...counts, costText(one), stepsText(one.steps), time(one.ms)] : titles.slice(2).map(() => "–");
    const texts = [agent, ...cells].map((text) => element("td", {}, element("bdi", { textContent: text })));
    return element("tr", {}, element("th", { scope: "row" }, element("bdi", { textContent: name })), ...texts);
  };
  const rows = run.variants.map((one) => line(one.name, one.agent, one));
  if (run.variants.length > 1) rows.push(line("all", "", run.whole));
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col", textContent: title })));
  $("variants").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
}

/** @param {Run} run */
function drawChanges(run) {
  const broken = run.variants.filter((one) => one.broken);
  $("changes").hidden = !broken.length;
  $("changes-list").replaceChildren(
    ...broken.flatMap((one) => {
      const before = one.broken?.[0];
      const other = before === null || before === undefined ? null : LIST[before];
      const link = other ? element("a", { href: addressOf(other), textContent: moment(other.started) }) : "a run that is not on this page";
      const words = (one.broken?.[1] || []).join(", ");
      return [element("p", {}, one.name === "default" ? "" : `${one.name}: `, "not comparable with ", link, `: ${words} changed`)];
    }),
  );
}

/** @param {Run} run */
function drawMore(run) {
  // By their ids: they are looked up below the results folder, and this page may lie elsewhere. At a URL by that.
  const shell = (/** @type {string} */ word) => (/^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const nameOf = (/** @type {Run} */ one) => shell(DATA.url ? `${DATA.url}/${one.id}` : one.name);
  const lines = [
    run.page ? element("a", { href: pageOf(run), textContent: "Page of this run, with each attempt" }) : element("span", {}, "No page of this run yet: ", element("code", { textContent: `browsereval view ${nameOf(run)}` })),
    element("span", {}, "Config and versions: ", element("code", { textContent: `browsereval runs ${nameOf(run)}` })),
  ];
  const others = LIST.filter((one) => one.eval === run.eval && one !== run && hasFigures(one));
  if (others.length && hasFigures(run)) {
    const before = others.find((one) => one.place > run.place) || others[0];
    const options = others.map((one) => element("option", { value: `${one.place}`, selected: one === before, textContent: `${moment(one.started)} ${rateText(one.whole)} ${one.commit.slice(0, 7)}` }));
    const chooser = element("select", {}, ...options);
    const shown = element("span", {});
    const draw = () => {
      const [a, b] = [LIST[Number(chooser.value)], run].sort((one, other) => other.place - one.place);
      const name = `compared-${a.name}--${b.name}.html`;
      const command = `browsereval compare ${nameOf(a)} ${nameOf(b)} --html ${shell(DATA.url ? name : `${DATA.folder}/${name}`)}`;
      shown.replaceChildren(element("code", { textContent: command }));
    };
    chooser.onchange = draw;
    draw();
    lines.push(element("span", {}, element("label", {}, "Compared with ", chooser), ": ", shown));
  }
  $("more").replaceChildren(...lines.map((line) => element("li", {}, line)));
}

const itemRow = () => seen.run;
const onNarrow = () => {};

/** @type {Record<string, () => void>} */
const ITEM_KEYS = {
  ArrowLeft: () => turn(seen.run, -1),
  ArrowRight: () => turn(seen.run, 1),
  f: () => turn(seen.run, 1, true),
  F: () => turn(seen.run, -1, true),
};

/** @type {Record<string, () => void>} */
const LIST_KEYS = {
  g: () => choose("kind", choice.kind === "not met" ? "" : "not met"),
  m: turnSpan,
};
