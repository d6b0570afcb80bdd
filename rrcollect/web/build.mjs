/**
 * Makes the folder `element` of the sources beside it: <rr-survey> as pages load it.  `make element` makes it anew.
 *
 * Rules
 * 1. The same sources and tools make the same bytes, on every machine: the tools are pinned in package.json.
 * 2. rr-survey.mjs has all that asks, answers and sends.  rr-explanation.mjs, which it loads when somebody wants it, has what
 *    only explanations need.  There is one copy of everything: the second file imports what it needs of the first.
 * 3. Words are split alike: words/en.mjs has what is said before anything is asked, answered or declined, words/en.more.mjs
 *    what explanations say, what is said if a survey cannot be shown, and what other programs say.
 * 4. Names are shortened, and sentences for developers are left out; names of errors stay.  Nothing else is changed.
 */
import { parse } from "acorn";
import { build, transform } from "esbuild";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { minify } from "terser";

const HERE = new URL("./", import.meta.url), OUT = new URL("element/", HERE), WORDS = new URL("words/", HERE);
const HEAD = "// rrcollect, Apache-2.0; made by build.mjs\n";
const MAIN = "./rr-survey.mjs", LATER = "./rr-explanation.mjs", LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** How many of a function's arguments do something: the others are told to developers.  -1: the whole call is left out, which
 * checks settings that only the element gives here. */
const DOING = { refuse: 1, fault: 1, need: 1, badSetting: 0, needSettings: -1 };

/** Properties of our own objects, which get shorter names.  None is one of a document, of a ledger or of the browser's objects. */
const OWN = `ahead alike allowDisclosure allows arrange attempt attributeDelta attributeEpsilon blank cards caughtUp characters clock column
  compare cost costs counted drawPlaces drawnQuestion earlier early explained factor fits follow followed happens headlines inShort inTurn inviteOnly lastFailure latest
  lifetimeDelta lifetimeEpsilon likelihoodRatio limit maxEpsilon maxRatio minus missing mostExposed nextMoment onGrid outcome panelRound
  passages plus proofSentences provesSentences publishers rational reportOf satisfies says settled showDeclined showDone signers sleep spread tellSpent telling
  toNumber toWire transact troubles truths worstRatio`.split(/\s+/);

/** The words of the second file of each language. */
const MORE = new RegExp(`^(?:${`
  name mark publisher until from_until question changed changed_unequally choice_one choice_set number clipped rarely share rounds panel ask_one survey_.*
  origins collector carried segments invite decline device nothing_drawn drawn drawn_besides drawn_no_limit cap.* sent sent_in_round sent_option
  sent_option_in_round sent_set.* reports not_sent.* means.* life_.* what_leaves private
  example made_up true_row sent_row crowd.* one_person.* draw_again
  unset not_handed_out nowhere mistyped other_survey digest_differs not_here elsewhere answered_at was_refused bad_signature untrusted_key older too_much
  used_up ended withdrawn stays_sent storage old_browser insecure supplied
  survey put_in in_form no_page in_apps needs_script`.trim().replaceAll(/\s+/g, "|")})$`);

/** The text with one place changed. */
function changed(text, from, to) {
  if (text.split(from).length !== 2) throw new Error(`not once in the sources: ${from}`);
  return text.replace(from, () => to);
}

/** The pattern of hidden characters in fewer signs: categories that Unicode promises never to change, and the ranges beside. */
function hiding(ranges) {
  const always = "\\p{Cc}\\p{Co}\\p{Cs}\\p{NChar}", listed = (code) => ranges.some(([first, last]) => code >= first && code <= last);
  const codes = Array.from({ length: 0x110000 }, (_, code) => code), there = (pattern, code) => String.fromCodePoint(code).search(pattern) === 0;
  const sign = (code) => `\\u${code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, "0")}`, beside = [];
  for (const code of codes.filter((one) => listed(one) && !there(new RegExp(`[${always}]`, "u"), one))) {
    if (beside.at(-1)?.[1] === code - 1) beside.at(-1)[1]++;
    else beside.push([code, code]);
  }
  const made = new RegExp(`[${always}${beside.map(([first, last]) => sign(first) + (first < last ? `-${sign(last)}` : "")).join("")}]`, "gu");
  const wrong = codes.find((code) => there(made, code) !== listed(code));
  if (wrong !== undefined) throw new Error(`U+${wrong.toString(16)} is not judged as before`);
  return made;
}

/** A module as it is bundled.  LOAD stands for an import that is not to be followed here, and is put back at the end. */
async function prepared(name, text) {
  if (name === "rrcollect.mjs") {
    const [ranges] = /(?<=const HIDDEN = )\[[^]*?\n\]/.exec(text), [, pattern] = /const HIDING = (.*);/.exec(text);
    const short = changed(text, pattern, String(hiding(Function(`return ${ranges}`)())));
    return changed(changed(short, "const BUILT = false;", "").replaceAll(/\bBUILT\b/g, "true"), "import(`./words/", "LOAD(`./words/");
  }
  if (name !== "rr-survey.mjs") return text;
  const [whole, list] = /sheet\((\[\n[^]*?\n\])\.join\("\\n"\)\)/.exec(text);
  const { code } = await transform(Function(`return ${list}`)().join("\n"), { loader: "css", minify: true });
  const style = `sheet(${JSON.stringify(code.trim().replaceAll(/([,:]) /g, "$1"))})`;
  return changed(changed(text, whole, style), `??= import("${LATER}")`, `??= LOAD("${LATER}")`);
}

