// Planted bug: the choice as radio buttons, which browsers save.  The interface is that of choice.mjs.
export class Choice {
  constructor(labelledBy, options) {
    this.element = document.createElement("fieldset");
    this.element.className = "choices";
    for (const [truth, word] of options) {
      const input = Object.assign(document.createElement("input"), { type: "radio", name: labelledBy, value: truth ? "yes" : "no" });
      const label = document.createElement("label");
      label.append(input, word);
      this.element.append(label);
    }
  }
  get truth() {
    const chosen = this.element.querySelector("input:checked");
    return chosen ? chosen.value === "yes" : null;
  }
  clear() {}
  close() {}
  focus() {}
}
