"use strict";
// Six targets, the smallest 16 pixels wide. A hit is inside the circle, not inside its box.
const TARGETS = [
  { name: "red", colour: "#ef6461", diameter: 96, left: 120, top: 98, hits: 0 },
  { name: "orange", colour: "#f29e4c", diameter: 64, left: 310, top: 88, hits: 0 },
  { name: "yellow", colour: "#f1d64b", diameter: 48, left: 500, top: 78, hits: 0 },
  { name: "green", colour: "#6fcf97", diameter: 32, left: 110, top: 268, hits: 0 },
  { name: "blue", colour: "#56a8f5", diameter: 24, left: 320, top: 228, hits: 0 },
  { name: "violet", colour: "#b28dff", diameter: 16, left: 530, top: 288, hits: 0 },
];
const arena = $("#arena");

function ring(context, target) {
  const radius = target.diameter / 2;
  for (const [part, colour] of [[1, target.colour], [0.66, "#fff"], [0.33, target.colour]]) {
    context.beginPath();
    context.arc(target.left, target.top, radius * part, 0, 7);
    context.fillStyle = colour;
    context.fill();
  }
  label(context, `${target.name} · ${target.diameter} px${target.hits ? " ✓" : ""}`, target.left, target.top + radius + 20, target.hits ? "#6fcf97" : "#8fa5b5");
}

function mark(context, shot, box) {
  const [x, y] = [(shot.x - box.left) / zoomOf(arena), (shot.y - box.top) / zoomOf(arena)];
  context.strokeStyle = shot.hit ? "#12202b" : "#8fa5b5";
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x - 4, y - 4);
  context.lineTo(x + 4, y + 4);
  context.moveTo(x + 4, y - 4);
  context.lineTo(x - 4, y + 4);
  context.stroke();
}

const drawArena = drawing(arena, (context, width, height) => {
  context.fillStyle = "#16252f";
  context.fillRect(0, 0, width, height);
  context.strokeStyle = "#1d303d";
  for (let x = 20; x < width; x += 40) context.strokeRect(x, -1, 40, height + 2);
  for (let y = 6; y < height; y += 40) context.strokeRect(-1, y, width + 2, 40);
  for (const target of TARGETS) ring(context, target);
  for (const shot of truth.shots) mark(context, shot, arena.getBoundingClientRect());
  truth.targets = onScreen(arena, TARGETS);
});

function shoot(event) {
  const at = { x: event.clientX, y: event.clientY };
  const ranked = onScreen(arena, TARGETS).map((target) => ({ ...target, distance: distance(at, target) })).sort((a, b) => a.distance - b.distance);
  const struck = ranked.find((target) => target.distance <= target.diameter / 2);
  if (struck) TARGETS.find((target) => target.name === struck.name).hits += 1;
  truth.shots.push({
    ...at, hit: Boolean(struck), target: struck?.name ?? null, nearest: ranked[0].name, distance: (struck ?? ranked[0]).distance,
    button: ["left", "middle", "right"][event.button], click_count: event.detail, device_pixel_ratio: devicePixelRatio,
  });
  truth.hits = truth.shots.filter((shot) => shot.hit).length;
  truth.misses = truth.shots.length - truth.hits;
  truth.all_hit = TARGETS.every((target) => target.hits > 0);
  drawArena();
  writeRecord();
}

arena.addEventListener("mousedown", shoot);
arena.addEventListener("contextmenu", (event) => event.preventDefault());
drawArena();
