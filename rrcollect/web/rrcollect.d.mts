/** The canonical bytes of a value. @param {unknown} value @returns {Uint8Array} */
export function canonical(value: unknown): Uint8Array;
/** The value of JSON bytes: no floats, no duplicate keys, bounded size and depth.
 * @param {Uint8Array} data @param {number} limit @returns {any} */
export function read(data: Uint8Array, limit: number): any;
/** The value of canonical JSON bytes; any other spelling is refused. @param {Uint8Array} data @param {number} limit */
export function readCanonical(data: Uint8Array, limit: number): any;
/** The number a text is written as, exactly; null if it is not one, or too long.
 * @param {string} text @param {Limits} [limits] @returns {Fraction | null} */
export function parseFraction(text: string, limits?: Limits): Fraction | null;
/** The sign of a + b·e^r, exactly: e^r is transcendental for r != 0, so refining ends (Lindemann).
 * @param {Fraction} a @param {Fraction} b @param {Fraction} r @returns {number} */
export function signAtExp(a: Fraction, b: Fraction, r: Fraction): number;
/** 1 with probability exactly T/2^64, T the threshold of the truth's row; the same statements run for both truths, and
 * the truth enters by one "and" with whether the comparisons differ: no index, which a processor would predict.
 * @param {boolean} truth @param {Design} design @param {Source} [source] @returns {0 | 1} */
export function randomise(truth: boolean, design: Design, source?: Source): 0 | 1;
/** The set to send instead of the truth (the number of an option), one character per option; drawn for the first option
 * and turned by the truth.  The mapping from draws to sets is that of design/sampling.py.
 * @param {number} truth @param {SetDesign} design @param {Source} [source] @returns {string} */
export function randomiseChoice(truth: number, design: SetDesign, source?: Source): string;
/** The bit to send instead of a number in [low, high]: 1 with chance exactly τ/2^64, by the mapping of design/sampling.py.
 * A number is taken as the binary fraction it is, a text such as "38.5" as it is written.  What lies outside is refused, or
 * brought to the nearer end if the survey says `clip`.
 * @param {NumberLike} truth @param {Design} design @param {{low: NumberLike, high: NumberLike, clip?: boolean}} kind
 * @param {Source} [source] @returns {0 | 1} */
export function randomiseNumber(truth: NumberLike, design: Design, { low, high, clip }: {
    low: NumberLike;
    high: NumberLike;
    clip?: boolean;
}, source?: Source): 0 | 1;
/** The payload of an envelope and the trusted keys that signed exactly these bytes as a document of this type.
 * @param {Uint8Array} envelope @param {Iterable<string>} trusted public keys, in hexadecimal @param {string} [type] */
export function verifyEnvelope(envelope: Uint8Array, trusted: Iterable<string>, type?: string): Promise<{
    payload: Uint8Array<ArrayBufferLike>;
    signers: Set<any>;
}>;
/** A text of a survey in a language, or in its base language, or in the survey's own; "" if there is none.
 * @param {{language: string}} survey @param {Texts} texts @param {string | null} [language] @returns {string} */
export function say(survey: {
    language: string;
}, texts: Texts, language?: string | null): string;
/**
 * @typedef {Readonly<{values: readonly Readonly<{value: string, label: Texts}>[], label: Texts, help: Texts}>} Segment
 * @typedef {Readonly<{name: string, version: number, publisher: string, pilot: boolean, language: string, title: Texts,
 *   introduction: Texts, consent: Texts, contact: Texts, privacy: Texts, thanks: Texts,
 *   look: Readonly<{colour: string | null, logo: string | null}>, collector: string, origins: readonly string[],
 *   opens: Date | null, expires: Date, rounds: readonly Readonly<{opens: Date, closes: Date}>[], ask: "all" | "one",
 *   minimum: number, inviteOnly: boolean, segments: Readonly<Record<string, Segment>>, questions: readonly Question[]}>} Survey
 */
