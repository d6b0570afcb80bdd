// The owner's page: what is published here and in which state, and what may be done with it, all by the collector's API.
// The token stays in this page's memory: in no address, no storage, no cookie.  A signing key is never asked for: surveys
// and withdrawals come signed, and a private key that is handed in by mistake is refused before anything is sent.

import { count, download, drawAll, make } from "./figures.mjs";
import { foreign, moment, surveyFindings } from "./findings.mjs";

const main = document.querySelector("main");
const EVERY = 2000; // milliseconds between two looks
const ED25519 = "302a300506032b6570032100"; // how the PEM of such a public key begins, in hexadecimal
const here = (path) => new URL(`../${path}`, import.meta.url).href; // this module lies in assets/
let token = null, opened = null, last = "";

// ---- the collector -------------------------------------------------------------------------------------------------

class Refusal extends Error {}

async function ask(path, { body, words = "" } = {}) {
  const headers = { Authorization: `Bearer ${token}` }, how = { headers, credentials: "omit", cache: "no-store" };
  if (body !== undefined) Object.assign(how, { method: "POST", body }, { headers: { ...headers, "Content-Type": "application/json" } });
  let got;
  try {
    got = await fetch(here(path), how);
  } catch {
    throw new Refusal("The collector cannot be reached. Nothing is known of what it did: look again before you repeat it.");
  }
  if (got.status === 401) {
    signIn("The token is not right.");
    throw new Refusal("The token is not right.");
  }
  const text = await got.text();
  if (got.ok) return text;
  let reason = text;
  try {
    ({ reason } = JSON.parse(text));
  } catch { /* not the collector's own words */ }
  throw new Refusal(`${words}${reason}`);
}

const told = async (path, how) => JSON.parse(await ask(path, how));

// ---- parts of the page ---------------------------------------------------------------------------------------------

/** A form with a place for what became of it; `act` returns the words, or throws what was refused. */
function form(press, act, ...inside) {
  const said = make("p", { role: "status" }), wrong = make("p", { role: "alert", class: "bad" });
  const button = make("button", { type: "submit" }, press);
  const submit = async (event) => {
    event.preventDefault();
    said.replaceChildren();
    wrong.textContent = "";
    button.disabled = true;
    try {
      const words = await act();
      said.replaceChildren(...[words].flat());
    } catch (error) {
      wrong.textContent = error instanceof Refusal ? error.message : "Something in this page went wrong; nothing more is known.";
    }
    button.disabled = false;
  };
  return make("form", { onsubmit: submit }, ...inside, make("div", { class: "actions" }, button), said, wrong);
}

/** What a button does; what is refused is said on top. */
const attempt = (act) => () => act().catch((error) => {
  if (token !== null) main.prepend(make("p", { class: "bad", role: "alert" }, error instanceof Refusal ? error.message : "Something in this page went wrong."));
});

const field = (label, control) => make("label", { class: "field" }, label, control);

/** A file, or text that is pasted; its reader refuses private keys. */
function given(label, accept) {
  const file = make("input", { type: "file", accept, name: label }), text = make("textarea", { rows: 3, spellcheck: "false", autocomplete: "off" });
  const read = async () => {
    const found = file.files.length ? await file.files[0].text() : text.value;
    if (/PRIVATE KEY/.test(found)) throw new Refusal("This is a private key. It must not leave your machine; nothing was sent.");
    if (!found.trim()) throw new Refusal(`${label}: choose a file, or paste its text.`);
    return found.trim();
  };
  return { read, parts: [field(label, file), field(`${label}, pasted`, text)] };
}

function hexadecimal(text) {
  const inside = /-----BEGIN PUBLIC KEY-----([\sA-Za-z0-9+/=]+)-----END PUBLIC KEY-----/.exec(text);
  if (!inside) return text.trim().toLowerCase();
  const bytes = atob(inside[1].replace(/\s/g, "")), found = [...bytes].map((one) => one.charCodeAt(0).toString(16).padStart(2, "0")).join("");
  if (!found.startsWith(ED25519) || found.length !== ED25519.length + 64) throw new Refusal("This public key is not Ed25519; nothing was sent.");
  return found.slice(ED25519.length);
}

const state = (survey) => make("span", { class: `state ${survey.state.state.replaceAll(" ", "-")}` }, survey.state.state);
const tags = (survey) => [state(survey), survey.pilot ? make("span", { class: "state pilot" }, "pilot") : "", survey.invite_only ? make("span", { class: "state" }, "by invitation") : ""];

