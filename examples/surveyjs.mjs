// @ts-check
/**
 * A question type for SurveyJS whose value is a randomised report, ready for a column of its results.
 *
 * Rules
 * 1. The truth never enters SurveyJS: no value, property, comment, event or stored state of its model.  It goes from an entry
 *    in a closed shadow root into `client.answer`; the canonical text of the report is the first value the question has.
 * 2. Nothing of a person's gestures leaves the shadow root either: an event that bubbled would tell where it was clicked.
 * 3. The survey is `carried`: SurveyJS passes the reports on, next to a person's other answers, and people are told so.
 * 4. What people read is the signed text and our own lines, not a title of the SurveyJS document.  The publisher's words are
 *    marked wherever they stand (question, help, options, unit), and a line of ours says so.
 * 5. What was drawn is not shown: who declined on seeing it would bias the estimate.
 *
 * SurveyJS is an argument, not an import: `addRandomised(await import("survey-core"), client, accepted)`.
 */
import { Choice, NumberEntry, make } from "rrcollect/entries";
import { loadWords, questionsFor, surveyLines } from "rrcollect";

/** @typedef {import("rrcollect").AcceptedSurvey} AcceptedSurvey @typedef {import("rrcollect").Client} Client
 * @typedef {import("rrcollect").Asked} Asked @typedef {import("rrcollect").Words} Words */

const TYPE = "randomised";
const GESTURES = ["click", "dblclick", "auxclick", "contextmenu", "wheel", "input", "change", "focusin", "focusout", "keydown", "keyup", "keypress"]
  .concat(...["down", "up", "move", "over", "out"].map((what) => [`pointer${what}`, `mouse${what}`]), ["touchstart", "touchmove", "touchend"]);

/**
 * Make the question type known to SurveyJS: `{type: "randomised", name: "rr_doped", question: "q1"}`, where `question` is the
 * id in the signed survey (by default the name).  Its `randomise(truth)` and `decline()` are what its page calls.
 * @param {any} core survey-core @param {Client} client @param {AcceptedSurvey} accepted
 */
export function addRandomised(core, client, accepted) {
  const { survey } = accepted;
  if (survey.collector !== "carried") throw new Error(`the survey '${survey.name}' sends its reports itself: only one that is 'carried' fits into SurveyJS`);
  const { QuestionFactory, Serializer, CustomWidgetCollection } = core, Base = /** @type {new (name: string) => any} */ (core.Question);

  class RandomisedQuestion extends Base {
    getType() {
      return TYPE;
    }

    /** The question of the signed survey. */
    get asked() {
      const id = this.question || this.name, found = survey.questions.find((one) => one.id === id);
      if (!found) throw new Error(`the survey '${survey.name}' has no question '${id}'`);
      return found;
    }

    get question() {
      return this.getPropertyValue("question");
    }

    set question(id) {
      this.setPropertyValue("question", id);
    }

    /** Draw, keep in the ledger, and only then become the question's value. @param {any} truth or a function that tells it
     * @param {Parameters<Client["answer"]>[3]} [given] */
    async randomise(truth, given) {
      this.value = (await client.answer(accepted, this.asked.id, truth, given)).body;
    }

    /** Nothing of this question is in the results. */
    async decline() {
      await client.decline(accepted, this.asked.id);
      this.clearValue();
    }
  }

  Serializer.addClass(TYPE, [{ name: "question" }, { name: "titleLocation", default: "hidden" }], () => new RandomisedQuestion(""), "question");
  QuestionFactory.Instance.registerQuestion(TYPE, (/** @type {string} */ name) => Object.assign(new RandomisedQuestion(name), { titleLocation: "hidden" }));
  CustomWidgetCollection.Instance.add({
    name: TYPE,
    isFit: (/** @type {any} */ question) => question.getType() === TYPE,
    isDefaultRender: false,
    htmlTemplate: "<div></div>",
    afterRender: (/** @type {RandomisedQuestion} */ question, /** @type {HTMLElement} */ place) => draw(question, place, survey),
  }, "type");
  return RandomisedQuestion;
}

/** What stands in the place of a question: the signed text, what happens to the answer, an entry and two buttons.
 * @param {any} question @param {HTMLElement} place @param {AcceptedSurvey["survey"]} survey */
