// What was recorded besides the messages, where the config asked for it: console, requests, markup, trace.

/**
 * @typedef {{at: number, kind: string, text: string, cut: number, url: string, line: number | null, tab: number | null, isError: boolean, entry: number}} Said
 * @typedef {{at: number, method: string, status: number | null, url: string, type: string, size: number | null, ms: number | null, failure: string, isFailed: boolean, entry: number}} Asked
 * @typedef {{kind: string, text: string}} Written
 * @typedef {{output: Written[], console: Said[], requests: Asked[], isConsole: boolean, isHar: boolean, notes: string[], markup: Set<string>, downloads: [string, number | null, string][], course: Course | null}} Records
 */

const LOUD = new Set(["error", "uncaught", "assert"]);

/** @param {any} raw @returns {Records} */
function recordsOf(raw) {
  const lines = (raw.console || "").split("\n");
  if (lines.pop()) lines.push(""); // a last line that was cut by a kill: it can be no JSON
  const notes = [raw.note, raw.output_left && `The last ${raw.output_left.toLocaleString("en")} bytes of output.txt are not shown.`, raw.console_left && `The last ${raw.console_left.toLocaleString("en")} bytes of console.jsonl are not shown.`, raw.har_note].filter(Boolean);
  return {
    output: (raw.output || "").split("\n").filter(Boolean).map(writtenOf),
    console: lines.filter(Boolean).map(saidOf),
    requests: (raw.har || []).map(askedOf),
    isConsole: typeof raw.console === "string",
    isHar: Array.isArray(raw.har),
    notes,
    markup: new Set(raw.dom || []),
    downloads: raw.downloads || [],
    course: courseOf(raw.progress || ""),
  };
}

/** A line of what the attempt's code has printed and logged. @param {string} text @returns {Written} */
function writtenOf(text) {
  const [, kind = "", rest = text] = /^(stdout|stderr|log|warning) *\| ?(.*)$/.exec(text) || [];
  return { kind, text: visible(rest) };
}

/** @param {string} text @returns {Said} */
function saidOf(text) {
  const one = tryParse(text) || { kind: "damaged", text };
  const kind = asText(one.kind);
  return {
    at: Date.parse(one.timestamp),
    kind,
    text: visible(asText(one.text)),
    cut: Number(one.cut) || 0,
    url: visible(asText(one.url ?? "")),
    line: typeof one.line === "number" ? one.line : null,
    tab: typeof one.tab === "number" ? one.tab : null,
    isError: LOUD.has(kind),
    entry: 0,
  };
}

/** @param {any[]} values @returns {Asked} */
function askedOf([started, method, status, url, type, size, ms, failure]) {
  const isFailed = (status !== null && (status <= 0 || status >= 400)) || failure !== "";
  return { at: Date.parse(started), method, status, url: visible(url), type: visible(type), size, ms, failure: visible(failure), isFailed, entry: 0 };
}

/** A text of a page with what steers terminals or turns the direction of writing shown, not done. @param {string} text */
const visible = (text) =>
  // eslint-disable-next-line no-control-regex
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });

/** Gives records to what was going on when they were made. @param {Entry[]} entries @param {Records} records */
function placeRecords(entries, records) {
  const starts = entries.map((entry) => Date.parse(entry.message.timestamp));
  for (const [list, name] of /** @type {[(Said | Asked)[], "said" | "asked"][]} */ ([[records.console, "said"], [records.requests, "asked"]])) {
    let place = 0;
    const isTimeless = (/** @type {Said | Asked} */ one) => Number(Number.isNaN(one.at)); // they would break the order of the others
    for (const one of [...list].sort((a, b) => isTimeless(a) - isTimeless(b) || a.at - b.at || 0)) {
      while (place + 1 < starts.length && !(starts[place + 1] > one.at) && !Number.isNaN(one.at)) place += 1;
      one.entry = place;
    }
    for (const one of list) /** @type {any[] | undefined} */ (entries[one.entry]?.[name])?.push(one);
  }
}

/** @param {Said[]} said */
function saidInWords(said) {
  const errors = said.filter((one) => one.isError).length;
  return `${counted(said.length, "line")}${errors ? `, ${counted(errors, "error")}` : ""}`;
}