/** The survey of canonical bytes; every other spelling is refused. @param {Uint8Array} payload @returns {Survey} */
export function readSurvey(payload: Uint8Array): Survey;
/** The values that may be declared for each segment. @param {Survey} survey @returns {Record<string, string[]>} */
export function segmentValues(survey: Survey): Record<string, string[]>;
/** @typedef {{version: number, digest: string}} SeenVersion the newest version of a survey accepted before */
/** The survey of a signed envelope, or the error that says why not.
 * @param {Uint8Array} envelope @param {Policy} policy
 * @param {{now?: Date, seen?: SeenVersion | ((survey: Survey) => SeenVersion | undefined)}} [given] */
export function acceptSurvey(envelope: Uint8Array, policy: Policy, given?: {
    now?: Date;
    seen?: SeenVersion | ((survey: Survey) => SeenVersion | undefined);
}): Promise<{
    survey: Readonly<{
        name: string;
        version: number;
        publisher: string;
        pilot: boolean;
        language: string;
        title: Texts;
        introduction: Texts;
        consent: Texts;
        contact: Texts;
        privacy: Texts;
        thanks: Texts;
        look: Readonly<{
            colour: string | null;
            logo: string | null;
        }>;
        collector: string;
        origins: readonly string[];
        opens: Date | null;
        expires: Date;
        rounds: readonly Readonly<{
            opens: Date;
            closes: Date;
        }>[];
        ask: "all" | "one";
        minimum: number;
        inviteOnly: boolean;
        segments: Readonly<Record<string, Segment>>;
        questions: readonly Question[];
    }>;
    digest: string;
    signers: Set<any>;
    costs: Record<string, Promised>;
}>;
/** @typedef {string | Record<string, string>} Said a sentence, or its forms by the plural categories of Unicode */
/** @typedef {Record<string, Said>} Table key to sentence, as in words/en.mjs */
/** The direction in which a language is written, for `dir`. @param {string} language @returns {"ltr" | "rtl"} */
export function direction(language: string): "ltr" | "rtl";
/** The words of the first of these languages that there are words for, else English.  `own`: further languages, supplied by
 * whoever asks or made the page, each whole and in the form of words/en.mjs; they are marked as such.
 * @param {string | readonly string[]} [languages] such as navigator.languages @param {Record<string, Table>} [own] @returns {Promise<Words>} */
export function loadWords(languages?: string | readonly string[], own?: Record<string, Table>): Promise<Words>;
/** These words, with all that explanations say: the built element has a file of its own for that. @param {Words} words */
export function wholeWords(words: Words): Promise<Words>;
/** What would be sent, in words: ours and theirs, line by line, for a page to show each in its own way; the survey's texts
 * in this language, if it has it, ours in the `words` that `loadWords` gave.  `page`: it is answered on its page, where every
 * origin keeps a ledger of its own.
 * @param {Survey} survey @param {{words: Words, language?: string | null, page?: boolean}} given @returns {Line[]} */
export function surveyLines(survey: Survey, given: {
    words: Words;
    language?: string | null;
    page?: boolean;
}): Line[];
/** The same as one text, for a terminal. @param {Survey} survey @param {{words: Words, language?: string | null, page?: boolean}} given */
export function explainSurvey(survey: Survey, given: {
    words: Words;
    language?: string | null;
    page?: boolean;
}): string;
/** What happens to an answer, and what it proves, in one or two sentences: of the whole survey, and of each question by its id.
 * The survey's says where to look, if the questions' differ.
 * @param {Survey} survey @param {{words: Words, page?: boolean}} given @returns {{survey: string[], questions: Record<string, string[]>}} */
export function headlines(survey: Survey, given: {
    words: Words;
    page?: boolean;
}): {
    survey: string[];
    questions: Record<string, string[]>;
};
/** What one answer takes of all that a device gives away for life, in words. @param {Question} question @param {Policy} policy @param {Words} words */
export function shareOfLife(question: Question, policy: Policy, words: Words): string;
/** @typedef {Awaited<ReturnType<Client["budget"]>>} Budget */
/** What a device has drawn so far, in words, line by line for a page; what was drawn is shown only after a report around it
 * has left, or may have. @param {Budget} budget @param {Words} given @returns {Line[]} */
