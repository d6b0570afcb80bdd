// What was found about a survey, for a board: the number in words, one axis, groups, differences, rounds; the method folded.
// The owner's page shows the same, live.  The words are the collector's; the survey's own texts are marked as foreign.

import { count, figure, make, rowsFigure, scaleOf, trendFigure } from "./figures.mjs";

const TOGETHER = { "(merged)": "Others together", "Others together": "Others together", "(not declared)": "Not stated" }; // the collector's names of groups
const MOST_DRAWN = 12; // options that get a figure of their own by group or round: more would hide the page

export const foreign = (text, tag = "span") => make(tag, { class: "foreign" }, text);
export const moment = (text) => `${new Date(text).toISOString().slice(0, 16).replace("T", " ")} UTC`; // as the collector's sentences write it
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
const notice = (words) => make("p", { class: "notice" }, words);
const parts = (whole) => (!whole ? [] : whole.options ? whole.options.slice(0, MOST_DRAWN) : [whole]);
const kept = (words) => words.replaceAll(" %", "\u00a0%");
const unfit = (it) => Boolean(it?.fit?.includes("do not use")); // and not merely at the edge of its scale
const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 40) || "figure";

// ---- the method ----------------------------------------------------------------------------------------------------

const percent = (share) => (100 * share).toFixed(1).replace("-", "−");

function facts(pairs) {
  return make("dl", { class: "facts" }, ...pairs.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value))));
}

function cut(question, scale) {
  const it = question.estimate, found = [];
  for (const one of it.options ?? [it]) {
    if (one.unclipped === null) continue;
    const name = one.label ? ["The unbiased value of ", foreign(one.label)] : ["The unbiased value"];
    found.push(make("p", {}, ...name, ` is ${one.unclipped} ${scale.unit}; it is drawn hollow, cut to ${scale.ends}.`));
  }
  return found;
}

function method(question, scale) {
  const it = question.estimate;
  const list = [["privacy promise", question.promise.words]];
  const inside = [make("p", {}, `What the devices did, in their own words: “${question.told}” The bars account for it.`)];
  if (it) {
    const level = Number((100 * it.level).toPrecision(6)), sure = it.guaranteed ? "its coverage is guaranteed" : "its coverage is approximate";
    list.push(["answers", count(it.n)], ["bars", `${level} %, ${it.method}`], ["target", it.target]);
    const worth = Math.round(it.direct_answers ?? 0); // 0 where the estimate lies on the edge: no figure worth showing
    if (worth > 0) list.push(["worth", `${plural(worth, "direct answer", "direct answers")}`]);
    inside.push(make("p", {}, `${it.bar}; ${it.options ? sure.replace("its", "their") : sure}, for independent respondents who follow the protocol. Who chose not to answer is in no bar.`));
    inside.push(...cut(question, scale));
    if (it.options?.[0].simplex != null) {
      const shares = it.options.flatMap((one, i) => [i ? ", " : "", foreign(one.label), ` ${percent(one.simplex)} %`]);
      inside.push(make("p", {}, "The nearest shares that add up to 100 % (biased, for reading): ", ...shares, "."));
    }
    if (it.dishonest) inside.push(make("p", {}, it.dishonest));
    inside.push(make("p", {}, it.misfit ? `How well the counts fit: ${it.misfit}.` : "The counts fit the protocol: no misfit to be told."));
  }
  const beside = [...question.beside, ...question.segments.map((each) => `By ${each.label}: ${each.missing}`)];
  inside.push(...question.notes.filter((note) => it && !beside.includes(note)).map((note) => make("p", {}, note)));
  for (const each of [question.trend, ...question.segments]) {
    if (each?.note) inside.push(make("p", {}, each.label ? make("strong", {}, foreign(`${each.label}: `)) : make("strong", {}, "Rounds: "), `${each.note}.`));
  }
  for (const segment of question.segments) inside.push(...uncertain(segment));
  return make("details", { class: "method" }, make("summary", {}, "Method"), facts(list), ...inside);
}

// ---- one question --------------------------------------------------------------------------------------------------

