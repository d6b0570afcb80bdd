/** @typedef {import("./rrcollect.mjs").Survey} Survey @typedef {import("./rrcollect.mjs").Question} Question
 * @typedef {import("./rrcollect.mjs").Budget} Budget @typedef {import("./rrcollect.mjs").Words} Words
 * @typedef {Awaited<ReturnType<typeof explanation>>} Explanation
 * @typedef {Error & {places?: readonly string[], over?: {client: import("./rrcollect.mjs").Client, survey: {digest: string}} | null}} Failure */
/** @param {Survey} survey @param {Words} given @param {string} language of the survey's texts */
export function explanation(survey: Survey, given: Words, language: string): Promise<{
    words: import("./rrcollect.mjs").Words;
    /** What is true of the whole survey: after the mark and "Asked by:", which a page shows otherwise. */
    about: Readonly<{
        text: string;
        foreign: boolean;
        question: string | null;
    }>[];
    /** What is true of one question, after "Question 1 of 2:". @param {Question} question */
    of: ({ id }: Question) => string[];
    /** All that was drawn, and the limit. @param {Budget} budget */
    spent: (budget: Budget) => string;
    /** @param {Question} question */
    simulation: (question: Question) => HTMLElement;
}>;
/** What an error means to a person; what was entered is in none. @param {Error} error @param {Words} given */
export function inWords(error: Error, given: Words): Promise<string>;
/** A page for what went wrong. @param {HTMLElement} host @param {Failure} error @param {Words} given @param {Node} again
 * @param {{head: () => Node[], foot: () => Node[]} | null} view of a survey that is over */
export function failure(host: HTMLElement, error: Failure, given: Words, again: Node, view: {
    head: () => Node[];
    foot: () => Node[];
} | null): Promise<Node[]>;
export { coloured };
export type Survey = import("./rrcollect.mjs").Survey;
export type Question = import("./rrcollect.mjs").Question;
export type Budget = import("./rrcollect.mjs").Budget;
export type Words = import("./rrcollect.mjs").Words;
export type Explanation = Awaited<ReturnType<typeof explanation>>;
export type Failure = Error & {
    places?: readonly string[];
    over?: {
        client: import("./rrcollect.mjs").Client;
        survey: {
            digest: string;
        };
    } | null;
};
import { coloured } from "./rr-drawings.mjs";
