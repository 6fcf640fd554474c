"use strict";
// A map to draw on: each drag is kept with its whole path.
const PLACES = [
  { name: "Mill", left: 80, top: 60, diameter: 44 },
  { name: "Bridge", left: 300, top: 160, diameter: 44 },
  { name: "Harbour", left: 520, top: 60, diameter: 44 },
  { name: "Chapel", left: 130, top: 180, diameter: 44 },
];
const REACH = 22;
const map = $("#map");
let open = null;

function trail(context, drag, box) {
  context.strokeStyle = drag.from && drag.to && drag.from !== drag.to ? "#f2b84b" : "#9fb4c2";
  context.lineWidth = 3;
  context.lineJoin = context.lineCap = "round";
  context.beginPath();
  const zoom = zoomOf(map);
  drag.points.forEach(({ x, y }, i) => context[i ? "lineTo" : "moveTo"]((x - box.left) / zoom, (y - box.top) / zoom));
  context.stroke();
}

const drawMap = drawing(map, (context, width, height) => {
  context.fillStyle = "#1d3a36";
  context.fillRect(0, 0, width, height);
  context.strokeStyle = "#2b5a78";
  context.lineWidth = 26;
  context.beginPath();
  context.moveTo(380, -10);
  context.bezierCurveTo(330, 60, 260, 100, 306, 170);
  context.bezierCurveTo(330, 205, 300, 220, 290, 250);
  context.stroke();
  const box = map.getBoundingClientRect();
  for (const drag of open ? [...truth.drags, open] : truth.drags) trail(context, drag, box);
  for (const place of PLACES) {
    context.beginPath();
    context.arc(place.left, place.top, REACH, 0, 7);
    context.fillStyle = "#12202bcc";
    context.fill();
    context.lineWidth = 3;
    context.strokeStyle = "#f2b84b";
    context.stroke();
    label(context, place.name[0], place.left, place.top + 6, "#f2b84b", 17);
    label(context, place.name, place.left, place.top - REACH - 8);
  }
  truth.places = onScreen(map, PLACES).map(({ diameter, ...place }) => ({ ...place, radius: diameter / 2 }));
});

const at = (event) => ({ x: round(event.clientX), y: round(event.clientY) });
const placeAt = (point) => truth.places.find((place) => distance(place, point) <= place.radius)?.name ?? null;

map.addEventListener("pointerdown", (event) => {
  map.setPointerCapture(event.pointerId);
  open = { points: [at(event)], device_pixel_ratio: devicePixelRatio };
});

map.addEventListener("pointermove", (event) => {
  if (!open) return;
  const passed = event.getCoalescedEvents?.() ?? [];
  open.points.push(...(passed.length ? passed : [event]).map(at));
  drawMap();
});

map.addEventListener("pointerup", (event) => {
  if (!open) return;
  const points = [...open.points, at(event)].filter((point, i, all) => !i || point.x !== all[i - 1].x || point.y !== all[i - 1].y);
  const [start, end] = [points[0], points.at(-1)];
  const length = round(points.reduce((sum, point, i) => sum + (i ? Math.hypot(point.x - points[i - 1].x, point.y - points[i - 1].y) : 0), 0));
  truth.drags.push({ start, end, from: placeAt(start), to: placeAt(end), length, points, device_pixel_ratio: open.device_pixel_ratio });
  open = null;
  drawMap();
  writeRecord();
});

map.addEventListener("pointercancel", () => (open = null));
drawMap();
