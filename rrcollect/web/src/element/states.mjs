// @ts-check
/**
 * States of <rr-survey> that no error of the client stands for.
 */

/** @import { AcceptedSurvey, Client } from "../index.mjs" */

/** A state of this element that no error of the client stands for. */
export class StateError extends Error {
  /** @param {string} name @param {readonly string[]} [places] where it is answered */
  constructor(name, places = []) {
    super(name);
    this.name = name;
    this.places = places;
    /** @type {{client: Client, survey: AcceptedSurvey} | null} */
    this.over = null;
  }
}
