/** @typedef {import("./rrcollect.mjs").Words} Words */
/** An element with attributes (or, for names in "on…", listeners); true is an empty attribute, false and null are none.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {(Node | string)[]} children @returns {HTMLElement} */
export function make(tag: string, attributes?: Record<string, any>, ...children: (Node | string)[]): HTMLElement;
/** One of several options. */
export class Choice extends Entry {
    /** @param {string} labelledBy the id of the question's heading @param {[boolean | number, Node | string][]} options each with its label
     * @param {string} missing what is said if nothing was chosen @param {Words} words */
    constructor(labelledBy: string, options: [boolean | number, Node | string][], missing: string, words: Words);
    missing: string;
    /** Why it cannot be sent; null if it can. */
    get fault(): string | null;
    focus(): void;
    /** @param {boolean | number | null} chosen */
    show(chosen: boolean | number | null): void;
    #private;
}
/** A number from `low` to `high`. */
export class NumberEntry extends Entry {
    /** @param {string} labelledBy the id of the question's heading @param {{low: string, high: string, clip: boolean}} kind @param {string} unit @param {Words} words */
    constructor(labelledBy: string, kind: {
        low: string;
        high: string;
        clip: boolean;
    }, unit: string, words: Words);
    low: import("./rrcollect.mjs").Fraction;
    high: import("./rrcollect.mjs").Fraction;
    /** Why it cannot be sent; null if it can. */
    get fault(): string | null;
    focus(): void;
    /** @param {string | null} text */
    show(text: string | null): void;
    #private;
}
export type Words = import("./rrcollect.mjs").Words;
/** Holds the truth until it is sent; `show` puts it on the screen. */
declare class Entry {
    /** @type {HTMLElement} */
    element: HTMLElement;
    /** What was entered; null if nothing was. */
    get truth(): string | number | boolean | null;
    /** @param {boolean | number | string | null} truth */
    keep(truth: boolean | number | string | null): void;
    /** @param {any} _truth */
    show(_truth: any): void;
    /** Forget it, and stay usable. */
    clear(): void;
    /** Forget it for good. */
    close(): void;
    #private;
}
export {};
