// Planted bug: form controls, which browsers save.  The interface is that of choice.mjs.
class SavedControl {
  constructor() {
    this.element = document.createElement("fieldset");
  }
  get fault() {
    return this.truth === null ? "Nothing was entered." : null;
  }
  clear() {}
  close() {}
  focus() {}
}

export class Choice extends SavedControl {
  constructor(labelledBy, options) {
    super();
    this.truths = options.map(([truth]) => truth);
    this.element.className = options.length > 2 ? "choices many" : "choices";
    this.inputs = options.map(([truth, word]) => {
      const input = Object.assign(document.createElement("input"), { type: "radio", name: labelledBy, value: String(truth) });
      const label = document.createElement("label");
      label.append(input, word);
      this.element.append(label);
      return input;
    });
  }
  get truth() {
    return this.truths[this.inputs.findIndex((input) => input.checked)] ?? null;
  }
}

export class NumberEntry extends SavedControl {
  constructor(labelledBy) {
    super();
    this.input = Object.assign(document.createElement("input"), { type: "text", name: labelledBy });
    this.element.append(this.input);
  }
  get truth() {
    return this.input.value || null;
  }
}
