// Search within an attempt: entries of its timeline that have all words are marked, and one goes from one to the next.

/** The entries that are found, by their places. @type {number[]} */
let hits = [];

/** All that an entry has said. @param {Entry} entry */
const textOfEntry = (entry) => (entry.text ||= wordsIn([entry.message, entry.result, entry.said.map((one) => one.text)]).join("\n").toLowerCase());

/** @param {string} query @param {Entry[]} entries */
function find(query, entries) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  hits = words.length ? entries.flatMap((entry, place) => (words.every((word) => textOfEntry(entry).includes(word)) ? [place] : [])) : [];
  [...$("entries").children].forEach((line, place) => line.toggleAttribute("data-hit", hits.includes(place)));
  $("hits").textContent = words.length ? `${hits.length.toLocaleString("en")} of ${counted(entries.length, "line")}` : "";
  $("next-hit").hidden = !hits.length;
}

/** Looks for what the list was searched for; what only a task or a tag says is in no line. @param {Entry[]} entries */
function findChosen(entries) {
  $("find").value = choice.query;
  find(choice.query, entries);
  if (hits.length) return;
  $("find").value = "";
  find("", entries);
}

/** @param {number} from @param {number} by @returns {number | undefined} */
const nextHit = (from, by) => (by > 0 ? hits.find((place) => place > from) ?? hits[0] : hits.findLast((place) => place < from) ?? hits[hits.length - 1]);
