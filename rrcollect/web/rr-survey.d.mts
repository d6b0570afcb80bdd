export class RRSurvey extends HTMLElement {
    static observedAttributes: string[];
    /** Words in further languages, which the page supplies; they are marked as such. @type {Record<string, import("./rrcollect.mjs").Table>} */
    words: Record<string, import("./rrcollect.mjs").Table>;
    connectedCallback(): void;
    disconnectedCallback(): void;
    attributeChangedCallback(): void;
    /** Say something to the page around: at most which question it is about. @param {"answered" | "declined" | "finished"} what @param {string} [question] */
    tell(what: "answered" | "declined" | "finished", question?: string): void;
    /** @param {(Node | string)[]} children */
    show(...children: (Node | string)[]): void;
    /** The person's languages, the best first. */
    get languages(): readonly string[];
    #private;
}
export type Survey = import("./rrcollect.mjs").Survey;
export type Question = import("./rrcollect.mjs").Question;
export type Texts = import("./rrcollect.mjs").Texts;
export type AcceptedSurvey = import("./rrcollect.mjs").AcceptedSurvey;
export type Outgoing = import("./rrcollect.mjs").Outgoing;
export type Words = import("./rrcollect.mjs").Words;
export type Budget = import("./rrcollect.mjs").Budget;
export type Explanation = import("./rr-explanation.mjs").Explanation;
