/** A sheet with the survey's colour: each scheme gets one that is read on its cards, and letters that are read on it.
 * @param {string} colour as #rrggbb */
export function coloured(colour: string): CSSStyleSheet;
/** @param {string} text */
export function sheet(text: string): CSSStyleSheet;
/** How often what is sent is not the truth; for a number, how often "high" is sent, from one end to the other.
 * @param {Question} question @param {Words} words */
export function drawing({ kind, design }: Question, words: Words): HTMLElement;
/** Simulated people, what the crowd shows and what one answer shows. @param {Question} question @param {Words} words */
export function simulation(question: Question, words: Words): HTMLElement;
export type Question = import("./rrcollect.mjs").Question;
export type Words = import("./rrcollect.mjs").Words;
