// @ts-check
/**
 * rrcollect for browsers and Node >= 20: the Python client's equal, without dependencies.  The folders and modules beside this
 * one have the names of the Python modules they mirror.
 *
 * Rules
 * 1. A survey is accepted if its signed envelope is canonical, signed by trusted keys, keeps its own promises (decided
 *    exactly, in BigInt) and fits this device's policy; otherwise an error whose `name` says why.
 * 2. An answer is one comparison of 64 random bits from crypto.getRandomValues with an exact threshold.
 * 3. One attribute, one draw: answer, report and debit are committed to the ledger in one transaction before anything
 *    is sent; asked again, by whatever name in the same words, the device repeats itself or refuses.  Budgets are for life.
 * 4. The truth is not stored, logged or put into an error.  A report has the same length for all answers.
 * 5. Answering follows the script of docs/wire-format.md, "Answering", check by check, as the Python client does.
 * 6. A report goes to the survey's collector and nowhere else, at moments drawn with it, which no reply changes; after a
 *    decline, a cancel or a withdrawal it does not go at all.
 */

export { acceptSurvey, acceptWithdrawal } from "./answer/acceptance.mjs";
export { questionsFor, uniform } from "./answer/asking.mjs";
export { Client } from "./answer/client.mjs";
export { randomise, randomiseChoice, randomiseNumber } from "./answer/draw.mjs";
export { budgetLines, explainBudget } from "./answer/explain/budget.mjs";
export { explainSurvey, surveyLines } from "./answer/explain/explanation.mjs";
export { headlines, shareOfLife } from "./answer/explain/headline.mjs";
export { Words, direction, loadWords } from "./answer/explain/words.mjs";
export { IndexedDBLedger } from "./answer/ledger/indexed_db.mjs";
export { MemoryLedger, broughtForward } from "./answer/ledger/ledger.mjs";
export { Policy } from "./answer/policy.mjs";
export { OhttpTransport } from "./deliver/oblivious.mjs";
export { HttpTransport } from "./deliver/transport.mjs";
export { BinDesign, SeveralDesign } from "./design/drawn.mjs";
export { BlockDesign } from "./design/blocks.mjs";
export { signAtExp } from "./design/exponential.mjs";
export { Fraction } from "./design/fraction.mjs";
export { Epsilon, parseFraction } from "./design/parameters.mjs";
export { SetDesign } from "./design/sets.mjs";
export { Design } from "./design/yes_no.mjs";
export { RRCollectError } from "./errors.mjs";
export { canonical, read, readCanonical } from "./publish/canonical.mjs";
export { verifyEnvelope } from "./publish/envelope.mjs";
export { readReport, reportBytes } from "./publish/report.mjs";
export { readSurvey, segmentValues } from "./publish/survey.mjs";
export { fingerprints, say } from "./publish/texts.mjs";
export { checkInvite, ticket } from "./publish/tickets.mjs";

/**
 * @typedef {import("./answer/acceptance.mjs").AcceptedSurvey} AcceptedSurvey
 * @typedef {import("./answer/acceptance.mjs").SeenVersion} SeenVersion
 * @typedef {import("./answer/asking.mjs").Asked} Asked
 * @typedef {import("./answer/client.mjs").Truth} Truth
 * @typedef {import("./answer/explain/budget.mjs").Budget} Budget
 * @typedef {import("./answer/explain/words.mjs").Line} Line
 * @typedef {import("./answer/explain/words.mjs").Table} Table
 * @typedef {import("./answer/ledger/ledger.mjs").Draw} Draw
 * @typedef {import("./answer/ledger/ledger.mjs").Ledger} Ledger
 * @typedef {import("./answer/ledger/ledger.mjs").State} State
 * @typedef {import("./answer/policy.mjs").Caps} Caps
 * @typedef {import("./answer/policy.mjs").TrustedPublisher} TrustedPublisher
 * @typedef {import("./deliver/outbox.mjs").Deliveries} Deliveries
 * @typedef {import("./deliver/outbox.mjs").Outgoing} Outgoing
 * @typedef {import("./deliver/outbox.mjs").Transport} Transport
 * @typedef {import("./design/mechanism.mjs").AnyDesign} AnyDesign
 * @typedef {import("./design/mechanism.mjs").Promised} Promised
 * @typedef {import("./design/parameters.mjs").Limits} Limits
 * @typedef {import("./design/parameters.mjs").NumberLike} NumberLike
 * @typedef {import("./design/sampling.mjs").Range} Range
 * @typedef {import("./design/sampling.mjs").Source} Source
 * @typedef {import("./design/sentences.mjs").Said} Said
 * @typedef {import("./design/sentences.mjs").Sentences} Sentences
 * @typedef {import("./publish/document.mjs").Segment} Segment
 * @typedef {import("./publish/document.mjs").Texts} Texts
 * @typedef {import("./publish/envelope.mjs").Withdrawal} Withdrawal
 * @typedef {import("./publish/kinds.mjs").Kind} Kind
 * @typedef {import("./publish/question.mjs").Question} Question
 * @typedef {import("./publish/survey.mjs").Survey} Survey
 */
