// The shared vectors, judged by the browser client: the same function runs in Node and in Chromium.
// It returns what went wrong, as lines; an empty list is success.

export const unb64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

const camel = (name) => name.replace(/(?<=[a-z])_([a-z])/g, (_, letter) => letter.toUpperCase());

export function policyOf(rr, { publishers, ...caps }) {
  return new rr.Policy(publishers, Object.fromEntries(Object.entries(caps).map(([name, value]) => [camel(name), value])));
}

/** What an answer takes of the budget for life; "" if the policy does not allow the question. */
function shareOf(rr, question, policy, words) {
  try {
    return rr.shareOfLife(question, policy, words);
  } catch (error) {
    if (error instanceof rr.RRCollectError) return "";
    throw error;
  }
}

/** A generator that gives these bytes. */
class Tape {
  constructor(text) {
    this.data = Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    this.used = 0;
    this.source = (bytes) => {
      bytes.set(this.data.subarray(this.used, this.used + bytes.length));
      this.used += bytes.length;
      return bytes;
    };
  }
}

export async function judge(rr, { surveys, reports, draws, settings, withdrawals = {}, sets = [], asked = [], numbers = [], drawn = { uniform: [], accepting: [] }, tickets = { typed: [], tickets: [] }, explained = { surveys: [], budgets: [] }, words: known = [] }) {
  const wrong = [];
  let judged = 0;
  for (const [name, it] of Object.entries(surveys)) {
    let said = "accepted", digest = null;
    try {
      const accepted = await rr.acceptSurvey(unb64(it.envelope), policyOf(rr, it.policy), { now: new Date(it.now), seen: it.seen });
      digest = accepted.digest;
    } catch (error) {
      said = error instanceof rr.RRCollectError ? error.name : `a stray ${error}`;
    }
    const wanted = name.startsWith("good_") ? "accepted" : it.error;
    if (said !== wanted || (wanted === "accepted" && digest !== it.digest)) wrong.push(`${name}: ${said}, not ${wanted}`);
    judged++;
  }
  for (const [name, { envelope, policy, survey, error: refused }] of Object.entries(withdrawals)) {
    const said = await rr.acceptWithdrawal(unb64(envelope), policyOf(rr, policy))
      .then((read) => read.survey, (error) => (error instanceof rr.RRCollectError ? error.name : `a stray ${error}`));
    if (said !== (refused ?? survey)) wrong.push(`${name}: ${said}, not ${refused ?? survey}`);
    judged++;
  }
  for (const [name, it] of Object.entries(reports)) {
    const data = unb64(it.report);
    let said = "good";
    try {
      const again = rr.reportBytes(rr.readReport(data));
      if (again.length !== data.length || again.some((byte, i) => byte !== data[i])) said = "changed";
    } catch (error) {
      said = error.name === "MalformedReport" ? "bad" : `a stray ${error}`;
    }
    if (said !== name.split("_")[0]) wrong.push(`${name}: ${said}`);
    judged++;
  }
  for (const { design, draw, no, yes } of draws) {
    const matrix = new rr.Design(rr.parseFraction(design.p00), rr.parseFraction(design.p11));
    const source = (bytes) => (bytes.set(draw.match(/../g).map((pair) => parseInt(pair, 16))), bytes);
    if (rr.randomise(false, matrix, source) !== no || rr.randomise(true, matrix, source) !== yes) {
      wrong.push(`draw ${draw} of ${design.p00}, ${design.p11}`);
    }
    judged++;
  }
  for (const { design, kind, truths, draw, answers } of asked) {
    const p = rr.parseFraction(design.p), made = design.bins ? new rr.BinDesign(design.bins, p) : new rr.SeveralDesign(design.several, p);
    const source = (bytes) => (bytes.set(draw.match(/../g).map((pair) => parseInt(pair, 16))), bytes);
    const said = truths.map((truth) => made.draw(truth, kind, source));
    if (said.join() !== answers.join()) wrong.push(`draw ${draw} of ${JSON.stringify(design)}: ${said}`);
    judged++;
  }
  for (const { design, draw, answers, truths } of sets) {
    const p = rr.parseFraction(design.p);
    const made = design.field ? new rr.BlockDesign(design.field, design.dimension, p) : new rr.SetDesign(design.options, design.size, p);
    const source = (bytes) => (bytes.set(draw.match(/../g).map((pair) => parseInt(pair, 16))), bytes);
    const said = answers.map((_, place) => rr.randomiseChoice(truths ? truths[place] : place, made, source));
    if (said.join() !== answers.join()) wrong.push(`draw ${draw} of ${JSON.stringify(design)}: ${said}`);
    judged++;
  }
  for (const { design, draw, low, high, number, answer } of numbers) {
    const matrix = new rr.Design(rr.parseFraction(design.p00), rr.parseFraction(design.p11));
    const said = rr.randomiseNumber(number, matrix, { low, high }, new Tape(draw).source);
    if (said !== answer) wrong.push(`draw ${draw} of ${number} from ${low} to ${high}: ${said}`);
    judged++;
  }
  for (const { count, bytes, value, used } of drawn.uniform) {
    const tape = new Tape(bytes), said = rr.uniform(count, tape.source);
    if (said !== value || tape.used !== used) wrong.push(`uniform below ${count} from ${bytes}: ${said}, ${tape.used} bytes`);
    judged++;
  }
  for (const [number, { survey: payload, now, attributes, asked, panels, bytes, question, rounds, used }] of drawn.accepting.entries()) {
    const survey = rr.readSurvey(unb64(payload)), tape = new Tape(bytes), ledger = new rr.MemoryLedger(), accepted = { survey, signers: new Set() };
    const client = new rr.Client({ ledger, attributes, policy: new rr.Policy(), source: tape.source });
    if (asked !== null) ledger.state.asked[JSON.stringify([survey.publisher, survey.name])] = asked;
    ledger.state.panels = Object.entries(panels).map(([attribute, round]) => ({ attribute, round }));
    for (let times = 0; times < 2; times++) client.drawPlaces(ledger.state, survey, new Date(now)); // the second draws nothing
    const said = { question: await client.drawnQuestion(accepted), used: tape.used, rounds: {} };
    for (const id of Object.keys(rounds)) said.rounds[id] = await client.panelRound(accepted, id);
    if (JSON.stringify(said) !== JSON.stringify({ question, used, rounds })) wrong.push(`drawn ${number}: ${JSON.stringify(said)}`);
    judged++;
  }
  for (const [number, { good, policy }] of settings.entries()) {
    let said = true;
    try {
      policyOf(rr, policy);
    } catch (error) {
      said = error instanceof rr.RRCollectError && error.name === "ParameterError" ? false : `a stray ${error}`;
    }
    if (said !== good) wrong.push(`settings ${number}: ${said}, not ${good}: ${JSON.stringify(policy).slice(0, 500)}`);
    judged++;
  }
  for (const [number, { survey, language, page, words: spoken, text, headlines, caps, shares }] of explained.surveys.entries()) {
    const document = rr.readSurvey(unb64(survey)), words = await rr.loadWords(spoken), said = rr.explainSurvey(document, { words, language, page });
    if (said !== text) wrong.push(`explained ${number}: ${said}`);
    const inOrder = ({ survey: all, questions }) => JSON.stringify([all, Object.entries(questions).sort()]), top = inOrder(rr.headlines(document, { words, page }));
    const policy = policyOf(rr, { publishers: [], ...caps }), took = document.questions.map((one) => shareOf(rr, one, policy, words));
    if (top !== inOrder(headlines) || String(took) !== String(shares)) wrong.push(`headlines ${number}: ${top} ${took}`);
    judged++;
  }
  for (const [number, { draws: drawn, reports: sent, caps, words: spoken, text }] of explained.budgets.entries()) {
    const ledger = new rr.MemoryLedger();
    Object.assign(ledger.state, { draws: drawn, reports: sent });
    const client = new rr.Client({ ledger, attributes: [], policy: policyOf(rr, { publishers: [], ...caps }) });
    const said = rr.explainBudget(await client.budget(), await rr.loadWords(spoken));
    if (said !== text) wrong.push(`budget ${number}: ${said}`);
    judged++;
  }
  for (const { typed, invite } of tickets.typed) {
    const said = await rr.checkInvite(typed).catch((error) => (error.name === "ParameterError" && !error.message.includes(typed || "''") ? null : `a stray ${error}`));
    if (said !== invite) wrong.push(`invite ${typed}: ${said}, not ${invite}`);
    judged++;
  }
  for (const { invite, survey, question, round, ticket } of tickets.tickets) {
    const said = await rr.ticket(invite, survey, question, round);
    if (said !== ticket) wrong.push(`ticket of ${invite}, ${survey}, ${question}, ${round}: ${said}`);
    judged++;
  }
  for (const { text, help, fingerprints } of known) {
    const said = [...await rr.fingerprints(text, help)].sort();
    if (String(said) !== String(fingerprints)) wrong.push(`words ${JSON.stringify([text, help])}: ${said}`);
    judged++;
  }
  return { wrong, judged };
}