const sources = {
  name: "sources",
  setup(made) {
    made.onLoad({ filter: /\.mjs$/ }, async ({ path }) => ({ contents: await prepared(path.split("/").pop(), readFileSync(path, "utf8")) }));
  },
};

/** The names that a part of a module mentions; those of properties are others. */
function mentioned(node, found = new Set()) {
  if (Array.isArray(node)) for (const one of node) mentioned(one, found);
  else if (node?.type === "Identifier") found.add(node.name);
  else if (node?.type) {
    for (const [place, inside] of Object.entries(node)) if (node.computed || !["key", "property"].includes(place)) mentioned(inside, found);
  }
  return found;
}

/** The parts of a text that are left out, each with what takes its place. */
function leftOut(node) {
  if (Array.isArray(node)) return node.flatMap(leftOut);
  if (!node?.type) return [];
  const doing = node.type === "CallExpression" ? DOING[node.callee.name] ?? Infinity : Infinity;
  if (doing < 0) return [{ start: node.start, end: node.end, instead: "0" }];
  const kept = Object.entries(node).flatMap(([place, inside]) => leftOut(place === "arguments" ? inside.slice(0, doing) : inside));
  if (!(node.arguments?.length > doing)) return kept;
  return [...kept, { start: doing ? node.arguments[doing - 1].end : node.arguments[0].start, end: node.end - 1, instead: "" }];
}

/** Both modules as one: the top-level statements, each with the names it declares and those it mentions. */
async function statements() {
  const { outputFiles: [{ text }] } = await build({
    stdin: { contents: `import "${MAIN}"; export * from "${LATER}";`, resolveDir: HERE.pathname }, plugins: [sources], bundle: true, write: false,
    format: "esm", target: "es2022", charset: "utf8", legalComments: "none", mangleProps: new RegExp(`^(?:${OWN.join("|")})$`),
  });
  return parse(text, { ecmaVersion: 2022, sourceType: "module" }).body.map((node) => {
    const declared = (node.declarations ?? [node]).flatMap(({ id }) => (id ? [id.name] : [])), parts = [];
    let at = node.start;
    for (const { start, end, instead } of leftOut(node).sort((one, other) => one.start - other.start)) {
      parts.push(text.slice(at, start), instead);
      at = end;
    }
    return { declared, needs: mentioned(node), text: parts.join("") + text.slice(at, node.end), exports: node.type.startsWith("Export") };
  });
}

/** A module in as few bytes as it takes. */
async function small(text) {
  const compress = {
    passes: 4, inline: 1, keep_fargs: false, lhs_constants: false, pure_getters: true, unsafe_arrows: true, unsafe_methods: true, pure_funcs: ["shown", "survey.origins.join"],
  };
  const { code } = await minify(text, { module: true, ecma: 2022, compress, format: { comments: false } });
  return `${code.replaceAll("LOAD(", "import(")}\n`;
}

/** The texts in a module. */
function texts(node) {
  if (Array.isArray(node)) return node.flatMap(texts);
  if (!node?.type) return [];
  return node.type === "Literal" ? [node.value] : Object.values(node).flatMap(texts);
}

const tables = await Promise.all(readdirSync(WORDS).map(async (file) => [file, (await import(new URL(file, WORDS))).default]));

const all = await statements(), top = all.flatMap(({ declared }) => declared);
for (const name of Object.keys(DOING)) if (top.filter((one) => one === name).length !== 1) throw new Error(`the sources have no function ${name}, or two`);
const first = new Set(all.filter(({ declared, exports }) => !declared.length && !exports));
for (const one of first) for (const other of all) if (other.declared.some((name) => one.needs.has(name))) first.add(other); // it grows meanwhile
const rest = all.filter((one) => !first.has(one)), together = (some) => some.map(({ text }) => text).join("\n");
const shared = [...first].flatMap(({ declared }) => declared).filter((name) => rest.some(({ needs }) => needs.has(name)));
if (shared.length > LETTERS.length) throw new Error("there are not enough letters for the names that both files know");
const names = (pair) => shared.map((name, i) => pair(name, LETTERS[i])).join(",");
const files = {
  [MAIN]: HEAD + await small(`${together(all.filter((one) => first.has(one)))}\nexport{RRSurvey,${names((name, letter) => `${name} as ${letter}`)}}`),
  [LATER]: HEAD + await small(`import{${names((name, letter) => `${letter} as ${name}`)}}from"${MAIN}";\n${together(rest)}`),
};
for (const text of Object.values(files)) { // a property that is also called by a text would have two names
  const twice = texts(parse(text, { ecmaVersion: 2022, sourceType: "module" }).body).filter((one) => OWN.includes(one) && !Object.hasOwn(tables[0][1], one));
  if (twice.length) throw new Error(`these properties are texts too: ${twice}`);
}
for (const [file, table] of tables) {
  for (const [end, more] of [[".mjs", false], [".more.mjs", true]]) {
    const part = Object.fromEntries(Object.entries(table).filter(([key]) => MORE.test(key) === more));
    files[`words/${file.replace(".mjs", end)}`] = await small(`export default ${JSON.stringify(part)}`);
  }
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(new URL("words/", OUT), { recursive: true });
for (const [name, text] of Object.entries(files)) writeFileSync(new URL(name, OUT), text);
