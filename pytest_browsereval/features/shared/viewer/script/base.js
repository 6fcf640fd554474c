// What comes from a row, a page or a model is written by textContent only, never as HTML.

/** @typedef {"passed" | "failed" | "errored" | "unfinished" | "damaged"} Verdict */
/** @typedef {string | Node | null | false | undefined} Child */

/** What stands for verdicts where there are no colours, the ones to look at first in front. */
const MARKS = /** @type {Record<string, string>} */ ({ damaged: "‽", errored: "!", failed: "✗", unfinished: "…", passed: "✓" });
const ORDER = Object.keys(MARKS);
/** From what went well to what nobody knows. */
const PARTS = ["passed", "failed", "errored", "unfinished", "damaged"];
const LONGEST_TEXT = 20000;

/** @param {string} id @returns {any} */
const $ = (id) => document.getElementById(id);

/**
 * Makes an element. Properties that are no property of elements are set as attributes.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...Child} children
 * @returns {any}
 */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  assign(made, properties);
  made.append(.../** @type {(string | Node)[]} */ (children.filter((child) => child || child === "")));
  return made;
}

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {any}
 */
function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(.../** @type {(string | Node)[]} */ (children.filter(Boolean)));
  return made;
}

/** @param {any} target @param {Record<string, any>} properties */
function assign(target, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (name in target) target[name] = value;
    else target.setAttribute(name, String(value));
  }
}

/** @param {number} count @param {string} word @param {string} [many] */
const counted = (count, word, many) => `${count.toLocaleString("en")} ${count === 1 ? word : many || `${word}s`}`;

/** A share; only all of it is 100 %, and only none of it 0 %. @param {number | null | undefined} share */
function percent(share) {
  if (share === null || share === undefined) return "–";
  const exact = 100 * share;
  const isEnd = exact < 1e-7 || exact > 100 - 1e-7; // ends of intervals are off by the last digits of a float
  const rounded = isEnd ? exact : Math.min(Math.max(exact, 0.1), 99.9);
  return `${rounded.toFixed(share > 0.0995 && exact < 99.5 ? 0 : 1).replace(/\.0$/, "")}\u00a0%`;
}

/** A time in seconds, longer ones in minutes and hours. @param {number | null | undefined} ms */
function time(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.max(ms / 1000, ms && 0.01).toFixed(2)} s`;
  if (ms < 59950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts[0] ? `${parts[0]} h ${parts[1]} min` : `${parts[1]} min ${parts[2]} s`;
}

/** @param {number | null | undefined} usd */
function money(usd) {
  if (usd === null || usd === undefined) return "–";
  if (!usd) return "$0";
  return `$${usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(usd < 10 ? 3 : 2)}`;
}

/** @param {any} usage */
function tokens(usage) {
  if (!usage || !usage.requests) return "";
  const parts = [`${Number(usage.input_tokens).toLocaleString("en")} in`, `${Number(usage.output_tokens).toLocaleString("en")} out`];
  if (usage.cache_read_tokens) parts.push(`${Number(usage.cache_read_tokens).toLocaleString("en")} of them cached`);
  if (usage.cache_write_tokens) parts.push(`${Number(usage.cache_write_tokens).toLocaleString("en")} written to the cache`);
  if (usage.requests > 1) parts.push(counted(usage.requests, "call"));
  if (usage.cost_usd !== null && usage.cost_usd !== undefined) parts.push(money(usage.cost_usd));
  return parts.join(", ");
}

/** A value as text: what is none is laid out as JSON. @param {any} value @returns {string} */
function asText(value) {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value, null, 1);
}

/** @param {string} text @param {number} [longest] */
function brief(text, longest = 200) {
  const flat = text.slice(0, 4 * longest).replace(/\s+/g, " ").trim();
  return flat.length > longest ? `${flat.slice(0, longest)}…` : flat;
}

/**
 * A long text in a box; what is left out is shown when asked for.
 * @param {string} title @param {string} text @param {string} [kind] of its style
 */
function textBox(title, text, kind = "") {
  const box = element("pre", { className: kind, tabIndex: 0, role: "group", ariaLabel: title });
  box.textContent = text.slice(0, LONGEST_TEXT);
  const parts = [element("h4", { textContent: title }), box];
  if (text.length > LONGEST_TEXT) {
    const more = element("button", { type: "button", textContent: `Show ${(text.length - LONGEST_TEXT).toLocaleString("en")} more characters` });
    more.onclick = () => {
      box.textContent = text;
      more.remove();
    };
    parts.push(more);
  }
  return parts;
}

/** A path below this page, as an address. @param {...string} parts */
const addressOfPath = (...parts) => parts.filter(Boolean).join("/").split("/").map(encodeURIComponent).join("/");

/** A file of an attempt, from this page. @param {Row} row @param {...string} parts */
const way = (row, ...parts) => addressOfPath(row.run.home, "tasks", row.key, ...parts);

/** Sites under test listen there; when the page is read, nobody does. */
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/;

/** An address, as a link if it is one of the web and not of a site that has ended. @param {string} address */
function webAddress(address) {
  const host = /^https?:\/\//i.test(address) && URL.canParse(address) ? new URL(address).hostname : "";
  if (!host || LOOPBACK.test(host)) return element("bdi", { textContent: address });
  return element("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow", textContent: address });
}

/** @param {string} kind @param {string} [name] of the attribute that colours it @param {string} [word] */
function badge(kind, name = "verdict", word = kind) {
  const mark = element("span", { ariaHidden: "true", textContent: MARKS[kind] || "?" });
  return element("span", { className: "badge", [`data-${name}`]: kind }, mark, element("span", { className: "word", textContent: ` ${word}` }));
}

/**
 * A list of facts; those without a value are left out.
 * @param {any} list @param {[string, Child | undefined][]} facts
 */
function fill(list, facts) {
  list.replaceChildren();
  for (const [name, value] of facts)
    if (value) list.append(element("dt", { textContent: name }), element("dd", {}, value));
}

const narrow = matchMedia("(max-width: 900px)");

/** @type {any} */
const DATA = JSON.parse($("data").textContent);