/** @param {Asked[]} asked */
function askedInWords(asked) {
  const failed = asked.filter((one) => one.isFailed).length;
  return `${asked.length.toLocaleString("en")}${failed ? `, ${failed.toLocaleString("en")} failed` : ""}`;
}

/**
 * A box that is closed, and filled when it is opened for the first time.
 * @param {string} title @param {boolean} isLoud @param {() => any} content
 */
function closedBox(title, isLoud, content) {
  const box = element("details", { className: "record" }, element("summary", { className: isLoud ? "loud" : "", textContent: title }));
  box.addEventListener("toggle", () => box.append(content()), { once: true });
  return box;
}

/** Console and requests of an entry. @param {Entry} entry */
function recordsOfEntry({ said, asked }) {
  const parts = [];
  if (said.length) parts.push(closedBox(`Console: ${saidInWords(said)}`, said.some((one) => one.isError), () => saidList(said, null, null)));
  if (asked.length) parts.push(closedBox(`Requests: ${askedInWords(asked)}`, asked.some((one) => one.isFailed), () => askedTable(asked, null, null)));
  return parts;
}

/**
 * All that was recorded of an attempt.
 * @param {Row} row @param {Details} details @param {Entry[]} entries @param {(place: number) => void} go opens an entry
 */
function recordParts(row, details, entries, go) {
  const { output, console, requests, isConsole, isHar, notes, markup, downloads } = details.records;
  const parts = [];
  if (output.length) parts.push(closedBox(`Output of the code: ${counted(output.length, "line")}`, false, () => outputList(row, output, details)));
  if (isConsole) {
    const loud = console.some((one) => one.isError);
    parts.push(console.length ? closedBox(`Console: ${saidInWords(console)}`, loud, () => saidList(console, entries, go)) : element("p", { className: "none", textContent: "No console output." }));
  }
  if (isHar) {
    const loud = requests.some((one) => one.isFailed);
    parts.push(requests.length ? closedBox(`Requests: ${askedInWords(requests)}`, loud, () => askedTable(requests, entries, go)) : element("p", { className: "none", textContent: "Requests: none." }));
  }
  if (markup.size) parts.push(closedBox(`Markup of the page: ${counted(markup.size, "copy", "copies")}`, false, () => element("p", { className: "files" }, ...[...markup].flatMap((name) => [markupLink(row, name, details), " "]))));
  if (downloads.length) parts.push(element("p", { className: "files" }, `Downloads: ${counted(downloads.length, "file")}. `, ...downloads.flatMap((one) => downloadParts(row, details, one))));
  if (details.files.includes("trace.zip")) parts.push(traceLine(row, details));
  parts.push(...notes.map((text) => element("p", { className: "hint", textContent: text })));
  return parts;
}

/** @param {Row} row @param {Details} details */
function traceLine(row, details) {
  const line = element("p", {}, "Trace: ", fileLink(row, "trace.zip", details));
  if (row.run.alone) return line.append(", which is not in this page."), line;
  const path = [row.run.home, "tasks", row.key, "trace.zip"].filter(Boolean).join("/");
  const word = /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
  line.append(". In the folder of this page, type ", element("code", { textContent: `playwright show-trace ${word}` }));
  return line;
}

/** The markup of a page; a copy that does not begin with the policy that stills it is no link. @param {Row} row @param {string} name @param {Details} details */
function markupLink(row, name, details) {
  if (row.run.alone || !details.records.markup.has(name)) return element("bdi", { textContent: `dom/${name}` });
  return element("a", { href: way(row, "dom", name), target: "_blank", rel: "noopener", textContent: `dom/${name}` });
}

/** A file that was downloaded: no link where a browser might run what is in it. @param {Row} row @param {Details} details @param {[string, number | null, string]} one */
function downloadParts(row, details, [name, size, problem]) {
  const text = visible(name);
  const shown = !problem && !row.run.alone && details.files.length && HARMLESS.test(name) ? element("a", { href: way(row, "downloads", name), download: name, target: "_blank", rel: "noopener", textContent: text }) : element("bdi", { textContent: text });
  const why = [size === null ? "" : `${size.toLocaleString("en")} bytes`, problem && `not kept: ${visible(problem)}`].filter(Boolean).join(", ");
  return [shown, why ? ` (${why}) ` : " "];
}

const MOST_WRITTEN = 2000;

