// @ts-check
/**
 * What a person enters: one of several options, or a number.
 *
 * Rules
 * 1. A browser saves the state of form controls (radio buttons, check boxes, fields) in its session files, and puts it
 *    back later.  So there are none here: the truth is in a private field of an object, and leaves it by `truth` alone.
 * 2. It is forgotten when it was sent, and when the page is left, also into the browser's cache of pages.  So is how far a
 *    list was scrolled, and whether it was: Firefox saves both.
 * 3. Options behave as radio buttons do: one stop for Tab, arrows move and choose, Space and Enter choose; Home and End go to
 *    the ends, a letter to the next option that begins with it.
 * 4. A number is a dial: one stop for Tab, digits are typed, arrows go up and down.  The keypad is for fingers and mice.
 * 5. A number stays the text that was typed: nothing is rounded.
 * 6. Of "all that apply" each option is a switch; "none of these" takes all others back, and is an answer as well.
 */
import { parseFraction } from "../design/parameters.mjs";

/** @typedef {import("../index.mjs").Words} Words */
/** What a person can enter. @typedef {boolean | number | string | readonly number[]} Truth */

/** An element with attributes (or, for names in "on…", listeners); true is an empty attribute, false and null are none.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {(Node | string)[]} children @returns {HTMLElement} */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Holds the truth until it is sent; `show` puts it on the screen. */
class Entry {
  /** @type {Truth | null} */
  #truth = null;
  #forget = () => this.clear();
  /** @type {HTMLElement} */
  element = document.createElement("div");

  constructor() {
    addEventListener("pagehide", this.#forget);
  }

  /** What was entered; null if nothing was. */
  get truth() {
    return this.#truth;
  }

  /** @param {Truth | null} truth */
  keep(truth) {
    this.#truth = truth;
    this.show(truth);
  }

  /** @param {any} _truth */
  show(_truth) {}

  /** Forget it, and stay usable. */
  clear() {
    this.keep(null);
  }

  /** Forget it for good. */
  close() {
    this.clear();
    removeEventListener("pagehide", this.#forget);
  }
}

const IN_VIEW = 6; // options that are seen without scrolling
/** @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** One of several options. */
export class Choice extends Entry {
  /** @type {{button: HTMLElement, truth: boolean | number}[]} */
  #buttons;
  #list;

  /** @param {string} labelledBy the id of the question's heading @param {readonly {truth: boolean | number, label: Node | string}[]} options
   * @param {string} missing what is said if nothing was chosen @param {Words} words */
  constructor(labelledBy, options, missing, words) {
    super();
    this.missing = missing;
    this.#buttons = options.map(({ truth, label }) => {
      const button = make("button", { type: "button", class: "choice", part: "option", role: this.role, onclick: () => this.choose(truth) }, label);
      return { button, truth };
    });
    const kind = options.length > 2 ? "choices many" : "choices", group = { class: kind, role: this.group, "aria-labelledby": labelledBy };
    const list = make("div", group, ...this.#buttons.map(({ button }) => button)), more = options.length > IN_VIEW;
    list.addEventListener("keydown", (event) => this.#move(event));
    this.#list = list;
    this.element.append(...(more ? [make("p", { class: "small quiet" }, words.say("scroll", { count: options.length }))] : []), list);
    this.show(null);
  }

  get role() { return "radio"; }
  get group() { return "radiogroup"; }

  /** What a press of an option does. @param {boolean | number} option */
  choose(option) {
    this.keep(option);
  }

  /** What an arrow does to the option it leads to. @param {boolean | number} option */
  reach(option) {
    this.keep(option);
  }

  /** Whether an option is chosen. @param {boolean | number} option @param {any} chosen */
  isChosen(option, chosen) {
    return option === chosen;
  }

  /** Why it cannot be sent; null if it can. */
  get fault() {
    return this.truth === null ? this.missing : null;
  }

  focus() {
    this.#buttons.find(({ button }) => button.tabIndex === 0)?.button.focus();
  }

  /** @param {any} chosen */
  show(chosen) {
    if (chosen === null) for (const place of [1, 0]) this.#list.scrollTop = place; // also where nothing was scrolled (rule 2)
    const first = chosen === null ? 0 : this.#buttons.findIndex(({ truth }) => this.isChosen(truth, chosen));
    this.#buttons.forEach(({ button, truth }, place) => {
      button.setAttribute("aria-checked", String(this.isChosen(truth, chosen)));
      button.tabIndex = place === first ? 0 : -1;
    });
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const many = this.#buttons.length, now = this.#buttons.findIndex(({ button }) => button === event.target);
    const next = event.ctrlKey || event.metaKey || event.altKey ? undefined : this.#buttons[this.#place(event.key, now, many)];
    if (!next) return;
    event.preventDefault();
    this.reach(next.truth);
    next.button.focus();
  }

  /** Where a key leads from here; -1 if nowhere. @param {string} key @param {number} now @param {number} many */
  #place(key, now, many) {
    if (key in STEPS) return (now + STEPS[key] + many) % many;
    if (key === "Home") return 0;
    if (key === "End") return many - 1;
    if ([...key].length !== 1 || key === " ") return -1;
    const letter = key.toLocaleLowerCase(), after = [...Array(many).keys()].map((i) => (now + 1 + i) % many);
    return after.find((place) => this.#buttons[place].button.textContent?.trim().toLocaleLowerCase().startsWith(letter)) ?? -1;
  }
}

const NONE = -1; // the option that says that none of the others applies

/** All that apply of several options. */
export class Several extends Choice {
  /** @param {string} labelledBy the id of the question's heading @param {readonly (Node | string)[]} labels @param {Words} words */
  constructor(labelledBy, labels, words) {
    const none = words.say("none_of_these"), options = [...labels.map((label, truth) => ({ truth, label })), { truth: NONE, label: none }];
    super(labelledBy, options, words.say("choose_several", { none }), words);
  }

