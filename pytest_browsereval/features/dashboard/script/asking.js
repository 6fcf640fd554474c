// Details of attempts are asked for, each time anew: they grow while one looks.

/** @param {Row} row @returns {Promise<Details>} */
async function detailsOf(row) {
  const answer = await fetch(`attempts/${row.key.split("/").map(encodeURIComponent).join("/")}`).catch(() => null);
  if (!answer) throw new Error("The run has ended, and what served this page with it. The run's own page has all: index.html in its folder.");
  if (!answer.ok) throw new Error("The attempt cannot be read.");
  return parsed(await answer.json());
}

/** To search in texts of attempts, all of them would be asked for. */
const HAS_TEXTS = false;
const keptOf = () => undefined;
const load = () => Promise.resolve();

/** No picture is inside of this page. @returns {string | undefined} */
const insideOf = () => undefined;