/** The last lines of an output; its file has all. @param {Row} row @param {Written[]} output @param {Details} details */
function outputList(row, output, details) {
  const before = output.length - MOST_WRITTEN;
  const lines = output.slice(-MOST_WRITTEN).map(({ kind, text }) => element("li", { "data-kind": kind }, element("b", { className: kind === "stderr" || kind === "warning" ? "failed" : "soft", textContent: kind }), " ", element("bdi", { className: "given", textContent: text })));
  const more = before > 0 ? [element("p", { className: "hint" }, `${before.toLocaleString("en")} lines before these are in `, fileLink(row, "output.txt", details), ".")] : [];
  return element("div", { className: "said scrolls", tabIndex: 0, role: "group", ariaLabel: "Output of the code" }, ...more, element("ol", {}, ...lines));
}

/** @param {Said[]} said @param {Entry[] | null} entries if each line leads to its entry @param {((place: number) => void) | null} go */
function saidList(said, entries, go) {
  const lines = said.map((one) => {
    const cut = one.cut ? ` … ${one.cut.toLocaleString("en")} more characters` : "";
    const where = [one.url && `${one.url}${one.line === null ? "" : `:${one.line}`}`, one.tab && one.tab > 1 ? `tab ${one.tab}` : ""].filter(Boolean).join(", ");
    return element(
      "li",
      { "data-kind": one.kind },
      entries ? stepButton(entries, one.entry, go) : null,
      element("b", { className: one.isError ? "failed" : "soft", textContent: one.kind === "uncaught" ? "uncaught error" : brief(visible(one.kind), 30) }),
      " ",
      element("bdi", { className: "given", textContent: one.text + cut }),
      where ? element("span", { className: "soft where" }, " ", element("bdi", { textContent: brief(where, 300) })) : null,
    );
  });
  return element("div", { className: "said scrolls", tabIndex: 0, role: "group", ariaLabel: "Console" }, element("ol", {}, ...lines));
}

/** @param {Entry[]} entries @param {number} place @param {((place: number) => void) | null} go */
function stepButton(entries, place, go) {
  const entry = entries[place];
  if (!entry || !go || entry.kind === "picture") return null;
  const name = entry.number === null ? `line ${place + 1}` : `step ${entry.number}`;
  return element("button", { type: "button", className: "to", textContent: name, onclick: () => go(place) });
}

/** @param {Asked[]} asked @param {Entry[] | null} entries @param {((place: number) => void) | null} go */
function askedTable(asked, entries, go) {
  const titles = [...(entries ? ["Step"] : []), "Method", "Status", "Address", "Type", "Size", "Time"];
  const lines = asked.map((one) => {
    const { status: code } = one; // null is not known
    const why = one.failure || (code === 0 ? "no reply" : "");
    const status = element("span", { className: one.isFailed ? "failed" : "", textContent: code === null ? "–" : code > 0 ? String(code) : "✗" });
    return element(
      "tr",
      one.isFailed ? { "data-failed": "" } : {},
      entries ? element("td", {}, stepButton(entries, one.entry, go)) : null,
      element("td", {}, element("bdi", { textContent: one.method })),
      element("td", {}, status, why ? element("bdi", { className: "soft", textContent: ` ${why}` }) : null, one.isFailed ? element("span", { className: "unseen", textContent: " failed" }) : null),
      element("td", { className: "address" }, element("bdi", { textContent: one.url })),
      element("td", {}, element("bdi", { textContent: one.type })),
      element("td", { className: "amount", textContent: one.size === null ? "–" : bytes(one.size) }),
      element("td", { className: "amount", textContent: time(one.ms) }),
    );
  });
  const table = element("table", { className: "asked" }, element("caption", { className: "unseen", textContent: "Requests" }));
  table.append(element("thead", {}, element("tr", {}, ...titles.map((title) => element("th", { scope: "col", textContent: title })))), element("tbody", {}, ...lines));
  return element("div", { className: "scrolls", tabIndex: 0, role: "group", ariaLabel: "Requests" }, table);
}

/** @param {number} size */
const bytes = (size) => (size < 1000 ? `${size} B` : size < 999500 ? `${(size / 1000).toFixed(size < 99500 ? 1 : 0)} kB` : `${(size / 1e6).toFixed(1)} MB`);
