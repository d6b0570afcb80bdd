// Planted bug: form controls, which browsers save.  The interface is that of element/entries.mjs.  They stand in the page itself,
// shown by a slot: what is inside an element's shadow, browsers do not save.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

class SavedControl {
  constructor(labelledBy) {
    this.element = make("slot", { name: labelledBy });
    this.controls = make("fieldset", { slot: labelledBy });
    document.querySelector("rr-survey").append(this.controls);
  }
  get fault() {
    return this.truth === null ? "Nothing was entered." : null;
  }
  clear() {}
  close() {
    this.controls.remove();
  }
  focus() {}
}

export class Choice extends SavedControl {
  constructor(labelledBy, options) {
    super(labelledBy);
    this.truths = options.map(({ truth }) => truth);
    if (options.length > 2) Object.assign(this.controls.style, { maxHeight: "20rem", overflowY: "auto" });
    this.inputs = options.map(({ truth, label }) => {
      const input = Object.assign(document.createElement("input"), { type: "radio", name: labelledBy, value: String(truth) });
      this.controls.append(make("label", {}, input, label));
      return input;
    });
  }
  get truth() {
    return this.truths[this.inputs.findIndex((input) => input.checked)] ?? null;
  }
}

export class NumberEntry extends SavedControl {
  constructor(labelledBy) {
    super(labelledBy);
    this.input = Object.assign(document.createElement("input"), { type: "text", name: labelledBy });
    this.controls.append(this.input);
  }
  get truth() {
    return this.input.value || null;
  }
}
