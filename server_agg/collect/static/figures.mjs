// The figures of results: values with their bars, drawn as SVG at the width of the place they stand in, so that text keeps
// its size.  All shares of a page have one axis, from 0 to 100 of 100, between the same two edges; a number has its own.
// A figure can be saved as SVG or PNG: drawn anew, on white, with the question above and what the bars are below.

const SVG = "http://www.w3.org/2000/svg";
const PAPER = 760; // width of a saved or printed figure
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== "" && child !== null && child !== undefined));
  return element;
}

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

// ---- scales --------------------------------------------------------------------------------------------------------

export const count = (n) => n.toLocaleString("en"); // "3,900", as in the collector's sentences

/** Where the values of a question lie, and the marks of their axis, which the collector wrote as it wrote the values. */
export const scaleOf = ({ scale, axis }) => ({ low: scale.low, high: scale.high, ...axis });

// ---- drawings ------------------------------------------------------------------------------------------------------

const narrow = (width) => width < 620;

/** The two edges of the axis: the same for every figure of this width. */
const edges = (width) => (narrow(width) ? [12, width - 16] : [210, width - 150]);
const along = (scale, [start, end]) => (value) => start + ((value - scale.low) / (scale.high - scale.low)) * (end - start);

function lines(text, most, atMost = 2) {
  const found = [""];
  for (const word of text.split(/\s+/)) {
    const last = found.length - 1, joined = found[last] ? `${found[last]} ${word}` : word;
    if (joined.length <= most || !found[last]) found[last] = joined;
    else found.push(word);
  }
  const shown = found.slice(0, atMost).map((line) => (line.length > most ? line.slice(0, most - 1) + "…" : line));
  if (found.length > atMost) shown[atMost - 1] = shown[atMost - 1].slice(0, most - 1) + "…";
  return shown;
}

const FOOT = (width) => (narrow(width) ? 44 : 26); // below the rows: the marks of the axis, and in a narrow place its unit

