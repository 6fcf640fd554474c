// Details of attempts: a script with some of them is loaded when one is looked at.

/** Raw details by the attempt's key; the last scripts that were loaded. @type {Map<string, any[]>[]} */
const kept = [];
const MOST_KEPT = 8;

/** Called by a script with details. @type {any} */ (window).browsereval = (/** @type {Record<string, any[]>} */ given) => {
  kept.unshift(new Map(Object.entries(given)));
  kept.length = Math.min(kept.length, MOST_KEPT);
};

/** @param {string} key */
const keptOf = (key) => kept.find((one) => one.has(key))?.get(key);

/**
 * @param {Row} row
 * @returns {Promise<Details>}
 */
async function detailsOf(row) {
  if (!keptOf(row.key)) await load(row.chunk);
  const raw = keptOf(row.key);
  if (!raw) throw new Error("the details beside this page are of another time. Write it again: browsereval view RUN");
  return parsed(raw);
}

/** @param {number} chunk @returns {Promise<void>} */
function load(chunk) {
  const inside = document.querySelector(`script[data-chunk="${Number(chunk)}"]`);
  if (inside) {
    /** @type {any} */ (window).browsereval(JSON.parse(inside.textContent || "{}"));
    return Promise.resolve();
  }
  const name = `${String(chunk).padStart(4, "0")}.js`;
  return new Promise((done, refuse) => {
    const script = document.createElement("script");
    script.src = `${encodeURIComponent(DATA.run.details)}/${name}`;
    script.onload = () => done();
    script.onerror = () => refuse(new Error(`${DATA.run.details}/${name} is not there. It belongs beside this page; browsereval view RUN writes both`));
    document.head.append(script);
    script.addEventListener("load", () => script.remove());
  });
}

/** A picture that is inside of a page that stands alone. @param {Row} row @param {string} name @returns {string | undefined} */
const insideOf = (row, name) => keptOf(row.key)?.[6]?.[name];
