// A picture of the page, with a mark where the pointer went.

/** Points that arguments have, from the first one to the last. @param {any} params @returns {[number, number][]} */
function pointsOf(params) {
  /** @type {[string, string][]} */
  const names = [["x", "y"], ["start_x", "start_y"], ["end_x", "end_y"]];
  const pairs = names.map(([x, y]) => [params?.[x], params?.[y]]);
  return /** @type {[number, number][]} */ (pairs.filter((pair) => pair.every((value) => typeof value === "number" && Number.isFinite(value) && value >= 0)));
}

/**
 * @param {Row} row @param {string} name the picture's file @param {string} alt @param {[number, number][]} points
 */
function pictureOf(row, name, alt, points) {
  const inside = row.run.alone ? insideOf(row, name) : "";
  if (inside === undefined) return element("p", { className: "none shot-gone", textContent: `The picture ${name} is left out of this page.` });
  const address = inside || way(row, "screenshots", name);
  const image = element("img", { alt, loading: "lazy", decoding: "async" });
  const frame = inside
    ? element("span", { className: "shot" }, image)
    : element("a", { className: "shot", href: address, target: "_blank", rel: "noopener", title: "Open the picture" }, image);
  image.onload = () => mark(frame, image, points);
  image.onerror = () => {
    image.remove();
    frame.replaceWith(element("p", { className: "none shot-gone", textContent: `The picture ${name} cannot be shown.` }));
  };
  image.src = address;
  return frame;
}

/** @param {any} frame @param {HTMLImageElement} image @param {[number, number][]} points */
function mark(frame, image, points) {
  const { naturalWidth: width, naturalHeight: height } = image;
  const [first, last] = [points[0], points[points.length - 1]];
  if (!points.length) return;
  const over = drawing("svg", { viewBox: `0 0 ${width} ${height}`, class: "pointer", "aria-hidden": "true", preserveAspectRatio: "none" });
  if (points.length > 1)
    for (const kind of ["halo", "line"]) over.append(drawing("line", { x1: first[0], y1: first[1], x2: last[0], y2: last[1], class: kind }));
  const radius = Math.max(width / 60, 8);
  for (const [x, y] of points)
    for (const kind of ["halo", "line"]) over.append(drawing("circle", { cx: x, cy: y, r: radius, class: kind }));
  over.append(drawing("circle", { cx: last[0], cy: last[1], r: radius / 5, class: "point" }));
  frame.append(over);
}
