"use strict";
// A text field that is only a picture. Keys go to a hidden box that no selector reaches.
const BOX = { left: 20, top: 34, width: 250, height: 40 };
const badge = $("#badge");
const ink = document.createElement("textarea");
ink.rows = 1;
ink.setAttribute("aria-hidden", "true");
$("#ink").attachShadow({ mode: "closed" }).append(ink);

const drawBadge = drawing(badge, (context, width, height) => {
  context.fillStyle = "#a4373a";
  context.fillRect(0, 0, width, height);
  label(context, "HELLO, MY NAME IS", width / 2, 22, "#fff", 13);
  context.fillStyle = "#fff";
  context.fillRect(BOX.left, BOX.top, BOX.width, BOX.height);
  const { focused, value } = truth.field;
  if (focused) {
    context.lineWidth = 3;
    context.strokeStyle = "#56a8f5";
    context.strokeRect(BOX.left, BOX.top, BOX.width, BOX.height);
  }
  context.font = "20px system-ui, Arial, sans-serif";
  const widthTo = (end) => context.measureText(value.slice(0, end)).width;
  const [from, to] = [ink.selectionStart, ink.selectionEnd];
  if (focused && to > from) {
    context.fillStyle = "#bcdcff";
    context.fillRect(BOX.left + 12 + widthTo(from), BOX.top + 7, widthTo(to) - widthTo(from), 26);
  }
  label(context, value || (focused ? "" : "click and type"), BOX.left + 12, BOX.top + 27, value ? "#12202b" : "#a9b7c1", 20, "left");
  if (focused && to === from) {
    context.fillStyle = "#12202b";
    context.fillRect(BOX.left + 12 + widthTo(to), BOX.top + 8, 1.5, 24);
  }
});

function note() {
  truth.field = { focused: $("#ink") === document.activeElement, value: ink.value };
  drawBadge();
  writeRecord();
}

// Writes a name on the badge. For a task's setup_script.
function wear(name) {
  ink.value = name;
  note();
}

badge.addEventListener("mousedown", (event) => {
  event.preventDefault();
  const { x, y } = within(badge, event);
  const inside = x >= BOX.left && x <= BOX.left + BOX.width && y >= BOX.top && y <= BOX.top + BOX.height;
  if (!inside) ink.blur();
  else if (event.detail > 1) ink.select();
  else ink.focus();
});

ink.addEventListener("keydown", (event) => {
  if (event.key === "Enter") event.preventDefault();
});
for (const kind of ["focus", "blur", "input", "keyup", "select"]) ink.addEventListener(kind, note);
drawBadge();
