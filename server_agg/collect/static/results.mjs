// The results page: draws every estimate with its bar, and stays up to date while it is open.  Without a token it shows the
// last release, if results are public; with the owner's token everything counted so far, and a button that releases it.
// The token stays in this page's memory; text of surveys enters as text, never as markup.

const main = document.querySelector("main");
const TOGETHER = ["(merged)", "(not told apart)"]; // the collector's names for groups put together
const EVERY = 2000; // milliseconds between two looks
const SVG = "http://www.w3.org/2000/svg";
let token = null, last = "", signing = false, done = {};

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

const digitsFor = (width) => Math.min(4, Math.max(0, 1 - Math.floor(Math.log10(100 * Math.max(width, 1e-6)) + 1e-9)));
const percent = (share, digits = 1) => (100 * share).toFixed(digits).replace("-", "−");
// A scale says where values lie and how they are written: shares in percent, a number in its unit.
function scaleOf({ kind, scale }) {
  if (kind !== "number") {
    const digits = (width) => Math.max(1, digitsFor(width));
    return { low: 0, high: 1, unit: "%", write: (value, width) => percent(value, digits(width)), tick: (value) => `${percent(value, 0)} %` };
  }
  const { low, high, unit } = scale, most = (width) => Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(Math.max(width, 1e-9)) + 1e-9)));
  const write = (value, width) => value.toFixed(most(width)).replace("-", "−");
  return { low, high, unit, write, tick: (value) => String(Number(value.toPrecision(6))).replace("-", "−") };
}
const withUnit = (text, scale) => (scale.unit ? `${text} ${scale.unit}` : text);
const told = (it, scale) => withUnit(scale.write(it.shown, it.high - it.low), scale);
const range = (it, scale) => withUnit(`${scale.write(it.low, it.high - it.low)}–${scale.write(it.high, it.high - it.low)}`, scale);
const clipped = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");

// ---- drawings ------------------------------------------------------------------------------------------------------------