function axis(svg, scale, width, x, top, bottom) {
  for (const [value, words] of scale.marks) {
    svg.append(draw("line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: bottom }));
    svg.append(draw("text", { class: "quiet", x: x(value), y: bottom + 18, "text-anchor": "middle" }, words));
  }
  if (scale.unit) svg.append(draw("text", { class: "small quiet", x: width - 2, y: bottom + (narrow(width) ? 36 : 18), "text-anchor": "end" }, scale.unit));
}

function mark(svg, it, x, y) {
  svg.append(draw("line", { class: "bar", x1: x(it.low), x2: x(it.high), y1: y, y2: y }));
  for (const end of [it.low, it.high]) svg.append(draw("line", { class: "bar", x1: x(end), x2: x(end), y1: y - 7, y2: y + 7 }));
  svg.append(draw("circle", { class: it.value === it.shown ? "dot" : "hollow", cx: x(it.shown), cy: y, r: 6.5 }));
}

const spoken = (rows, scale) => rows.map((row) => `${row.label}: ${row.about}${row.fit ? ` (${row.fit})` : ""}`).join("; ") + (scale.share ? "" : ` (axis ${scale.ends})`);

/** Rows of {label, shown, low, high, value, n, fit}: each with its bar; `filled` from the axis' start, for options. */
export function rowsFigure(rows, scale, width, { filled = false, name = "" } = {}) {
  const slim = narrow(width), sides = rows.map((row) => [row.n === undefined || (slim && row.fit) ? "" : `n = ${count(row.n)}`, row.fit ? (row.unfit ? "do not use" : "see Method") : ""].filter(Boolean).join(", "));
  const high = !slim && rows.some((row, i) => row.label.length + sides[i].length > 24), tall = slim ? 48 : high ? 44 : 34;
  const x = along(scale, edges(width)), bottom = rows.length * tall + 4;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${bottom + FOOT(width)}`, width, height: bottom + FOOT(width), role: "img", "aria-label": `${name}${name ? ": " : ""}${spoken(rows, scale)}` });
  axis(svg, scale, width, x, 2, bottom);
  rows.forEach((row, i) => {
    const top = i * tall, y = top + (slim ? 32 : high ? 22 : 17), words = row.foreign === false ? "" : "foreign", side = sides[i];
    const label = slim ? lines(row.label, Math.floor((width - 130) / 7.5) - side.length, 1) : lines(row.label, 25, side ? 1 : 2);
    const first = slim ? top + 15 : label.length > 1 || (high && side) ? y - 3 : y + 5, note = row.fit ? "small warn" : "small quiet";
    const beside = side && (slim || !high) ? [draw("tspan", { class: note, dx: 8 }, side)] : [];
    label.forEach((line, j) => svg.append(draw("text", { class: words, x: slim ? 12 : 0, y: first + 17 * j }, draw("title", {}, row.label), line, ...(j ? [] : beside))));
    if (side && !beside.length) svg.append(draw("text", { class: note, x: 0, y: y + 13 }, side));
    svg.append(draw("text", { class: "number", x: slim ? width - 8 : width - 2, y: slim ? top + 15 : y + 5, "text-anchor": "end" }, row.text));
    if (filled) svg.append(draw("rect", { class: "band", x: x(scale.low), y: y - 10, width: Math.max(0.5, x(row.shown) - x(scale.low)), height: 20, rx: 2 }));
    mark(svg, row, x, y);
  });
  return svg;
}

/** The rounds in order, from left to right, on the whole scale. */
export function trendFigure(trend, scale, width, name = "") {
  const rounds = trend.rounds, top = 26, bottom = 196, [left, right] = [58, width - 20];
  const first = rounds[0].round, length = Math.max(1, rounds[rounds.length - 1].round - first);
  const x = (round) => left + 26 + ((round - first) / length) * (right - left - 52), y = (value) => bottom - ((value - scale.low) / (scale.high - scale.low)) * (bottom - top);
  const label = rounds.map((one) => `round ${one.round + 1}: ${one.about}${one.fit ? ` (${one.fit})` : ""}`).join("; ");
  const svg = draw("svg", { viewBox: `0 0 ${width} 240`, width, height: 240, role: "img", "aria-label": `${name}${name ? ", " : ""}by round: ${label}` });
  for (const [value, words] of scale.marks) {
    svg.append(draw("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }));
    svg.append(draw("text", { class: "quiet", x: left - 8, y: y(value) + 5, "text-anchor": "end" }, words));
  }
  const every = Math.ceil((rounds.length * 40) / (right - left));
  rounds.forEach((one, i) => {
    svg.append(draw("line", { class: "bar", x1: x(one.round), x2: x(one.round), y1: y(one.low), y2: y(one.high) }));
    for (const end of [one.low, one.high]) svg.append(draw("line", { class: "bar", x1: x(one.round) - 6, x2: x(one.round) + 6, y1: y(end), y2: y(end) }));
    svg.append(draw("circle", { class: one.value === one.shown ? "dot" : "hollow", cx: x(one.round), cy: y(one.shown), r: 6 }));
    if (one.fit) svg.append(draw("text", { class: "warn", x: x(one.round) + 10, y: y(one.shown) + 5 }, "!"));
    if (i % every === 0) svg.append(draw("text", { class: "quiet", x: x(one.round), y: bottom + 20, "text-anchor": "middle" }, String(one.round + 1)));
  });
  svg.append(draw("text", { class: "quiet", x: (left + right) / 2, y: bottom + 40, "text-anchor": "middle" }, "Round"));
  if (scale.unit) svg.append(draw("text", { class: "small quiet", x: 0, y: 13 }, scale.unit));
  return svg;
}

// ---- figures in the page -------------------------------------------------------------------------------------------

const drawn = new Set();

/** A figure that is drawn again when its width changes.  `maker(width)` draws it; `story` is told in a saved copy. */
export function figure(maker, story, { buttons = true } = {}) {
  const place = make("div", { class: "drawing" });
  const one = make("figure", {}, place);
  const redraw = (width) => place.replaceChildren(maker(width));
  drawn.add({ place, redraw });
  if (buttons) {
    const offer = (form) => make("button", { type: "button", class: "link", "aria-label": `Save as ${form}: ${story.name}`, onclick: () => save(maker, story, form) }, form);
    one.append(make("p", { class: "saving" }, "Save as ", offer("SVG"), " ", offer("PNG")));
  }
  return one;
}

/** Draws what was added, and forgets what left the page. */
export function drawAll(width = null) {
  for (const one of drawn) {
    if (!one.place.isConnected) drawn.delete(one);
    else if (one.place.clientWidth || width) one.redraw(width ?? one.place.clientWidth);
  }
}

let waiting = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => drawAll());
});
let folded = []; // what is folded on the screen cannot be opened on paper
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:is(.method, .more):not([open])")];
  for (const one of folded) one.open = true;
  drawAll(PAPER);
});
addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
  drawAll();
});
document.addEventListener("toggle", () => matchMedia("print").matches || drawAll(), true); // what was hidden had no width

function alone(maker, story) {
  const corner = make("div", { class: "paper offscreen", "aria-hidden": "true" }), svg = maker(PAPER);
  document.body.append(corner);
  const head = lines(story.title, 84, 4), foot = story.foot.flatMap((text) => lines(text, 104, 6));
  const [above, below] = [24 * head.length + 26, 19 * foot.length + 22], height = Number(svg.getAttribute("height"));
  const whole = draw("svg", { xmlns: SVG, viewBox: `0 0 ${PAPER + 40} ${above + height + below}`, width: PAPER + 40, height: above + height + below });
  const inner = draw("g", { transform: `translate(20 ${above})` });
  inner.append(...svg.childNodes);
  whole.append(draw("rect", { class: "page", x: 0, y: 0, width: PAPER + 40, height: above + height + below }));
  head.forEach((line, i) => whole.append(draw("text", { class: "title foreign", x: 20, y: 32 + 24 * i }, line)));
  foot.forEach((line, i) => whole.append(draw("text", { class: "small quiet", x: 20, y: above + height + 20 + 19 * i }, line)));
  whole.append(inner);
  corner.append(whole);
  for (const element of whole.querySelectorAll("rect, line, circle, text, tspan")) {
    const style = getComputedStyle(element);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  }
  corner.remove();
  return { text: `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(whole)}\n`, width: PAPER + 40, height: above + height + below };
}

export function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function save(maker, story, form) {
  const { text, width, height } = alone(maker, story), blob = new Blob([text], { type: "image/svg+xml" });
  if (form === "SVG") return download(blob, `${story.file}.svg`);
  const image = new Image(), address = URL.createObjectURL(blob), canvas = make("canvas", { width: 2 * width, height: 2 * height });
  image.src = address;
  await image.decode();
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  URL.revokeObjectURL(address);
  canvas.toBlob((png) => download(png, `${story.file}.png`), "image/png");
}
