// Details of attempts: a script with some of them is loaded when one is looked at.

/** Raw details by the attempt's key; the last scripts that were loaded. @type {{side: string, attempts: Map<string, any[]>}[]} */
const kept = [];
const MOST_KEPT = 8;
/** Whether the texts of attempts can be read to search in them. */
const HAS_TEXTS = true;

/** Called by a script with details; where there are two runs, it says of which. @type {any} */
(window).browsereval = (/** @type {Record<string, any[]>} */ given, side = "") => {
  kept.unshift({ side, attempts: new Map(Object.entries(given)) });
  kept.length = Math.min(kept.length, MOST_KEPT);
};

/** @param {Row} row */
const keptOf = ({ key, run }) => kept.find(({ side, attempts }) => side === run.side && attempts.has(key))?.attempts.get(key);

/**
 * @param {Row} row
 * @returns {Promise<Details>}
 */
async function detailsOf(row) {
  if (!keptOf(row)) await load(row.run, row.chunk);
  const raw = keptOf(row);
  if (!raw) throw new Error(`the details next to this page do not match it. Write it again: ${WRITTEN_BY}`);
  return parsed(raw);
}

/** @param {AboutRun} run @param {number} chunk @returns {Promise<void>} */
function load(run, chunk) {
  const inside = document.querySelector(`script[data-chunk="${Number(chunk)}"]`);
  if (inside) {
    /** @type {any} */ (window).browsereval(JSON.parse(inside.textContent || "{}"));
    return Promise.resolve();
  }
  const name = `${run.details}/${String(chunk).padStart(4, "0")}.js`;
  return new Promise((done, refuse) => {
    const script = document.createElement("script");
    script.src = addressOfPath(name);
    script.onload = () => done();
    script.onerror = () => refuse(new Error(`${name} is missing. It belongs next to this page; ${WRITTEN_BY} writes both`));
    document.head.append(script);
    script.addEventListener("load", () => script.remove());
  });
}

/** A picture that is inside of a page that stands alone. @param {Row} row @param {string} name @returns {string | undefined} */
const insideOf = (row, name) => keptOf(row)?.[7]?.[name];
