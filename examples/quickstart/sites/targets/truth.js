"use strict";
// What really happened on this page. All numbers are CSS pixels of the viewport.
window.truth = {
  device_pixel_ratio: devicePixelRatio,
  viewport: { width: innerWidth, height: innerHeight },
  targets: [],
  shots: [],
  hits: 0,
  misses: 0,
  all_hit: false,
  places: [],
  drags: [],
  field: { focused: false, value: "" },
  hover: { inside: false, entered: 0, x: null, y: null },
  scroll: { top: 0, max: 0, at_end: false, first_day: 1, last_day: 1 },
};

const $ = (selector) => document.querySelector(selector);
const round = (number) => Math.round(number * 100) / 100;
const distance = (a, b) => round(Math.hypot(a.x - b.x, a.y - b.y));
const redraws = [];

// A canvas that is sharp at any device scale; `paint` gets a context in CSS pixels.
function drawing(canvas, paint) {
  const { width, height } = { width: canvas.width, height: canvas.height };
  const redraw = () => {
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    const context = canvas.getContext("2d");
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    paint(context, width, height);
  };
  redraws.push(redraw);
  return redraw;
}

// How much larger an element is drawn than it is laid out: the page may be zoomed.
const zoomOf = (element) => element.getBoundingClientRect().width / element.offsetWidth;

// Where an event is inside an element, in the element's own pixels.
function within(element, event) {
  const [box, zoom] = [element.getBoundingClientRect(), zoomOf(element)];
  return { x: (event.clientX - box.left) / zoom, y: (event.clientY - box.top) / zoom };
}

// Things drawn on a canvas, with their centres and sizes as they are in the viewport.
function onScreen(canvas, things) {
  const [box, zoom] = [canvas.getBoundingClientRect(), zoomOf(canvas)];
  return things.map(({ left, top, diameter, ...rest }) => ({ ...rest, diameter: diameter * zoom, x: box.left + left * zoom, y: box.top + top * zoom }));
}

function label(context, text, x, y, colour = "#dbe6ee", size = 13, align = "center") {
  context.font = `${size}px system-ui, "Segoe UI", Roboto, Arial, sans-serif`;
  context.fillStyle = colour;
  context.textAlign = align;
  context.fillText(text, x, y);
}

function refresh() {
  truth.device_pixel_ratio = devicePixelRatio;
  truth.viewport = { width: innerWidth, height: innerHeight };
  for (const redraw of redraws) redraw();
}

for (const kind of ["resize", "scroll"]) addEventListener(kind, refresh);
$("#reset").addEventListener("click", () => location.reload());
