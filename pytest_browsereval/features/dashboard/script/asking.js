// Details of attempts are asked for, each time anew: they grow while one looks. Those of attempts that are over are
// kept, for when nobody answers any more.

/** By the attempts' keys, as they were sent. @type {Map<string, string>} */
const sent = new Map();
/** Characters: more would make the browser slow. */
const MOST_SENT = 60e6;
let sentSize = 0;

/** @param {Row} row @returns {Promise<Details>} */
async function detailsOf(row) {
  const text = await askDetails(row);
  if (text === undefined) throw new Error("The attempt cannot be read.");
  if (text === null) throw new Error(`The run and this page’s server have ended. Open the page of the run: ${DATA.live.folder}/index.html`);
  return parsed(JSON.parse(text));
}

/** Returns null where nobody answers, and undefined for an attempt that cannot be read. @param {Row} row */
async function askDetails({ key, verdict }) {
  const answer = await fetch(`attempts/${key.split("/").map(encodeURIComponent).join("/")}`).catch(() => null);
  if (!answer) return sent.get(key) ?? null;
  if (!answer.ok) return undefined;
  const text = await answer.text();
  if (verdict === "unfinished" || sentSize + text.length > MOST_SENT) return text;
  sentSize += text.length - (sent.get(key)?.length || 0);
  sent.set(key, text);
  return text;
}

/** Asks for the details of an attempt that is over, unless they are there. @param {Row} row */
const keepDetails = (row) => sent.has(row.key) || sentSize > MOST_SENT || void askDetails(row).catch(() => null);

const MOST_AHEAD = 300;

/** Asks for those that were over before the page was opened, one after another, what did not pass first. @param {Row[]} rows */
async function keepKnown(rows) {
  const over = rows.filter((row) => row.verdict !== "unfinished").sort((a, b) => Number(a.verdict === "passed") - Number(b.verdict === "passed"));
  for (const row of over.slice(0, MOST_AHEAD)) if (!sent.has(row.key) && (await askDetails(row).catch(() => null)) === null) return;
}

/** To search in texts of attempts, all of them would be asked for. */
const HAS_TEXTS = false;
const keptOf = () => undefined;
const load = () => Promise.resolve();

/** No picture is inside of this page. @returns {string | undefined} */
const insideOf = () => undefined;