function axis(svg, x, top, bottom, scale, parts = 4) {
  for (let i = 0; i <= parts; i += 1) {
    const value = scale.low + ((scale.high - scale.low) * i) / parts;
    svg.append(draw("line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: bottom }));
    svg.append(draw("text", { class: "quiet", x: x(value), y: bottom + 18, "text-anchor": "middle" }, scale.tick(value)));
  }
}

const along = (scale, start, length) => (value) => start + ((value - scale.low) / (scale.high - scale.low)) * length;

function mark(svg, it, x, y) {
  svg.append(draw("line", { class: "bar", x1: x(it.low), x2: x(it.high), y1: y, y2: y }));
  for (const end of [it.low, it.high]) svg.append(draw("line", { class: "bar", x1: x(end), x2: x(end), y1: y - 7, y2: y + 7 }));
  svg.append(draw("circle", { class: it.value === it.shown ? "dot" : "hollow", cx: x(it.shown), cy: y, r: 6.5 }));
}

const narrow = () => main.clientWidth < 640;

function headline(it, scale) {
  const width = narrow() ? 360 : 600, x = along(scale, 24, width - 48);
  const label = `Estimate ${told(it, scale)}, interval ${range(it, scale)}`;
  const svg = draw("svg", { viewBox: `0 0 ${width} 84`, role: "img", "aria-label": label });
  svg.append(draw("rect", { class: "band", x: x(it.low), y: 14, width: Math.max(1, x(it.high) - x(it.low)), height: 44, rx: 4 }));
  axis(svg, x, 8, 62, scale);
  mark(svg, it, x, 36);
  return svg;
}

function rows(segment, scale) {
  const height = 34 * segment.rows.length, x = along(scale, 150, 250);
  const label = segment.rows.map((r) => `${r.label}: ${told(r, scale)} (${range(r, scale)}), n = ${r.n}`).join("; ");
  const svg = draw("svg", { viewBox: `0 0 420 ${height + 34}`, role: "img", "aria-label": `${segment.name}: ${label}` });
  axis(svg, x, 4, height + 6, scale, 2);
  segment.rows.forEach((row, i) => {
    const y = 34 * i + 20, title = draw("title", {}, row.cells.join(", "));
    svg.append(draw("text", { x: 0, y: y - 2 }, title, clipped(row.label, 18)));
    svg.append(draw("text", { class: "quiet", x: 0, y: y + 13 }, `${told(row, scale)}, n = ${count(row.n)}`));
    mark(svg, row, x, y);
  });
  return svg;
}

// The options of a choice, the largest first: a bar for the value, and on it the error bar.
function optionBars(options, scale) {
  const width = narrow() ? 360 : 600, height = 46 * options.length, x = along(scale, 12, width - 48);
  const order = [...options].sort((a, b) => b.value - a.value);
  const label = order.map((o) => `${o.label}: ${told(o, scale)} (${range(o, scale)})`).join("; ");
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height + 34}`, role: "img", class: "options", "aria-label": `Options: ${label}` });
  axis(svg, x, 4, height + 6, scale);
  order.forEach((option, i) => {
    const y = 46 * i + 33, words = `${told(option, scale)} (${range(option, scale)})`;
    svg.append(draw("text", { x: 12, y: y - 14 }, draw("title", {}, option.label), clipped(option.label, narrow() ? 20 : 44)));
    svg.append(draw("text", { class: "quiet", x: width - 36, y: y - 14, "text-anchor": "end" }, words));
    svg.append(draw("rect", { class: "band", x: x(0), y: y - 9, width: Math.max(0.5, x(option.shown) - x(0)), height: 18, rx: 2 }));
    mark(svg, option, x, y);
  });
  return svg;
}

function line(trend, scale) {
  const many = trend.rounds.length, span = scale.high - scale.low, reach = Math.max(...trend.rounds.map((r) => (r.high - scale.low) / span));
  const part = Math.min(1, Math.ceil(4 * reach) / 4) || 1, most = scale.low + part * span;
  const top = 12, bottom = 170, y = (value) => bottom - ((value - scale.low) / (most - scale.low)) * (bottom - top);
  const first = trend.rounds[0].round, length = Math.max(1, trend.rounds[many - 1].round - first);
  const x = (round) => 66 + ((round - first) / length) * 330;
  const label = trend.rounds.map((r) => `round ${r.round + 1}: ${told(r, scale)} (${range(r, scale)})`).join("; ");
  const svg = draw("svg", { viewBox: "0 0 420 212", role: "img", "aria-label": `Trend: ${label}` });
  for (let i = 0; i <= 4 * part; i += part > 0.5 ? 1 : 0.5) {
    const value = scale.low + (i / 4) * span;
    svg.append(draw("line", { class: "grid", x1: 46, x2: 412, y1: y(value), y2: y(value) }));
    svg.append(draw("text", { class: "quiet", x: 42, y: y(value) + 4, "text-anchor": "end" }, scale.tick(value)));
  }
  if (trend.smooth) {
    const upper = trend.smooth.map((r) => `${x(r.round)},${y(Math.min(r.high, most))}`), lower = trend.smooth.map((r) => `${x(r.round)},${y(r.low)}`).reverse();
    svg.append(draw("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
    svg.append(draw("polyline", { class: "line", points: trend.smooth.map((r) => `${x(r.round)},${y(r.shown)}`).join(" ") }));
  }
  const every = Math.ceil(many / 12);
  trend.rounds.forEach((r, i) => {
    svg.append(draw("line", { class: "bar", x1: x(r.round), x2: x(r.round), y1: y(r.low), y2: y(r.high) }));
    for (const end of [r.low, r.high]) svg.append(draw("line", { class: "bar", x1: x(r.round) - 6, x2: x(r.round) + 6, y1: y(end), y2: y(end) }));
    svg.append(draw("circle", { class: r.value === r.shown ? "dot" : "hollow", cx: x(r.round), cy: y(r.shown), r: 6 }));
    if (i % every === 0) svg.append(draw("text", { class: "quiet", x: x(r.round), y: bottom + 22, "text-anchor": "middle" }, String(r.round + 1)));
  });
  svg.append(draw("text", { class: "quiet", x: 230, y: bottom + 39, "text-anchor": "middle" }, "round"));
  return svg;
}

// ---- one question ----------------------------------------------------------------------------------------------------------

function facts(pairs) {
  return make("dl", { class: "facts" }, ...pairs.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value))));
}

function promiseWords({ kind, promise, changed }) {
  const epsilon = Number(promise.epsilon.toPrecision(4)), delta = Number(promise.delta.toPrecision(3));
  const chance = kind === "choice" ? changed.size === 1
    ? `every answer was changed to another option with chance ${percent(changed.missing)} %`
    : `every answer is a set of ${changed.size} of the ${changed.options} options, without the true one with chance ${percent(changed.missing)} %`
    : kind === "number" ? "every device sent only “high” or “low”, drawn at random: the higher the number, the more often “high”"
    : Math.abs(changed.no - changed.yes) < 5e-4
    ? `every answer was changed at random with chance ${percent(changed.no)} %`
    : `a “no” was changed at random with chance ${percent(changed.no)} %, a “yes” with ${percent(changed.yes)} %`;
  return [`ε = ${epsilon}, δ = ${delta}`, chance];
}

function notes(list) {
  return list.map((note) => make("p", { class: "small quiet note" }, note));
}

// A drawing for the whole, or one for each of the first options: more would hide the page.
const MOST_DRAWN = 12;
const parts = (whole) => (!whole ? [] : whole.options ? whole.options.slice(0, MOST_DRAWN) : [whole]);

function questionCard(question) {
  const card = make("article", { class: "card", "data-question": question.id }), it = question.estimate;
  const [promise, chance] = promiseWords(question);
  card.append(make("h3", { class: "text" }, question.text));
  if (!it) {
    card.append(...question.notes.map((note) => make("p", {}, note)));
    card.append(facts([["answers", count(question.n)], ["promise", promise]]));
    return card;
  }
  const scale = scaleOf(question), level = Number((100 * it.level).toPrecision(6));
  if (it.options) card.append(optionBars(it.options, scale));
  else card.append(make("div", { class: "figure" }, make("div", { class: "value" }, told(it, scale)), headline(it, scale)));
  const list = [
    it.options ? ["bars", `${level} % (${it.method}), all options at once`] : [`${level} % interval (${it.method})`, range(it, scale)],
    ["answers", count(it.n)], ["promise", promise], ["target", it.target],
  ];
  const worth = Math.round(it.direct_answers); // 0 where the estimate lies on the edge: no figure worth showing
  if (worth > 0) list.push(["worth", `${count(worth)} direct ${worth === 1 ? "answer" : "answers"}`]);
  if (question.rounds > 1) list.splice(1, 0, ["round", question.round === null ? `all of ${question.rounds}` : `${question.round + 1} of ${question.rounds}`]);
  card.append(facts(list));
  card.append(make("p", { class: "small quiet" }, `To protect the respondents ${chance}; the bar accounts for it.`));
  for (const one of it.options ?? [it]) {
    if (one.value === one.shown) continue;
    const name = one.label ? `The unbiased value of ${one.label}` : "The unbiased value", ends = `${scale.tick(scale.low)}–${scale.tick(scale.high)}`;
    card.append(make("p", { class: "small quiet" }, `${name} is ${withUnit(scale.write(one.value, it.options ? one.high - one.low : it.high - it.low), scale)}; shown cut to ${ends.replace(" %–", "–")}.`));
  }
  if (it.options?.[0].simplex != null) {
    const list = it.options.map((one) => `${one.label} ${percent(one.simplex)} %`).join(", ");
    card.append(make("details", { class: "small quiet" }, make("summary", {}, "Adding up to 100 %"), make("p", {}, `The nearest shares within 0–100 % (biased, for reading): ${list}.`)));
  }
  if (it.misfit) card.append(make("p", { class: "notice" }, `Misfit: ${it.misfit}.`));
  card.append(...notes(question.notes));
  const charts = make("div", { class: "charts" });
  for (const trend of parts(question.trend)) {
    charts.append(make("section", {}, make("h4", {}, `Trend over rounds${trend.label ? `: ${trend.label}` : ""}`), line(trend, scale), make("p", { class: "small quiet" }, trend.note ?? "")));
  }
  if (question.trend?.options) charts.append(make("p", { class: "small quiet" }, question.trend.note));
  for (const segment of question.segments) {
    const [first, ...others] = (segment.options ?? [segment])[0].rows;
    if (!first || (!others.length && TOGETHER.includes(first.label))) continue; // all in one: the headline again
    for (const part of parts(segment)) {
      charts.append(make("section", {}, make("h4", {}, `By ${segment.name}${part.label ? `: ${part.label}` : ""}`), rows({ name: segment.name, ...part }, scale), make("p", { class: "small quiet" }, others.length ? part.note ?? "" : "")));
    }
    if (segment.options) charts.append(make("p", { class: "small quiet" }, segment.note));
  }
  if (charts.children.length) card.append(charts);
  return card;
}

// ---- the page --------------------------------------------------------------------------------------------------------------

async function ask(query = "") {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  return fetch(new URL(`../results${query}`, import.meta.url), { headers, credentials: "omit", cache: "no-store" });
}

async function download(form) {
  const got = await ask(`?format=${form}`);
  const link = make("a", { href: URL.createObjectURL(await got.blob()), download: `results.${form}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function release(survey, round) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const got = await fetch(new URL(`../surveys/${survey.digest}/release`, import.meta.url), { method: "POST", headers, body: JSON.stringify({ round }), credentials: "omit" });
  const said = await got.json();
  const words = !got.ok ? `Not released: ${said.reason}` : said.added ? `Released: ${count(said.added)} answers were added.` : "Nothing was added.";
  last = "";
  done = { digest: survey.digest, words };
  await show();
}

function releaseCard(survey) {
  const { next_release: next, released } = survey, most = Math.max(...survey.questions.map((question) => question.rounds));
  const since = released ? `Strangers see release ${released.number} of ${moment(released.at)}.` : "Strangers see nothing yet.";
  const choice = make("select", { name: "headline", "aria-label": "Headline" }, make("option", { value: "" }, "the whole"),
    ...Array.from({ length: most }, (_, i) => make("option", { value: i, selected: survey.headline === i }, `round ${i + 1}`)));
  const press = () => release(survey, choice.value === "" ? null : Number(choice.value));
  return make("section", { class: "card release" }, make("h3", {}, "Release"),
    make("p", {}, `${since} A release now would add ${count(next.added)} answers.`), ...notes(next.reasons),
    most > 1 ? make("label", { class: "field" }, "The headline shows", choice) : "",
    make("p", { class: "small quiet" }, "What is released stays public."),
    make("p", { class: "good", role: "status" }, done.digest === survey.digest ? done.words : ""),
    make("div", { class: "actions" }, make("button", { type: "button", onclick: press }, "Release")));
}

const moment = (text) => new Date(text).toLocaleString("en", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }) + " UTC";