export function budgetLines({ draws, reports, policy, later }: Budget, given: Words): Line[];
/** The same as one text, for the person whose device this is. @param {Budget} budget @param {Words} words */
export function explainBudget(budget: Budget, words: Words): string;
/** @typedef {Readonly<{survey: string, publisher: string, name: string, version: number, moment: Date}>} Withdrawal */
/** The withdrawal of a signed envelope, by as many of the publisher's keys as a survey needs.
 * @param {Uint8Array} envelope @param {Policy} policy @returns {Promise<Withdrawal>} */
export function acceptWithdrawal(envelope: Uint8Array, policy: Policy): Promise<Withdrawal>;
/** An invite as it was issued, from what a person typed; one that is mistyped is refused, and is not shown.
 * @param {unknown} typed @returns {Promise<string>} */
export function checkInvite(typed: unknown): Promise<string>;
/** What stands for an invite in the report about a question and round: no two reports of one invite have it in common.
 * @param {string} invite @param {string} survey its digest @param {string} question @param {number} round */
export function ticket(invite: string, survey: string, question: string, round: number): Promise<string>;
/** The bytes of a report: canonical, and of the same length for all answers; what cannot be sent is refused.
 * @param {Record<string, any>} report */
export function reportBytes(report: Record<string, any>): Uint8Array<ArrayBufferLike>;
/** The report of canonical bytes; every other spelling is refused. @param {Uint8Array} data @returns {Record<string, any>} */
export function readReport(data: Uint8Array): Record<string, any>;
/** A stored state in today's schema, for ledgers; what was never stored is empty. @param {any} state @returns {State} */
export function broughtForward(state: any): State;
/** A whole number below `count`, each with the same chance; 8 bytes are drawn for each attempt, for 1 none.
 * @param {number} count @param {Source} source */
