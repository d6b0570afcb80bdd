// Yes or no, chosen with buttons.
//
// Rules
// 1. A browser saves the state of form controls (radio buttons, check boxes, fields) in its session files, and puts it
//    back later.  So the choice has none: it is in a private field of this object, and leaves it by `truth` alone.
// 2. It is forgotten when it was sent, and when the page is left, also into the browser's cache of pages.
// 3. It behaves as radio buttons do: one stop for Tab, arrows move and choose, Space and Enter choose.

const PREVIOUS = ["ArrowLeft", "ArrowUp"], NEXT = ["ArrowRight", "ArrowDown"];

export class Choice {
  /** @type {boolean | null} */
  #truth = null;
  #buttons;
  #forget = () => this.clear();

  /** @param {string} labelledBy the id of the question's heading @param {[boolean, string][]} options each with its word */
  constructor(labelledBy, options) {
    this.element = document.createElement("div");
    this.element.className = "choices";
    this.element.setAttribute("role", "radiogroup");
    this.element.setAttribute("aria-labelledby", labelledBy);
    this.#buttons = options.map(([truth, word]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "choice";
      button.setAttribute("role", "radio");
      button.textContent = word;
      button.addEventListener("click", () => this.#choose(truth));
      return { button, truth };
    });
    this.element.append(...this.#buttons.map(({ button }) => button));
    this.element.addEventListener("keydown", (event) => this.#move(event));
    addEventListener("pagehide", this.#forget);
    this.#show();
  }

  /** What was chosen; null if nothing was. */
  get truth() {
    return this.#truth;
  }

  /** Forget it, and stay usable. */
  clear() {
    this.#choose(null);
  }

  /** Forget it for good. */
  close() {
    this.clear();
    removeEventListener("pagehide", this.#forget);
  }

  focus() {
    this.#buttons[0].button.focus();
  }

  /** @param {boolean | null} truth */
  #choose(truth) {
    this.#truth = truth;
    this.#show();
  }

  #show() {
    const none = this.#truth === null;
    this.#buttons.forEach(({ button, truth }, place) => {
      button.setAttribute("aria-checked", String(truth === this.#truth));
      button.tabIndex = truth === this.#truth || (none && place === 0) ? 0 : -1;
    });
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const step = NEXT.includes(event.key) ? 1 : PREVIOUS.includes(event.key) ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const many = this.#buttons.length, now = this.#buttons.findIndex(({ button }) => button === event.target);
    const next = this.#buttons[(now + step + many) % many];
    this.#choose(next.truth);
    next.button.focus();
  }
}