function page(found) {
  const live = make("p", { class: "small quiet live", id: "live" }, token === null ? "What the owners released." : "Updates while it is open.");
  const buttons = make("div", { class: "actions" },
    make("button", { type: "button", class: "plain", onclick: () => download("json") }, "JSON"),
    make("button", { type: "button", class: "plain", onclick: () => download("csv") }, "CSV"),
    make("button", { type: "button", class: "plain", onclick: () => window.print() }, "Print"),
    token === null ? make("button", { type: "button", class: "plain", onclick: () => signIn() }, "Owner") : "");
  const children = [make("header", { class: "head" }, make("div", {}, make("h1", {}, "Results"), live), buttons)];
  if (!found.surveys.length) children.push(make("p", { class: "card" }, "No survey is published here yet."));
  for (const survey of found.surveys) {
    const ends = new Date(survey.expires).toLocaleDateString("en", { year: "numeric", month: "long", day: "numeric", timeZone: "UTC" });
    children.push(make("section", { "data-survey": survey.digest },
      make("header", { class: "survey-title" }, survey.pilot ? make("p", { class: "bad" }, "pilot: trial data") : "", make("h2", { class: "text" }, survey.title),
        make("p", { class: "quiet" }, make("span", { class: "text" }, survey.publisher), ` · version ${survey.version} · ends ${ends} · `,
          make("strong", { class: "answers" }, count(survey.answers)), " answers", survey.invite_only ? " · by invitation" : ""),
        ...notes(survey.notes)),
      survey.next_release ? releaseCard(survey) : "",
      ...survey.questions.map((question) => questionCard(question))));
  }
  main.replaceChildren(...children);
}