export function uniform(count: number, source: Source): number;
/** Base of every error thrown on purpose; `name` is the reason. */
export class RRCollectError extends Error {
    /** @param {string} name @param {string} message */
    constructor(name: string, message: string);
}
/** A fraction in lowest terms. */
export class Fraction {
    /** @param {bigint} n @param {bigint} [d] */
    constructor(n: bigint, d?: bigint);
    n: bigint;
    d: bigint;
    /** The bits of the numerator or the denominator, whichever has more. */
    get bits(): number;
    /** @param {Fraction} o */ plus(o: Fraction): Fraction;
    /** @param {Fraction} o */ minus(o: Fraction): Fraction;
    /** @param {Fraction} o */ times(o: Fraction): Fraction;
    /** @param {Fraction} o */ over(o: Fraction): Fraction;
    /** @param {Fraction} o */
    compare(o: Fraction): 0 | 1 | -1;
    sign(): 0 | 1 | -1;
    toString(): string;
    /** The nearest double, for reading only. */
    toNumber(): number;
}
/** A privacy loss ε = rational + ln factor >= 0, exactly. */
export class Epsilon {
    /** @param {string} text @param {Limits} [limits] @returns {Epsilon | null} */
    static parse(text: string, limits?: Limits): Epsilon | null;
    /** @param {Fraction} rational @param {Fraction} factor */
    constructor(rational: Fraction, factor: Fraction);
    rational: Fraction;
    factor: Fraction;
    /** @param {Epsilon} o */
    plus(o: Epsilon): Epsilon;
    /** @param {Epsilon} o */
    compare(o: Epsilon): number;
    toString(): string;
    toNumber(): number;
}
/** The published matrix by its diagonal (p00, p11), exactly: two truths, an answer of one bit. */
export class Design {
    /** @param {Fraction} p00 @param {Fraction} p11 */
    constructor(p00: Fraction, p11: Fraction);
    p00: Fraction;
    p11: Fraction;
    truths: number;
    width: number;
    /** (T0, T1): 64 random bits below T[truth] say 1; null if no device applies this design.
     * @type {[bigint, bigint] | null} */
    limits: [bigint, bigint] | null;
    get c(): Fraction;
    get onGrid(): boolean;
    /** P(answer | the truth it speaks for), P(answer | the other): the larger first. @param {number} answer */
    says(answer: number): Fraction[];
    /** How much an answer can change the odds; null if it proves the truth. @param {number} answer */
    likelihoodRatio(answer: number): Fraction | null;
    /** The larger ratio of the two answers; null if an answer is a proof. @returns {Fraction | null} */
    get worstRatio(): Fraction | null;
    /** Whether every respondent has (ε, δ)-differential privacy, decided exactly. @param {Promised} promise */
    satisfies(promise: Promised): boolean;
    /** Whether this text is an answer: "0" or "1". @param {unknown} answer */
    allows(answer: unknown): answer is "0" | "1";
    /** An answer, until one is drawn. */
    get blank(): string;
    /** The one bit of the answer seen alone: the design itself. @returns {Design} */
    get column(): Design;
    /** Fractions in lowest terms. */
    toWire(): {
        p00: string;
        p11: string;
    };
    /** The canonical JSON text. */
    get text(): string;
    /** The limits, or why there are none. @returns {[bigint, bigint]} */
    thresholds(): [bigint, bigint];
}
/** A set of `size` of `options`, the truth among them with chance p, exactly; an answer has one bit for each option. */
export class SetDesign {
    /** @param {number} options @param {number} size @param {Fraction} p */
    constructor(options: number, size: number, p: Fraction);
    options: number;
    size: number;
    p: Fraction;
    truths: number;
    width: number;
    /** R (the chance of each other option, for one) or P (of the truth, for several) on 2^64; null off the grid.
     * @type {bigint | null} */
    limit: bigint | null;
    /** The chance of an option that is not the truth. */
    get q(): Fraction;
    get c(): Fraction;
    get onGrid(): boolean;
    /** P(a set | a truth in it), P(the set | one outside), both times the same number. */
    says(): Fraction[];
    /** How much every answer can change the odds; null if it excludes an option. @returns {Fraction | null} */
    get worstRatio(): Fraction | null;
    /** Whether every respondent has (ε, δ)-differential privacy, decided exactly. @param {Promised} promise */
    satisfies({ epsilon, delta }: Promised): boolean;
    /** Whether this text is an answer: one character per option, as many 1 as the set has options. @param {unknown} answer */
    allows(answer: unknown): boolean;
    /** An answer, until one is drawn. */
    get blank(): string;
    /** One option seen alone, for estimates: the promise is never read off it. @returns {Design} */
    get column(): Design;
    /** p in lowest terms. */
    toWire(): {
        options: number;
        p: string;
        size: number;
    };
    /** The canonical JSON text. */
    get text(): string;
}
/** Caps on what this device gives away; the defaults, and what is refused, are the Python client's. */
export class Policy {
    /** @param {TrustedPublisher[]} [publishers] @param {Caps} [caps] */
    constructor(publishers?: TrustedPublisher[], caps?: Caps);
    publishers: readonly Readonly<{
        name: string;
        keys: readonly string[];
        threshold: number;
    }>[];
    maxRatio: Fraction;
    maxEpsilon: Epsilon;
    attributeEpsilon: Epsilon;
    attributeDelta: Fraction;
    lifetimeEpsilon: Epsilon;
    lifetimeDelta: Fraction;
    allowDisclosure: boolean;
    get keys(): Set<string>;
    /** What one answer is charged; an error if this policy does not allow the question. @param {Question} question @returns {Promised} */
    cost(question: Question): Promised;
}
/** The sentences of one language; made by `loadWords` only. */
export class Words {
    /** @param {string} language @param {Table} table @param {string | null} [notice] our sentence that somebody else supplied it */
    constructor(language: string, table: Table, notice?: string | null);
    language: string;
    table: Record<string, Said>;
    notice: string | null;
    direction: "ltr" | "rtl";
    /** The sentence with its places filled; `count` chooses its form. @param {string} key @param {Record<string, string | number>} [places] */
    say(key: string, places?: Record<string, string | number>): string;
    /** The sentence in parts, for places that are not text, such as elements of a page.
     * @template T @param {string} key @param {Record<string, T>} places @returns {(T | string)[]} */
    parts<T>(key: string, places: Record<string, T>): (T | string)[];
    /** A number with the decimal sign of this language, and its minus where it is read; anything else as it is. @template T @param {T} value */
    number<T>(value: T): string | (T & object) | (T & null);
    /** A small number as a word, as the sentences with "one in four" need it. @param {number} number */
    counted(number: number): string;
    /** A day and a time of it, in UTC or where this device is. @param {Date} date @param {{local?: boolean}} [given] */
    moment(date: Date, { local }?: {
        local?: boolean;
    }): string;
}
/** A ledger for tests, which forgets. @implements {Ledger} */
export class MemoryLedger implements Ledger {
    state: State;
    /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
    transact<T>(change: (state: State) => T): Promise<T>;
}
/** The ledger of a web page: one IndexedDB transaction, durable before it resolves, one at a time over all tabs.
 * @implements {Ledger} */