function headline(question) {
  const it = question.estimate, [value, bar] = it.about?.split(" (") ?? [];
  if (!it.options) return [make("p", { class: "about" }, make("strong", {}, value), ` (${bar}`)];
  const top = it.options.find((one) => one.label === it.largest.label), [most, ends] = top.about.split(" (");
  return [
    make("p", { class: "about" }, "The largest share: ", foreign(top.label), ". ", make("strong", {}, most), ` (${ends}`),
    make("p", {}, kept(`That it is the largest is ${it.largest.words}.`)),
  ];
}

const named = (segment, label) => segment.labels[label] ?? TOGETHER[label] ?? label;
const ours = (segment, label) => !(label in segment.labels);

/** The differences of a segment that are certain, or those that are not; of a choice with the option they are about. */
function compared(segment, certain) {
  const items = (segment.options ?? [segment]).flatMap((part) => part.differences.filter((one) => one.certain === certain).map((one) =>
    make("li", {}, ...(segment.options ? [foreign(part.label), ": "] : []), foreign(named(segment, one.higher)), ` ${one.verb} `, foreign(named(segment, one.lower)), `, ${kept(one.words)}.`)));
  return items.length ? [make("ul", { class: "differences" }, ...items)] : [];
}

/** For the method: the differences that are not certain, and how all of them were judged. */
function uncertain(segment) {
  const [one] = (segment.options ?? [segment]).flatMap((part) => part.differences);
  if (!one) return [];
  const many = one.comparisons > 1 ? `What is called certain is so for all ${count(one.comparisons)} comparisons at once, at the level ${Number((100 * one.level).toPrecision(6))} %. ` : "";
  const how = `Bars of differences: ${one.method}, their coverage is ${one.guaranteed ? "guaranteed" : "approximate"}.`;
  return [make("p", {}, make("strong", {}, "Differences by ", foreign(`${segment.label}: `)), kept(`${many}${how}`)), ...compared(segment, false)];
}

/** One sentence for all rows that do not fit: what a board must not use. */
function misfits(rows, name) {
  const bad = rows.filter((row) => unfit(row)).flatMap((row, i) => [i ? ", " : "", name(row)]);
  return bad.length ? [make("p", { class: "notice" }, "These counts do not fit the survey’s design: do not use these numbers: ", ...bad, ".")] : [];
}

function groups(question, scale, story, how) {
  const found = [];
  for (const segment of question.segments) {
    const [first, ...others] = (segment.options ?? [segment])[0].rows;
    if (!first || (!others.length && TOGETHER[first.label])) continue; // all in one: the headline again
    found.push(make(`h${how.level + 1}`, { class: "part" }, "By ", foreign(segment.label)));
    const options = make("details", { class: "more" }, make("summary", {}, "Every option by ", foreign(segment.label))), into = segment.options ? (...all) => options.append(...all) : (...all) => found.push(...all);
    for (const part of parts(segment)) {
      const rows = part.rows.map((row) => ({ ...row, label: named(segment, row.label), foreign: !ours(segment, row.label), unfit: unfit(row) }));
      const name = `by ${segment.label}${segment.options ? `, ${part.label}` : ""}`;
      if (segment.options) into(make(`h${how.level + 2}`, { class: "option" }, foreign(part.label)));
      into(figure((width) => rowsFigure(rows, scale, width, { name }), story(name, segment.note), how), ...misfits(rows, (row) => (row.foreign ? foreign(row.label) : row.label)));
    }
    found.push(...compared(segment, true), segment.others ? make("p", {}, segment.others) : "", segment.options ? options : "");
    if (segment.missing) found.push(make("p", { class: "small quiet" }, segment.missing));
  }
  return found;
}

function rounds(question, scale, story, how) {
  const found = [];
  for (const part of parts(question.trend)) {
    const name = `over rounds${part.label ? `, ${part.label}` : ""}`;
    found.push(make(`h${how.level + 1}`, { class: "part" }, part.label ? "Over the rounds: " : "Over the rounds", part.label ? foreign(part.label) : ""));
    found.push(figure((width) => trendFigure(part, scale, width, part.label ?? ""), story(name, question.trend.note), how));
    if (part.words) found.push(make("p", {}, kept(`${part.words}.`)));
    found.push(...misfits(part.rounds, (row) => `round ${row.round + 1}`));
  }
  return found;
}

