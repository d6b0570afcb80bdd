/** The ledger of a Node program: a folder, and a rollback guard beside it. @implements {Ledger} */
export class FileLedger implements Ledger {
    /** @param {string} path of its folder, which is made if its parent is there */
    constructor(path: string);
    place: Promise<LedgerFolder>;
    /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
    transact<T>(change: (state: State) => T): Promise<T>;
}
export type State = import("./rrcollect.mjs").State;
export type Ledger = import("./rrcollect.mjs").Ledger;
/** The files of a ledger; every method ends in one go, without waiting. */
declare class LedgerFolder {
    /** @param {string} given */
    static at(given: string): Promise<LedgerFolder>;
    /** @param {string} parent @param {string} name */
    constructor(parent: string, name: string);
    parent: string;
    name: string;
    path: string;
    /** @param {Uint8Array} data @returns {string} */
    digest(data: Uint8Array): string;
    /** Change the ledger; null if somebody else was first.
     * @template T @param {(state: State) => T} change @returns {{result: T} | null} */
    once<T>(change: (state: State) => T): {
        result: T;
    } | null;
    /** The state that is the ledger, and all that have files; null if there is no ledger. */
    now(): {
        now: string;
        states: string[];
    } | null;
    /** @param {string} now @returns {{before: string, state: any} | null} null if it is not the ledger any more */
    read(now: string): {
        before: string;
        state: any;
    } | null;
    /** From one state to the next; null if somebody else was first. @param {string} now @param {State} state */
    swap(now: string, state: State): string | null;
    /** Make an empty ledger, unless somebody else does: a folder is renamed to one that is empty or not there. @returns {null} */
    make(): null;
    /** Keep a state for good, before anything is handed out or follows it. @param {string} now */
    settle(now: string): void;
    /** The states that the guard knows, the newest last; none if it is gone, or was never finished. @returns {string[]} */
    guarded(): string[];
    /** A line of its own in the guard, also after one that was cut off. @param {string} now @param {number} [flag] */
    append(now: string, flag?: number): void;
    /** A new file, whole on the disk and read back. @param {string} path @param {Uint8Array} data */
    write(path: string, data: Uint8Array): void;
    /** The names in a folder, on the disk. @param {string} path */
    flush(path: string): void;
    /** What cannot be removed now is removed later. @param {string} path */
    remove(path: string): void;
}
export {};