export class IndexedDBLedger implements Ledger {
    /** @param {string} [name] */
    constructor(name?: string);
    name: string;
    /** @type {Promise<IDBDatabase> | null} */
    opened: Promise<IDBDatabase> | null;
    open(): Promise<IDBDatabase>;
    /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
    transact<T>(change: (state: State) => T): Promise<T>;
}
/** The ledger of one person: what this device answers, and sends, on their behalf. */
export class Client {
    /** `attributes`: what the app is willing to be asked about: names, {name, rounds, askedAs, aliases}, or
     * {everyAttributeOf, rounds}; `aliases` are names that the attribute had in this ledger before.  `origin`: of the page that
     * asks, null for a program.  `spread`: the seconds over which reports are sent: 5 on a page, where a person looks on, and
     * 6 hours in a program.  `sleep` waits so many seconds, or until its signal is aborted.
     * @param {{ledger: Ledger, attributes: (string | {name: string, rounds?: number, askedAs?: string[], aliases?: string[]} |
     *   {everyAttributeOf: string, rounds?: number})[], policy: Policy, source?: Source, clock?: () => Date,
     *   sleep?: (seconds: number, signal?: AbortSignal) => Promise<void>, origin?: string | null, spread?: number}} given */
    constructor(given: {
        ledger: Ledger;
        attributes: (string | {
            name: string;
            rounds?: number;
            askedAs?: string[];
            aliases?: string[];
        } | {
            everyAttributeOf: string;
            rounds?: number;
        })[];
        policy: Policy;
        source?: Source;
        clock?: () => Date;
        sleep?: (seconds: number, signal?: AbortSignal) => Promise<void>;
        origin?: string | null;
        spread?: number;
    });
    attributes: Attributes;
    ledger: Ledger;
    policy: Policy;
    source: Source;
    clock: () => Date;
    sleep: (seconds: number, signal?: AbortSignal) => Promise<void>;
    origin: string | null;
    /** Reports that a pass is about to send: another pass at the same time leaves them to it. @type {Set<string>} */
    followed: Set<string>;
    spread: number;
    /** By the device's clock, in seconds since 1970. */
    now(): number;
    /** The survey of a signed envelope, if this device trusts and allows it. @param {Uint8Array} envelope */
    accept(envelope: Uint8Array): Promise<{
        survey: Readonly<{
            name: string;
            version: number;
            publisher: string;
            pilot: boolean;
            language: string;
            title: Texts;
            introduction: Texts;
            consent: Texts;
            contact: Texts;
            privacy: Texts;
            thanks: Texts;
            look: Readonly<{
                colour: string | null;
                logo: string | null;
            }>;
            collector: string;
            origins: readonly string[];
            opens: Date | null;
            expires: Date;
            rounds: readonly Readonly<{
                opens: Date;
                closes: Date;
            }>[];
            ask: "all" | "one";
            minimum: number;
            inviteOnly: boolean;
            segments: Readonly<Record<string, Segment>>;
            questions: readonly Question[];
        }>;
        digest: string;
        signers: Set<any>;
        costs: Record<string, Promised>;
    }>;
    /** Which question this device asks, and its rounds of panels: drawn once, before any truth is known.
     * @param {State} state @param {Survey} survey @param {Date} now */
    drawPlaces(state: State, survey: Survey, now: Date): void;
    /** The round in which this device answers a panel's question; null if none was drawn, or it is not a panel.
     * @param {AcceptedSurvey} accepted @param {string} question its id @returns {Promise<number | null>} */
    panelRound(accepted: AcceptedSurvey, question: string): Promise<number | null>;
    /** The id of the one question that this device answers in a survey that asks one; null for a survey that asks all.
     * @param {AcceptedSurvey} accepted @returns {Promise<string | null>} */
    drawnQuestion(accepted: AcceptedSurvey): Promise<string | null>;
    /** Remember for good that its publisher ended a survey: it is neither accepted nor answered any more, and what waits
     * does not leave. @param {Uint8Array} envelope */
    withdraw(envelope: Uint8Array): Promise<Readonly<{
        survey: string;
        publisher: string;
        name: string;
        version: number;
        moment: Date;
    }>>;
    /** The report that answers a question, committed to the ledger and waiting in the outbox.
     * Asked again it repeats the first answer, and does not read the truth; a report that was cancelled waits again.  Segments
     * are sent as they are, of the invite a ticket; once a report may have been taken, both stay as they are.  If `signal` is
     * aborted, nothing of this answer leaves: what was drawn is kept, and is repeated if the question is answered later.
     * The truth is true or false, the number of an option from 0 on, or a number, as the question's kind asks.  Without a round
     * it is the one that was drawn, for a panel, and otherwise the first.
     * @param {AcceptedSurvey} accepted @param {string} questionId @param {Truth | (() => Truth)} truth
     * @param {{round?: number | null, segments?: Record<string, string>, invite?: string | null, signal?: AbortSignal | null}} [given] */
    answer(accepted: AcceptedSurvey, questionId: string, truth: Truth | (() => Truth), given?: {
        round?: number | null;
        segments?: Record<string, string>;
        invite?: string | null;
        signal?: AbortSignal | null;
    }): Promise<Outgoing>;
    /** What is asked, after the checks that need neither ledger nor truth.
     * @param {AcceptedSurvey} accepted @param {string} questionId @param {number | null} given the round */
    asked(accepted: AcceptedSurvey, questionId: string, given: number | null): Promise<{
        survey: Readonly<{
            name: string;
            version: number;
            publisher: string;
            pilot: boolean;
            language: string;
            title: Texts;
            introduction: Texts;
            consent: Texts;
            contact: Texts;
            privacy: Texts;
            thanks: Texts;
            look: Readonly<{
                colour: string | null;
                logo: string | null;
            }>;
            collector: string;
            origins: readonly string[];
            opens: Date | null;
            expires: Date;
            rounds: readonly Readonly<{
                opens: Date;
                closes: Date;
            }>[];
            ask: "all" | "one";
            minimum: number;
            inviteOnly: boolean;
            segments: Readonly<Record<string, Segment>>;
            questions: readonly Question[];
        }>;
        digest: string;
        question: Readonly<{
            id: string;
            attribute: string;
            kind: Kind;
            text: Texts;
            help: Texts;
            design: AnyDesign;
            promise: Promised;
            rounds: number;
            panel: boolean;
            disclosure: Readonly<{
                exposed: number;
                respondents: number;
            }> | null;
        }>;
        attribute: Attribute;
        round: number;
        cost: Promised;
    }>;
    /** The person does not want to answer, or does not any more: nothing of this question leaves from now on.  `stopped`
     * reports have not left, and will not; `left` ones may have left before.
     * @param {AcceptedSurvey} accepted @param {string} question */
    decline(accepted: AcceptedSurvey, question: string): Promise<{
        stopped: number;
        left: number;
    }>;
    /** What was answered, sent and spent; `explainBudget` tells it in words. */
    budget(): Promise<{
        spent: Promised;
        lifetime: {
            epsilon: Epsilon;
            delta: Fraction;
        };
        policy: Policy;
        draws: Draw[];
        reports: Outgoing[];
        declined: string[];
        /** The name that an attribute has today, under which its draw may have been reported. @param {string} name */
        later: (name: string) => string;
        /** What was drawn so far as a share of all that this device gives away for life. @param {Words} words */
        share: (words: Words) => string;
    }>;
    /** Send every waiting report whose moment has come, or comes within so many seconds, at its moment, in a request of its
     * own; safe to repeat.  What a collector or a network does is told in the result; only an address that can never work is an
     * error (WrongAddress).  If `signal` is aborted, no further attempt begins, and what is under way is hung up.
     * @param {{transport?: Transport, within?: number, signal?: AbortSignal | null}} [given] */
    deliver(given?: {
        transport?: Transport;
        within?: number;
        signal?: AbortSignal | null;
    }): Promise<Deliveries>;
    /** Change a report of the ledger, if it is there. @template T @param {string} id @param {(report: Outgoing) => T} what */
    change<T>(id: string, what: (report: Outgoing) => T): Promise<T | null>;
}
/** POST each report to the collector it was drawn for: https, or http on this machine; no cookies, no referrer, no redirects,
 * in Node a connection of its own.  The collector sees the network address; a relay cannot be named here. */
