// A picture of the page, with a mark where the pointer went.

/** Where a call acted, from the first point to the last: as the page said, or as its arguments have it. @param {Entry} entry @returns {[number, number][]} */
function pointsOf({ message: { params }, result }) {
  /** @type {[string, string][]} */
  const names = [["x", "y"], ["start_x", "start_y"], ["end_x", "end_y"], ["startX", "startY"], ["endX", "endY"]];
  const lists = [result?.hit?.points, params?.path, params?.then].filter(Array.isArray);
  const pairs = [...names.map(([x, y]) => [params?.[x], params?.[y]]), ...lists.flat()];
  const isPoint = (/** @type {any} */ pair) => Array.isArray(pair) && pair.length === 2 && pair.every((value) => Number.isFinite(value) && value >= 0);
  return /** @type {[number, number][]} */ (pairs.filter(isPoint));
}

/** Whether what a call did was a way, and not one click after the other. @param {Entry} entry */
const isWay = ({ message: { params } }) => !Array.isArray(params?.then);

/** Whether a step's points are those of a picture: a page that has moved or gone meanwhile shows something else there. @param {Entry} entry @param {boolean} isBefore */
const isMarked = ({ result, isMoved }, isBefore) => (isBefore ? !result?.hit?.has_scrolled : !isMoved);

/**
 * @param {Row} row @param {string} name the picture's file @param {string} alt @param {[number, number][]} points @param {boolean} joined whether a line leads through them
 */
function pictureOf(row, name, alt, points, joined) {
  const inside = row.run.alone ? insideOf(row, name) : "";
  if (inside === undefined) return element("p", { className: "none shot-gone", textContent: `The picture ${name} is left out of this page.` });
  const address = inside || way(row, "screenshots", name);
  const image = element("img", { alt, loading: "lazy", decoding: "async" });
  const frame = inside
    ? element("span", { className: "shot" }, image)
    : element("a", { className: "shot", href: address, target: "_blank", rel: "noopener", title: "Open the picture" }, image);
  image.onload = () => mark(frame, image, points, joined);
  image.onerror = () => {
    image.remove();
    frame.replaceWith(element("p", { className: "none shot-gone", textContent: `The picture ${name} cannot be shown.` }));
  };
  image.src = address;
  return frame;
}

/** @param {any} frame @param {HTMLImageElement} image @param {[number, number][]} points @param {boolean} joined */
function mark(frame, image, points, joined) {
  if (!points.length) return;
  const { naturalWidth: width, naturalHeight: height } = image;
  const last = points[points.length - 1];
  const over = drawing("svg", { viewBox: `0 0 ${width} ${height}`, class: "pointer", "aria-hidden": "true", preserveAspectRatio: "none" });
  if (points.length > 1 && joined) for (const kind of ["halo", "line"]) over.append(drawing("polyline", { points: points.join(" "), class: kind }));
  const radius = Math.max(width / 60, 8);
  for (const [x, y] of joined ? new Set([points[0], last]) : points)
    for (const kind of ["halo", "line"]) over.append(drawing("circle", { cx: x, cy: y, r: radius, class: kind }));
  over.append(drawing("circle", { cx: last[0], cy: last[1], r: radius / 5, class: "point" }));
  frame.append(over);
}