  get role() { return "checkbox"; }
  get group() { return "group"; }

  /** @param {any} option */
  choose(option) {
    const now = /** @type {number[]} */ (this.truth ?? []);
    if (option === NONE) this.keep([]);
    else this.keep(now.includes(option) ? (now.length > 1 ? now.filter((one) => one !== option) : null) : [...now, option].sort((a, b) => a - b));
  }

  /** An arrow only leads there. */
  reach() {}

  /** @param {any} option @param {number[] | null} chosen */
  isChosen(option, chosen) {
    return chosen !== null && (option === NONE ? !chosen.length : chosen.includes(option));
  }
}

const LONGEST = 24, KEYS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "−", "0", "."];
/** @type {Record<string, string>} */
const NAMES = { "−": "minus", ".": "point" };
const OTHER_DIGITS = "٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹"; // of Arabic and Persian keyboards

/** A number from `low` to `high`. */
export class NumberEntry extends Entry {
  #dial;
  #digits = make("span", { class: "digits", dir: "ltr" });
  #kind;
  #unit;
  #words;

  /** @param {string} labelledBy the id of the question's heading @param {{low: string, high: string, clip: boolean}} kind @param {string} unit @param {Words} words */
  constructor(labelledBy, kind, unit, words) {
    super();
    this.#kind = kind;
    this.#unit = unit;
    this.#words = words;
    this.low = exact(kind.low);
    this.high = exact(kind.high);
    this.#dial = make("div", {
      class: "dial", part: "number", role: "spinbutton", tabindex: "0", "aria-labelledby": labelledBy, "aria-live": "polite",
      "aria-valuemin": this.low.toNumber(), "aria-valuemax": this.high.toNumber(),
    }, this.#digits, make("span", { class: "foreign unit", dir: "auto" }, unit));
    const keys = KEYS.map((key) => this.#key(key === "." ? String(words.table.decimal) : key, key in NAMES ? words.say(NAMES[key]) : key, key));
    if (this.low.sign() >= 0) keys[KEYS.indexOf("−")].style.visibility = "hidden";
    const range = make("p", { class: "small quiet" }, words.say("from_to", { low: kind.low, high: kind.high }), ...(unit ? [" ", make("span", { class: "foreign", dir: "auto" }, unit)] : []));
    this.element.className = "number";
    this.element.append(make("div", { class: "row" }, this.#dial, this.#key("⌫", words.say("delete_digit"), "Backspace")), range, make("div", { class: "keypad", dir: "ltr" }, ...keys));
    this.element.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.#type(event.key)) event.preventDefault();
    });
    this.show(null);
  }

  /** Why it cannot be sent; null if it can. */
  get fault() {
    const number = this.truth === null ? null : parseFraction(String(this.truth)), { low, high, clip } = this.#kind;
    if (number === null) return this.#words.say("enter_number");
    return clip || (number.compare(this.low) >= 0 && number.compare(this.high) <= 0) ? null : this.#words.say("enter_between", { low, high });
  }

  focus() {
    this.#dial.focus();
  }

  /** @param {string | null} text */
  show(text) {
    const number = text === null ? null : parseFraction(text);
    this.#digits.textContent = text === null ? "" : text.replace("-", "−").replace(".", String(this.#words.table.decimal));
    this.#dial.classList.toggle("empty", text === null);
    this.#dial.setAttribute("aria-valuetext", text === null ? this.#words.say("no_number") : `${text} ${this.#unit}`.trim());
    if (number === null) this.#dial.removeAttribute("aria-valuenow");
    else this.#dial.setAttribute("aria-valuenow", String(number.toNumber()));
  }

  /** @param {string} sign @param {string} name @param {string} key */
  #key(sign, name, key) {
    return make("button", { type: "button", class: "key", tabindex: "-1", "aria-label": name, onclick: () => this.#type(key) }, sign);
  }

  /** What a key makes of the number; false if it means nothing. @param {string} key @returns {boolean} */
  #type(key) {
    const text = /** @type {string | null} */ (this.truth) ?? "", other = key.length === 1 ? OTHER_DIGITS.indexOf(key) : -1;
    if (other >= 0) return this.#type(String(other % 10));
    if (key === "ArrowUp" || key === "ArrowDown") this.#step(key === "ArrowUp" ? 1 : -1);
    else if (key === "Backspace") this.keep(text.slice(0, -1) || null);
    else if (key === "Delete") this.keep(null);
    else if ((key === "-" || key === "−") && this.low.sign() < 0) this.keep((text.startsWith("-") ? text.slice(1) : `-${text}`) || null);
    else if ([".", ",", "٫"].includes(key) && !text.includes(".") && text.length < LONGEST) this.keep(`${text}.`);
    else if (/^[0-9]$/.test(key) && text.length < LONGEST) this.keep((text + key).replace(/^(-?)0(?=[0-9])/, "$1"));
    else return false;
    return true;
  }

  /** One step up or down: 1, or less in a short range; from nothing to the nearer end. @param {1 | -1} direction */
  #step(direction) {
    const [low, high] = [this.low.toNumber(), this.high.toNumber()], now = this.truth === null ? null : parseFraction(String(this.truth));
    const places = Math.max(0, Math.ceil(-Math.log10((high - low) / 10))), unit = 10 ** -places;
    const next = now === null ? (direction > 0 ? low : high) : Math.min(high, Math.max(low, now.toNumber() + direction * unit));
    this.keep(String(Number(next.toFixed(places))));
  }
}

/** @param {string} text of a signed survey */
const exact = (text) => /** @type {import("../design/fraction.mjs").Fraction} */ (parseFraction(text));
