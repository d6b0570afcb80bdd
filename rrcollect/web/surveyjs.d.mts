/**
 * Make the question type known to SurveyJS: `{type: "randomised", name: "rr_doped", question: "q1"}`, where `question` is the
 * id in the signed survey (by default the name).  Its `randomise(truth)` and `decline()` are what its page calls.
 * @param {any} core survey-core @param {Client} client @param {AcceptedSurvey} accepted
 */
export function addRandomised(core: any, client: Client, accepted: AcceptedSurvey): {
    new (name: string): {
        [x: string]: any;
        getType(): string;
        /** The question of the signed survey. */
        get asked(): Readonly<{
            id: string;
            attribute: string;
            kind: import("./rrcollect.mjs").Kind;
            text: import("./rrcollect.mjs").Texts;
            help: import("./rrcollect.mjs").Texts;
            design: import("./rrcollect.mjs").AnyDesign;
            promise: import("./rrcollect.mjs").Promised;
            rounds: number;
            panel: boolean;
            disclosure: Readonly<{
                exposed: number;
                respondents: number;
            }> | null;
        }>;
        get question(): any;
        set question(id: any);
        /** Draw, keep in the ledger, and only then become the question's value. @param {any} truth or a function that tells it
         * @param {Parameters<Client["answer"]>[3]} [given] */
        randomise(truth: any, given?: Parameters<Client["answer"]>[3]): Promise<void>;
        value: string | undefined;
        /** Nothing of this question is in the results. */
        decline(): Promise<void>;
    };
};
export type AcceptedSurvey = import("./rrcollect.mjs").AcceptedSurvey;
export type Client = import("./rrcollect.mjs").Client;
export type Question = import("./rrcollect.mjs").Question;
export type Texts = import("./rrcollect.mjs").Texts;
export type Words = import("./rrcollect.mjs").Words;