async function show() {
  const asked = token;
  const got = await ask();
  if (asked !== token || signing) return; // somebody signs in meanwhile
  if (got.status === 401) return signIn("The token is not right.");
  const text = await got.text();
  if (!got.ok) throw new Error(String(got.status));
  if (text === last) return;
  const active = document.activeElement?.textContent, chosen = [...main.querySelectorAll("select")].map((one) => one.value);
  page(JSON.parse(text));
  if (last) [...main.querySelectorAll("select")].forEach((one, i) => { if (i < chosen.length) one.value = chosen[i]; });
  last = text;
  for (const button of main.querySelectorAll("button")) if (button.textContent === active) button.focus();
}

async function look() {
  try {
    if (!signing) await show();
  } catch {
    const live = document.getElementById("live");
    if (live) live.textContent = "The collector cannot be reached; trying again.";
    last = "";
  }
  setTimeout(look, EVERY);
}

function signIn(words = "") {
  signing = true;
  const field = make("input", { type: "password", autocomplete: "current-password", required: true, name: "token" });
  const enter = (event) => {
    event.preventDefault();
    [token, last, signing] = [field.value, "", false];
    show().catch(() => {}); // the next look says what is wrong
  };
  const form = make("form", { class: "card", onsubmit: enter },
    make("h1", {}, "Results"), make("label", { class: "field" }, "Owner's token", field),
    make("p", { class: "small quiet" }, "It stays in this tab and is sent to this collector only."),
    make("p", { class: "bad", role: "alert" }, words), make("div", { class: "actions" }, make("button", { type: "submit" }, "Show results")));
  main.replaceChildren(form);
  field.focus();
}

if (main.dataset.public !== "yes") signIn();
look();