export class HttpTransport {
    /** @param {{timeout?: number, fetch?: typeof fetch}} [given] seconds */
    constructor(given?: {
        timeout?: number;
        fetch?: typeof fetch;
    });
    timeout: number;
    fetch: typeof fetch;
    /** @param {string} destination @param {Uint8Array} body @param {AbortSignal} [signal] */
    send(destination: string, body: Uint8Array, signal?: AbortSignal): Promise<undefined>;
}
/**
 * a number as typed; a double means the decimal it prints
 */
export type NumberLike = string | number | bigint | Fraction;
export type Kind = Readonly<{
    kind: "yes_no";
}> | Readonly<{
    kind: "choice";
    options: readonly Texts[];
}> | Readonly<{
    kind: "number";
    low: string;
    high: string;
    unit: Texts;
    clip: boolean;
}>;
export type Segment = Readonly<{
    values: readonly Readonly<{
        value: string;
        label: Texts;
    }>[];
    label: Texts;
    help: Texts;
}>;
export type Survey = Readonly<{
    name: string;
    version: number;
    publisher: string;
    pilot: boolean;
    language: string;
    title: Texts;
    introduction: Texts;
    consent: Texts;
    contact: Texts;
    privacy: Texts;
    thanks: Texts;
    look: Readonly<{
        colour: string | null;
        logo: string | null;
    }>;
    collector: string;
    origins: readonly string[];
    opens: Date | null;
    expires: Date;
    rounds: readonly Readonly<{
        opens: Date;
        closes: Date;
    }>[];
    ask: "all" | "one";
    minimum: number;
    inviteOnly: boolean;
    segments: Readonly<Record<string, Segment>>;
    questions: readonly Question[];
}>;
/**
 * keys in hexadecimal
 */
