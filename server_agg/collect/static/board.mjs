// The board's page: what was released, of all surveys or of one, and in a frame of another page.  No token is known here.

import { drawAll, make } from "./figures.mjs";
import { foreign, moment, summary, surveyFindings } from "./findings.mjs";

const main = document.querySelector("main"), { view, digest } = main.dataset;
const EVERY = 15_000; // milliseconds between two looks: a release is rare
const here = (path) => new URL(`../${path}`, import.meta.url).href; // this module lies in assets/
let last = "";

function tools() {
  const results = (form) => make("a", { class: "button", href: here(`results?survey=${digest}&format=${form}`), download: `results.${form}` }, form.toUpperCase());
  const address = here(`r/${digest}`), frame = `<iframe src="${address}/embed" title="Results" width="100%" height="900"></iframe>`;
  const said = make("span", { role: "status", class: "small quiet" });
  const copy = (text, words) => async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = words;
    } catch {
      said.textContent = "This browser does not copy here; the text is below.";
      share.open = true;
    }
  };
  const field = (label, text) => make("label", { class: "field" }, label, make("textarea", { readonly: true, rows: 2, spellcheck: "false" }, text));
  const share = make("details", { class: "share" }, make("summary", {}, "Share or embed"), field("Address of this page", address), field("For another page", frame),
    make("p", { class: "small quiet" }, "Whoever has the address can read what was released, and nothing else."));
  return make("div", { class: "tools" },
    make("div", { class: "actions" }, make("button", { type: "button", onclick: () => print() }, "Print or PDF"), results("json"), results("csv"),
      make("button", { type: "button", class: "plain", onclick: copy(address, "The link was copied.") }, "Copy link")), said, share);
}

function listed(survey) {
  const released = survey.released ? `Release ${survey.released.number} of ${moment(survey.released.at)}.` : "Nothing was released yet.";
  return make("article", { class: "card", "data-survey": survey.digest },
    make("h2", {}, make("a", { href: here(`r/${survey.digest}`) }, foreign(survey.title))),
    make("p", { class: "small quiet" }, "Asked by ", foreign(survey.publisher), ` · ${released} ${survey.state.words}`),
    survey.pilot ? make("p", { class: "bad" }, "pilot: trial data") : "", summary(survey));
}

function show(surveys) {
  if (view === "all") {
    const head = make("header", {}, make("h1", {}, "Results"), make("p", { class: "quiet" }, "What the owners released."));
    const none = make("p", { class: "card" }, "No survey is published here yet.");
    const order = [...surveys].sort((a, b) => Number(!a.released) - Number(!b.released)); // what was released comes first
    main.replaceChildren(head, ...(order.length ? order.map(listed) : [none]), make("p", { class: "small foot" }, make("a", { href: here("owner") }, "For the owner")));
    return;
  }
  const [survey] = surveys, framed = view === "embedded";
  document.title = `${survey.title}: results`;
  const more = framed ? make("p", { class: "small foot" }, make("a", { href: here(`r/${digest}`), target: "_blank", rel: "noopener" }, "All about these results")) : make("p", { class: "small foot" }, make("a", { href: here("") }, "All results"));
  const short = survey.digest.slice(0, 24).match(/.{4}/g).join(" "); // as people see it where they answer
  const mark = make("p", { class: "small", "data-text": "digest" }, `Fingerprint of this survey: ${short}. Everyone who was asked the same saw the same one.`);
  main.replaceChildren(surveyFindings(survey, { buttons: !framed }), ...(framed ? [] : [tools()]), mark, more);
  drawAll();
}

async function look() {
  try {
    const got = await fetch(here(view === "all" ? "results" : `results?survey=${digest}`), { credentials: "omit", cache: "no-store" });
    if (!got.ok) throw new Error(String(got.status));
    const text = await got.text();
    if (text !== last && !main.contains(document.activeElement)) {
      show(JSON.parse(text).surveys);
      last = text;
    }
  } catch {
    if (!last) main.replaceChildren(make("p", { class: "card", role: "status" }, "The results cannot be reached now; trying again."));
  }
  setTimeout(look, EVERY);
}

look();