async function draw(question, place, survey) {
  const root = place.attachShadow({ mode: "closed" }), sheet = new CSSStyleSheet(), words = await loadWords(navigator.languages);
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];
  for (const gesture of GESTURES) root.addEventListener(gesture, (event) => event.stopPropagation());
  const { language } = navigator, theirs = (/** @type {string} */ tag, /** @type {string} */ said) => make(tag, { class: "foreign", dir: "auto" }, said);
  const asked = /** @type {Asked} */ (questionsFor(survey, { words, language }).find(({ id }) => id === question.asked.id));
  const line = (/** @type {{text: string, foreign: boolean}} */ { text, foreign }) => (foreign ? theirs("p", text) : make("p", {}, text));
  const lines = surveyLines(survey, { words, language, page: true }), { text, help } = asked;
  const own = lines.filter((one) => one.question === asked.id && !one.foreign).slice(1); // after "Question 1 of 2:"
  const whole = lines.slice(lines.map((one) => one.question !== null).lastIndexOf(true) + 1), state = make("div");
  root.append(
    make("p", { id: "text", class: "text" }, theirs("span", text)), ...(help ? [theirs("p", help)] : []),
    make("p", { class: "small" }, ...words.parts("type", { type: theirs("span", words.say("this_type")) })),
    make("div", { class: "small" }, ...own.map(line)), state,
    make("details", { class: "small" }, make("summary", {}, words.say("what_leaves")), ...whole.map(line)),
  );
  const button = (/** @type {string} */ key, /** @type {() => void} */ onclick) => make("button", { type: "button", onclick }, words.say(key));
  const ask = () => {
    const entry = entryOf(asked, words), said = make("p", { role: "alert" });
    /** @param {Promise<void>} done @param {() => void} then */
    const settled = (done, then) => done.then(() => { entry.close(); then(); }, (error) => { said.textContent = error.message; });
    state.replaceChildren(entry.element, said, button("put_in", () => {
      said.textContent = entry.fault ?? "";
      if (entry.fault) entry.focus();
      else settled(question.randomise(() => entry.truth), answered);
    }), button("decline_button", () => settled(question.decline(), declined)));
  };
  const declined = () => state.replaceChildren(make("p", { role: "status" }, words.say("declined")), button("again", ask));
  const answered = () => state.replaceChildren(make("p", { role: "status" }, words.say("in_form")), button("decline_button", () => question.decline().then(declined)));
  if (question.isEmpty()) ask();
  else answered();
}

/** How a truth is entered, by the question's kind. @param {Asked} asked @param {Words} words */
function entryOf(asked, words) {
  if (asked.kind === "number") return new NumberEntry("text", asked, asked.unit, words);
  const marked = asked.kind === "yes_no" ? {} : { class: "foreign", dir: "auto" }; // yes and no are our words
  const options = asked.options.map(({ truth, label }) => ({ truth, label: make("span", marked, label) }));
  return new Choice("text", options, words.say(asked.kind === "yes_no" ? "choose_yes_no" : "choose_option"), words);
}

const STYLE = `
  :host { display: block; font: inherit; color: inherit; white-space: normal; overflow-wrap: anywhere; text-align: start; }
  p { margin: .4em 0; } .text { font-size: 1.1em; font-weight: 600; }
  .foreign { font-family: Georgia, "Liberation Serif", "Noto Serif", serif; unicode-bidi: isolate; white-space: pre-line; text-decoration-line: underline; text-decoration-style: dotted; text-decoration-color: #767676; text-decoration-thickness: 1px; text-underline-offset: .25em; }
  p.foreign { border-inline-start: 3px solid #999; padding-inline-start: .6em; }
  .small { font-size: .875em; } details { margin-top: .5em; } [role="alert"]:not(:empty) { color: #b00020; }
  button { font: inherit; min-height: 2.75em; margin: .25em 0; margin-inline-end: .5em; padding: 0 1em; border: 1px solid #767676; border-radius: .4em; background: #fff; color: #1a1a1a; }
  button[aria-checked="true"] { background: #0b5cad; border-color: #0b5cad; color: #fff; }
  button:focus-visible, [tabindex]:focus-visible { outline: 3px solid #0b5cad; outline-offset: 2px; }
  .choices.many { display: flex; flex-direction: column; align-items: stretch; max-height: 20em; overflow: auto; } .choices.many button { text-align: start; }
  .keypad { display: grid; grid-template-columns: repeat(3, 3.5em); } .row { display: flex; gap: .5em; }
  .dial { min-width: 8em; min-height: 2.75em; padding: 0 .6em; border: 1px solid #767676; border-radius: .4em; align-content: center; }`;