export type TrustedPublisher = {
    name: string;
    keys: string[];
    threshold?: number;
};
export type Caps = {
    maxEpsilon?: NumberLike | Epsilon;
    maxRatio?: NumberLike;
    attributeEpsilon?: NumberLike | Epsilon;
    attributeDelta?: NumberLike;
    lifetimeEpsilon?: NumberLike | Epsilon;
    lifetimeDelta?: NumberLike;
    allowDisclosure?: boolean;
};
/**
 * the newest version of a survey accepted before
 */
export type SeenVersion = {
    version: number;
    digest: string;
};
export type AcceptedSurvey = Awaited<ReturnType<typeof acceptSurvey>>;
/**
 * a number over another, not reduced: that would take longer than everything else
 */
export type Pair = readonly [bigint, bigint];
/**
 * a sentence, or its forms by the plural categories of Unicode
 */
export type Said = string | Record<string, string>;
/**
 * key to sentence, as in words/en.mjs
 */
export type Table = Record<string, Said>;
export type Budget = Awaited<ReturnType<Client["budget"]>>;
export type Withdrawal = Readonly<{
    survey: string;
    publisher: string;
    name: string;
    version: number;
    moment: Date;
}>;
export type Truth = boolean | NumberLike;
/**
 * how long a number's text may be, and how many bits its parts have
 */
