"use strict";
// Markup with everything escaped that is put into it.
class Markup {
  constructor(text) {
    this.text = text;
  }
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const raw = (text) => new Markup(text);

function escaped(value) {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(escaped).join("");
  if (value === null || value === undefined || value === false) return "";
  return String(value).replace(/[&<>"']/g, (letter) => ESCAPES[letter]);
}

const html = (parts, ...values) => raw(parts.reduce((text, part, i) => text + escaped(values[i - 1]) + part));
const $ = (selector) => document.querySelector(selector);
const query = new URLSearchParams(location.search);

