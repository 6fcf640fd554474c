"use strict";
// The frame around every page.
const PAGES = [["./", "Home"], ["leave.html", "Leave"], ["people.html", "People"], ["rooms.html", "Rooms"], ["board.html", "Board"], ["feedback.html", "Feedback"]];

// Draws navigation and body. Pages call it again whenever something has changed.
function draw(body) {
  const here = location.pathname.split("/").pop() || "./";
  const items = PAGES.map(([url, label]) => html`<a href="${url}" ${url === (here === "index.html" ? "./" : here) && raw('aria-current="page"')}>${label}</a>`);
  document.body.innerHTML = html`<nav class="side" aria-label="Main"><p class="logo"><img src="icon.svg" alt="" width="30" height="30">Northgate</p>${items}
    <p class="who"><b>Robin Ekström</b>Workplace team</p></nav><main>${body}</main>`.text;
}

const say = (text) => ($("#notice").textContent = text);
const NOTICE = raw('<p id="notice" role="status"></p>');