export type Limits = {
    characters: number;
    bits: number;
};
export type AnyDesign = Design | SetDesign;
export type Promised = {
    epsilon: Epsilon;
    delta: Fraction;
};
export type Source = (bytes: Uint8Array) => Uint8Array;
/**
 * a text by language
 */
export type Texts = Readonly<Record<string, string>>;
/**
 * reads a value, or refuses it
 */
export type Need = (value: any, place: string) => any;
export type Question = Readonly<{
    id: string;
    attribute: string;
    kind: Kind;
    text: Texts;
    help: Texts;
    design: AnyDesign;
    promise: Promised;
    rounds: number;
    panel: boolean;
    disclosure: Readonly<{
        exposed: number;
        respondents: number;
    }> | null;
}>;
/**
 * some text, whether somebody else wrote it (then it may have several lines), and the question it belongs to
 */
export type Line = Readonly<{
    text: string;
    foreign: boolean;
    question: string | null;
}>;
export type Draw = {
    attribute: string;
    round: number;
    kind: string;
    design: string;
    answer: string;
    epsilon: string;
    delta: string;
};
/**
 * `times`: the moments at which it is to be sent, in seconds since 1970; `attempts`: how often it, or a report around the same
 * answer that it replaced (`earlierAttempts`), may have left.
 */
export type Outgoing = {
    id: string;
    survey: string;
    publisher: string;
    question: string;
    round: number;
    attribute: string;
    words: string;
    body: string;
    destination: string;
    state: "waiting" | "delivered" | "refused" | "cancelled" | "withdrawn" | "carried";
    reason: string | null;
    attempts: number;
    earlierAttempts: number;
    times: number[];
};
/**
 * `words`: the attribute that each fingerprint of a question's text was asked about; `panels`: the one round in which an
 * attribute is answered; `asked`: what the one question of a survey that asks one is about.
 */
export type State = {
    schema: number;
    draws: Draw[];
    reports: Outgoing[];
    words: Record<string, string>;
    seen: Record<string, SeenVersion>;
    declined: string[];
    withdrawn: {
        survey: string;
        publisher: string;
    }[];
    panels: {
        attribute: string;
        round: number;
    }[];
    asked: Record<string, string>;
};
/**
 * A ledger calls `change` with the whole state, makes what it did durable, and only then resolves; if `change` throws,
 * nothing is kept.  Where another program was first, it calls it again with the newer state, and the first try is forgotten.
 */
export type Ledger = {
    transact<T>(change: (state: State) => T): Promise<T>;
};
export type Attribute = {
    name: string;
    rounds: number;
    aliases: string[];
};
/**
 * Resolves when the collector has the report; throws ReportRefused, TransportFailed or WrongAddress otherwise.
 */
export type Transport = {
    send(destination: string, body: Uint8Array, signal: AbortSignal): Promise<void>;
};
/**
 * `nextMoment`: when the next of those that wait is to be sent, and `deliver` is well called again.
 */
export type Deliveries = {
    delivered: number;
    refused: [string, string][];
    waiting: number;
    nextMoment: Date | null;
    lastFailure: string | null;
};
/** @typedef {{name: string, rounds: number, aliases: string[]}} Attribute */
/** The registered attributes, and the rule that finds a question's own one. */
declare class Attributes {
    /** @param {unknown} registered */
    constructor(registered: unknown);
    /** @type {Map<string, Attribute>} by what publishers call it */
    asked: Map<string, Attribute>;
    /** @type {Map<string, Attribute>} by its own name */
    own: Map<string, Attribute>;
    /** @type {Map<string, Attribute>} by its earlier names */
    earlier: Map<string, Attribute>;
    /** @type {Map<string, number>} */
    publishers: Map<string, number>;
    /** What a question asks about, if it is registered. @param {Survey} survey @param {Question} question @returns {Attribute | undefined} */
    find({ publisher }: Survey, { attribute }: Question): Attribute | undefined;
}
export {};
