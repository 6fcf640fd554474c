/* How Sphinx's search ranks what it finds: pages before Python names, titles with the words that were asked for first. */
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, title, anchor, , score, , kind]) => {
    const behind = page.startsWith("reference/api/") ? 4 : 0;
    if (kind === "object") return score - behind;
    const asked = new URLSearchParams(window.location.search).get("q") || "";
    const words = new Set(asked.toLowerCase().match(/[\w-]{3,}/g) || []);
    const found = [...words].filter((word) => title.toLowerCase().includes(word.replace(/(s|ed|ing)$/, "")));
    // A section of a page is named "Page > Section": its page comes first where both have the words.
    return score + 2 * found.length - (anchor ? 1 : 0) - behind;
  },
};
