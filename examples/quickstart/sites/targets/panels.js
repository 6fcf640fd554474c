"use strict";
// The envelope, the weather log, and the record of what happened.
const SECRET = "MARIGOLD";
const DAYS = 60;
const ROW = 26;
const SKIES = ["clear", "light cloud", "overcast", "drizzle", "rain", "fog", "storm"];
const envelope = $("#envelope");
const log = $("#log");

envelope.addEventListener("mouseenter", () => {
  truth.hover.entered += 1;
  envelope.className = "open";
  envelope.textContent = SECRET;
});
envelope.addEventListener("mouseleave", () => {
  truth.hover.inside = false;
  envelope.className = "";
  envelope.textContent = "Hold the pointer here";
  writeRecord();
});
envelope.addEventListener("mousemove", (event) => {
  Object.assign(truth.hover, { inside: true, x: event.clientX, y: event.clientY });
  writeRecord();
});

function day(n) {
  const sky = SKIES[(n * n + 3 * n) % SKIES.length];
  const wind = 4 + ((n * 37) % 29);
  return `<div class="day ${n % 2 ? "" : "even"}" style="top:${(n - 1) * ROW}px"><span>Day ${n}</span><span>${sky}</span><span>${wind} knots</span></div>`;
}

// Only the days in view exist: the others have to be scrolled to.
function showDays() {
  const first = Math.floor(log.scrollTop / ROW) + 1;
  const last = Math.min(DAYS, Math.ceil((log.scrollTop + log.clientHeight) / ROW));
  $("#days").innerHTML = Array.from({ length: last - first + 1 }, (_, i) => day(first + i)).join("");
  const max = log.scrollHeight - log.clientHeight;
  truth.scroll = { top: round(log.scrollTop), max, at_end: log.scrollTop >= max - 1, first_day: first, last_day: last };
  writeRecord();
}

function writeRecord() {
  const shot = truth.shots.at(-1);
  const drag = truth.drags.at(-1);
  const lines = {
    Targets: `${truth.hits} hit, ${truth.misses} missed${truth.all_hit ? ", all targets hit" : ""}`,
    "Last shot": shot ? `${shot.hit ? `hit ${shot.target}` : "missed"} at ${shot.x}, ${shot.y}, ${shot.distance} px from the centre of ${shot.nearest}` : "none",
    "Last trail": drag ? `${drag.from ?? "nowhere"} to ${drag.to ?? "nowhere"}, ${drag.length} px, ${drag.points.length} points` : "none",
    Badge: truth.field.value || "blank",
    Envelope: truth.hover.inside ? "open" : truth.hover.entered ? "closed again" : "sealed",
    Log: `days ${truth.scroll.first_day} to ${truth.scroll.last_day}${truth.scroll.at_end ? ", the end" : ""}`,
    Scale: `${devicePixelRatio}`,
  };
  $("#record").replaceChildren(...Object.entries(lines).flatMap(([name, text]) => {
    const [term, detail] = [document.createElement("dt"), document.createElement("dd")];
    [term.textContent, detail.textContent] = [name, text];
    return [term, detail];
  }));
}

$("#days").style.height = `${DAYS * ROW}px`;
log.addEventListener("scroll", showDays);
showDays();
redraws.push(writeRecord);