function table(head, lines) {
  const cell = (value, i) => make("td", { class: typeof value === "number" ? "number" : null, "data-head": head[i] }, typeof value === "number" ? count(value) : value);
  return make("table", {}, make("thead", {}, make("tr", {}, ...head.map((words) => make("th", { scope: "col" }, words)))), make("tbody", {}, ...lines.map((line) => make("tr", {}, ...line.map(cell)))));
}

// ---- what may be done ----------------------------------------------------------------------------------------------

function publishing() {
  const signed = given("The signed survey", ".json"), key = given("The publisher's public key", ".pem,.pub,.txt");
  const act = async () => {
    const [envelope, text] = [await signed.read(), await key.read()];
    const made = await told(`surveys?key=${encodeURIComponent(hexadecimal(text))}`, { body: envelope, words: "Not published: " });
    await list();
    return ["Published. ", ...(made.pages.length ? ["It is answered at ", make("a", { href: made.pages[0] }, made.pages[0]), "."] : ["It lists no page: it is answered in apps."])];
  };
  return make("details", { class: "card desk" }, make("summary", {}, "Publish a survey"),
    make("p", { class: "small quiet" }, "Sign it on your own machine (rrcollect publish); here goes the signed file. The private key never does."),
    form("Publish", act, ...signed.parts, ...key.parts));
}

const roundName = (number) => (number === null ? "the whole" : `round ${number + 1}`);

function changes(survey, seen) {
  const texts = Object.fromEntries(survey.questions.map((question) => [question.id, question.text]));
  const head = ["Question", "Round", "Group", "Public now", "After"];
  const lines = seen.changes.map((one) => [foreign(texts[one.question]), roundName(one.round), one.segment ? foreign(`${one.segment}: ${one.group}`) : "all answers", one.before, one.after]);
  const parts = [make("p", {}, seen.added ? `A release now would add ${count(seen.added)} answers.` : "A release now would add no answers.")];
  if (seen.headline.before !== seen.headline.after) parts.push(make("p", {}, `The headline would change from ${roundName(seen.headline.before)} to ${roundName(seen.headline.after)}.`));
  if (lines.length) parts.push(table(head, lines));
  parts.push(...seen.reasons.map((words) => make("p", { class: "small quiet" }, `${words}.`)));
  parts.push(make("p", { class: "small quiet" }, "Which answers make up the crowds is drawn by chance when you release: so their values are not known before. What is released stays public."));
  return parts;
}

function releasing(survey) {
  const { released } = survey, most = Math.max(...survey.questions.map((question) => question.rounds));
  const choice = make("select", { name: "headline" }, make("option", { value: "" }, "the whole"),
    ...Array.from({ length: most }, (_, i) => make("option", { value: i, selected: survey.headline === i }, `round ${i + 1}`)));
  const shown = make("div", { class: "preview" }), body = () => JSON.stringify({ round: choice.value === "" ? null : Number(choice.value) });
  const release = form("Release", async () => {
    const made = await told(`surveys/${survey.digest}/release`, { body: body(), words: "Not released: " });
    hide();
    last = "";
    await look(false);
    return made.added ? `Released: ${count(made.added)} answers were added.` : "Nothing was added.";
  });
  const press = release.querySelector(".actions"), hide = () => {
    press.hidden = true;
    shown.replaceChildren();
  };
  const preview = form("Show what would change", async () => {
    const seen = await told(`surveys/${survey.digest}/release?preview=1`, { body: body() });
    release.querySelector("[role=status]").replaceChildren();
    shown.replaceChildren(...changes(survey, seen));
    press.hidden = !seen.added && seen.headline.before === seen.headline.after;
    return "";
  }, most > 1 ? field("The headline shows", choice) : "");
  choice.addEventListener("change", hide); // what was shown is of another headline
  hide();
  return make("details", { class: "card desk", open: true }, make("summary", {}, "Release"),
    make("p", { id: "public" }, strangers(released)), preview, shown, release);
}

const strangers = (released) => (released ? `Strangers see release ${released.number} of ${moment(released.at)}.` : "Strangers see nothing yet.");

function inviting(survey) {
  const many = make("input", { type: "number", min: 1, max: 10_000, value: 100, required: true });
  const act = async () => {
    const { invites } = await told(`surveys/${survey.digest}/invites`, { body: JSON.stringify({ count: Number(many.value) }), words: "No invites were made: " });
    const [page] = survey.pages, lines = invites.map((one) => (page ? `${one},${page}#invite=${one}` : one));
    download(new Blob([`invite${page ? ",link" : ""}\r\n${lines.join("\r\n")}\r\n`], { type: "text/csv" }), `invites-${survey.name}.csv`);
    return `${count(invites.length)} invites were made. The list was downloaded; it is not kept here and cannot be shown again.`;
  };
  return make("details", { class: "card desk" }, make("summary", {}, "Invites"),
    make("p", { class: "small quiet" }, "One invite for each person. Whoever has the list can tell which answers came from one invite: delete it when it is sent."),
    form("Make invites", act, field("How many", many)));
}