function questionCard(question, survey, how) {
  const card = make("article", { class: "card", "data-question": question.id }), it = question.estimate, scale = scaleOf(question);
  card.append(make(`h${how.level}`, { class: "question foreign" }, question.text));
  if (!it) {
    card.append(...question.notes.map((note) => make("p", { class: "quiet" }, note)), method(question, scale));
    return card;
  }
  const level = Number((100 * it.level).toPrecision(6));
  const when = survey.released && survey.view === "released" ? `Release ${survey.released.number} of ${moment(survey.released.at)}` : "Live view";
  const story = (name, note) => ({
    name: `${question.text}, ${name}`, title: `${question.text}${name === "all" ? "" : ` (${name})`}`, file: slug(`${survey.name} ${question.id} ${name}`),
    foot: [note ? `${level} % ${it.method} bars; target: ${it.target}. ${note}.` : `${it.bar}; n = ${count(it.n)}; target: ${it.target}.${it.misfit ? ` How well the counts fit: ${it.misfit}.` : ""}`,
      `${survey.pilot ? "Pilot: trial data. " : ""}${when}, “${survey.title}” of ${survey.publisher}, version ${survey.version}.`],
  });
  const round = question.rounds > 1 ? (question.round === null ? "" : ` in round ${question.round + 1} of ${question.rounds}`) : "";
  card.append(...headline(question), make("p", { class: "small quiet" }, `From ${plural(it.n, "answer", "answers")}${round}, each changed by chance on the device it came from.`));
  if (it.fit) card.append(unfit(it) ? notice(it.fit) : make("p", { class: "small quiet" }, it.fit));
  const rows = it.options ? [...it.options].sort((a, b) => b.value - a.value) : it.quantiles ? it.quantiles.map((one) => ({ ...one, foreign: false, n: undefined, fit: null })) : [{ ...it, label: "All", foreign: false, n: undefined, fit: null }];
  card.append(figure((width) => rowsFigure(rows, scale, width, { filled: Boolean(it.options), name: it.options ? "Options" : it.quantiles ? "Quantiles" : "Estimate" }), story("all", ""), how));
  card.append(...question.beside.map((note) => make("p", { class: "small quiet note" }, note)));
  card.append(...groups(question, scale, story, how), ...rounds(question, scale, story, how), method(question, scale));
  return card;
}

// ---- one survey ----------------------------------------------------------------------------------------------------

/** The survey's head and all its questions; `level` is its heading's, `buttons`: whether figures can be saved. */
export function surveyFindings(survey, { level = 1, buttons = true, head = true } = {}) {
  const section = make("section", { "data-survey": survey.digest });
  if (head) {
    section.append(make("header", {}, make(`h${level}`, { class: "foreign" }, survey.title),
      make("p", { class: "quiet" }, "Asked by ", foreign(survey.publisher), ` · version ${survey.version}${survey.issuer ? " · by invitation, with tokens" : survey.invite_only ? " · by invitation" : " · open to everybody"}`),
      survey.pilot ? make("p", { class: "bad" }, "pilot: trial data") : "",
      survey.state.state === "withdrawn" ? notice(survey.state.words) : make("p", { class: "small" }, survey.state.words)));
  }
  const total = survey.view === "released" && !survey.released ? "" : `${plural(survey.answers, "answer is", "answers are")} ${survey.view === "released" ? "in this release" : "counted"}.`;
  section.append(make("div", { class: "notes" }, total ? make("p", {}, make("strong", { class: "answers" }, count(survey.answers)), total.slice(count(survey.answers).length)) : "",
    ...survey.beside.map((note) => make("p", { class: "small quiet" }, note))));
  section.append(...survey.questions.map((question) => questionCard(question, survey, { buttons, level: level + 1 })));
  const rest = survey.notes.filter((note) => !survey.beside.includes(note));
  if (rest.length) section.append(make("details", { class: "method" }, make("summary", {}, "Method of the release"), ...rest.map((note) => make("p", {}, note))));
  return section;
}

/** One line per question, for a list of surveys. */
export function summary(survey) {
  const items = survey.questions.map((question) => {
    const it = question.estimate, most = it?.options ? it.options.find((one) => one.label === it.largest.label) : it;
    const told = !it ? [make("span", { class: "quiet" }, "nothing released yet")] : it.options ? [foreign(most.label), `: ${most.about}`] : [most.about];
    if (unfit(it)) told.push(make("span", { class: "bad" }, ` ${it.fit}`));
    return make("li", {}, foreign(question.text), make("br"), ...told);
  });
  return make("ul", { class: "summary" }, ...items);
}