function rounds(survey) {
  const lines = survey.state.rounds.map((one) => [roundName(one.round), one.state, one.opens ? moment(one.opens) : "when published", moment(one.closes)]);
  return make("details", { class: "card desk" }, make("summary", {}, "Rounds"),
    make("p", { class: "small quiet" }, "Rounds open and close by the clock, as the publisher signed: nobody can change it, not here either."), table(["Round", "State", "Opens", "Closes"], lines));
}

function ending(survey) {
  const notice = given("The signed withdrawal", ".json"), parts = [];
  if (survey.state.state !== "withdrawn" && survey.state.state !== "closed") {
    const withdraw = form("Withdraw for good", async () => {
      await ask(`surveys/${survey.digest}/withdrawal`, { body: await notice.read(), words: "Not withdrawn: " });
      last = "";
      await open(survey.digest);
      return "Withdrawn.";
    }, ...notice.parts);
    parts.push(make("h2", { class: "part" }, "Withdraw"), make("p", { class: "small quiet" }, "Only its publisher can: sign the notice on your own machine (rrcollect withdraw) and hand it in here. No answer is taken after it, for good; what was counted stays."), withdraw);
  }
  if (survey.state.state !== "closed") {
    parts.push(make("h2", { class: "part" }, "Close"), make("p", { class: "small quiet" }, "When a survey is over: the exact counts stay; ids, rows, invites and spent tickets are deleted and overwritten."));
    parts.push(survey.state.may_close ? form("Close for good", async () => {
      const made = await told(`surveys/${survey.digest}/close`, { body: "{}", words: "Not closed: " });
      last = "";
      await open(survey.digest);
      return `Closed: the counts of ${count(made.reports)} reports stay.`;
    }) : make("p", {}, "It can be closed when it has ended and its grace period has passed."));
  }
  return parts.length ? make("details", { class: "card desk" }, make("summary", {}, "Withdraw or close"), ...parts) : "";
}

/** The owner's log: what was done here, the last first, and the checkpoint to keep elsewhere. */
function deeds({ trouble, checkpoint, entries }, surveys) {
  const titles = new Map(surveys.map((one) => [one.digest, one.title]));
  const rows = entries.map(({ moment: at, deed, survey }) => make("tr", {}, make("td", {}, moment(at)), make("td", {}, deed), make("td", {}, survey ? foreign(titles.get(survey) ?? survey) : "")));
  const said = trouble ? make("p", { class: "bad" }, trouble) : make("p", { class: "small quiet" }, "Keep this elsewhere; rrcollect store check --checkpoint compares: ", make("code", {}, checkpoint ?? "no entry"));
  return make("details", { class: "card log" }, make("summary", {}, "What was done here"), said, make("table", {}, make("tbody", {}, ...rows.reverse())));
}

// ---- the views -----------------------------------------------------------------------------------------------------

async function list() {
  const { surveys, log } = await told("surveys");
  [opened, last] = [null, ""];
  const old = main.querySelector("details.desk"), publish = old && main.dataset.at === "list" ? old : publishing(); // what was typed stays
  main.dataset.at = "list";
  document.title = "Owner";
  const cards = surveys.map((survey) => make("article", { class: "card", "data-survey": survey.digest },
    make("h2", {}, make("button", { type: "button", class: "title", onclick: attempt(() => open(survey.digest)) }, foreign(survey.title))),
    make("p", { class: "small quiet" }, foreign(survey.publisher), ` · version ${survey.version} · ${count(survey.answers)} answers · ${survey.released ? `release ${survey.released.number} of ${moment(survey.released.at)}` : "nothing released"}`),
    make("p", { class: "tags" }, ...tags(survey)), make("p", { class: "small" }, survey.state.words)));
  main.replaceChildren(make("header", {}, make("h1", {}, "Surveys"), make("p", { class: "quiet" }, "What is published here, and its state.")),
    ...(cards.length ? cards : [make("p", { class: "card" }, "No survey is published here yet.")]), publish, deeds(log, surveys), make("p", { class: "foot" }, make("button", { type: "button", class: "plain", onclick: () => leave() }, "Forget the token")));
}

async function open(digest) {
  const [{ surveys }, all] = [await told(`results?survey=${digest}`), await told("surveys")];
  const survey = { ...surveys[0], ...all.surveys.find((one) => one.digest === digest) };
  [opened, last] = [digest, ""];
  main.dataset.at = "survey";
  document.title = `${survey.title}: owner`;
  const files = (kind) => make("button", { type: "button", class: "plain", onclick: attempt(async () => download(new Blob([await ask(`results?survey=${digest}&format=${kind}`)]), `results.${kind}`)) }, kind.toUpperCase());
  const addresses = survey.pages.map((page) => make("li", {}, make("a", { href: page }, page)));
  const heading = make("h1", { class: "foreign", tabindex: -1 }, survey.title);
  main.replaceChildren(make("p", {}, make("button", { type: "button", class: "link", onclick: attempt(list) }, "All surveys")),
    make("header", {}, heading, make("p", { class: "quiet" }, foreign(survey.publisher), ` · version ${survey.version}`),
      make("p", { class: "tags" }, ...tags(survey)), make("p", {}, survey.state.words), addresses.length ? make("ul", { class: "small" }, ...addresses) : make("p", { class: "small quiet" }, "It lists no page: it is answered in apps."),
      main.dataset.public === "yes" ? make("p", { class: "small" }, make("a", { href: here(`r/${digest}`) }, "What strangers see")) : make("p", { class: "small quiet" }, "Results are not public here (--public-results makes releases so)."),
      make("p", { class: "small quiet" }, "Digest ", make("code", {}, digest))),
    releasing(survey), survey.invite_only ? inviting(survey) : "", rounds(survey), ending(survey),
    make("h2", {}, "Live"), make("p", { class: "small quiet", id: "live", role: "status" }), make("div", { class: "actions" }, files("json"), files("csv"), make("button", { type: "button", class: "plain", onclick: () => print() }, "Print or PDF")), make("div", { id: "findings" }));
  heading.focus();
  await look(false);
}

async function look(again = true) {
  if (opened !== null && token !== null && !document.hidden) {
    const digest = opened, live = () => document.getElementById("live");
    try {
      const text = await ask(`results?survey=${digest}`);
      const place = document.getElementById("findings");
      if (opened === digest && place && text !== last && !place.contains(document.activeElement)) {
        const which = (one) => `${one.closest("[data-question]")?.dataset.question} ${one.firstElementChild.textContent}`, unfolded = [...place.querySelectorAll("details[open]")].map(which);
        place.replaceChildren(surveyFindings(JSON.parse(text).surveys[0], { head: false, level: 2 }));
        for (const one of place.querySelectorAll("details")) one.open = unfolded.includes(which(one));
        document.getElementById("public").textContent = strangers(JSON.parse(text).surveys[0].released);
        last = text;
        drawAll();
      }
      if (live()) live().textContent = "Updates while it is open.";
    } catch (error) {
      if (live() && error instanceof Refusal) live().textContent = "The collector cannot be reached; trying again.";
    }
  }
  if (again) setTimeout(look, EVERY);
}

function leave() {
  [token, opened, last] = [null, null, ""];
  signIn();
}

function signIn(words = "") {
  [token, opened] = [null, null];
  main.dataset.at = "door";
  const secret = make("input", { type: "password", autocomplete: "current-password", required: true, name: "token" });
  const enter = async (event) => {
    event.preventDefault();
    token = secret.value;
    try {
      await list();
    } catch (error) {
      if (token !== null) signIn(error instanceof Refusal ? error.message : "Something in this page went wrong.");
    }
  };
  main.replaceChildren(make("form", { class: "card", onsubmit: enter },
    make("h1", {}, "For the owner"), field("Owner's token", secret),
    make("p", { class: "small quiet" }, "It stays in this page and is sent to this collector only. When you leave or reload the page, it is forgotten."),
    make("p", { class: "bad", role: "alert" }, words), make("div", { class: "actions" }, make("button", { type: "submit" }, "Enter"))),
  make("section", { class: "card" }, make("h2", {}, "Where the token is found"),
    make("ul", {}, make("li", {}, "In the file that the collector was started with: ", make("code", {}, "rrcollect serve --token-file FILE"), ". Read it on that machine."),
      make("li", {}, "Or in the variable ", make("code", {}, "RRCOLLECT_OWNER_TOKEN"), " of the process or container."),
      make("li", {}, "The demonstration (", make("code", {}, "rrcollect demo --web"), ") prints it when it starts.")),
    make("p", { class: "small quiet" }, "Nobody can look it up here. If it is lost, put another into the file and start the collector again.")));
  secret.focus();
}

signIn();
look();
