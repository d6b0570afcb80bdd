/** The searches over ledgers of Node, in one process: `node search.mjs '{"search": "kills", "ledger": "FileLedger", …}'`.
 *
 * An attribute is drawn by making a token that nobody else makes.  What was handed out must be handed out again, by
 * every later program, under every name of the ledger; an attribute has one draw; and no disturbance leaves a ledger that
 * is refused.  Prints counts, and the first counterexample as `fault`.
 */

import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { FileLedger } from "../../../rrcollect/web/src/answer/ledger/file.mjs";
import { Disk, FAULTS, KILLS, MANNERS, disturbed, real } from "./disturbed.mjs";
import * as planted from "./planted.mjs";

const { search, ledger = "FileLedger", stride = 1, first = 0, steps = 1000, seed = 1 } = JSON.parse(process.argv[2]);
const Ledger = { FileLedger, ...planted }[ledger];
const base = real.mkdtempSync(join(real.existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "rr-"));
const counts = {};
const count = (what) => { counts[what] = (counts[what] ?? 0) + 1; };
let tokens = 0, worlds = 0;

class Refuted extends Error {}

/** What an answer does to the ledger. */
const asks = (attribute) => (state) => {
  let draw = state.draws.find((one) => one.attribute === attribute);
  if (!draw) state.draws.push((draw = { attribute, round: 0, answer: `token ${tokens++}`, words: "x".repeat(300) }));
  return draw.answer;
};

/** A transaction in one go. */
function asked(folder, attribute, change = asks(attribute)) {
  for (let attempt = 0; attempt < 50; attempt++) {
    const done = folder.once(change);
    if (done) return done.result;
  }
  throw new Refuted("somebody else was first, fifty times");
}

/** One device: its folder, and what left it. */
class World {
  constructor(template) {
    this.root = join(base, String(worlds++));
    if (template) real.cpSync(template.root, this.root, { recursive: true });
    else real.mkdirSync(this.root);
    this.left = new Map(template?.left);
  }
  /** The ledger's folder, as a program finds it that starts now. */
  start(name = "ledger") {
    return new Ledger(name.startsWith("/") ? name : join(this.root, name)).place;
  }
  leaves(attribute, token) {
    const before = this.left.get(attribute);
    if (before !== undefined && before !== token) throw new Refuted(`a second draw of ${attribute}`);
    this.left.set(attribute, token);
  }
  /** What a disturbed program made of an answer; `errors`: the refusals it may give. */
  after(attribute, { dead, error, result }, errors = []) {
    if (dead) return;
    if (error === undefined) this.leaves(attribute, result);
    else if (!errors.includes(error.name)) throw error instanceof Refuted ? error : new Refuted(`refused: ${error.stack}`);
  }
  /** A program that starts now hands out what was handed out, and can draw. */
  async check() {
    const folder = await this.start();
    try {
      for (const [attribute, token] of [...this.left]) {
        if (asked(folder, attribute) !== token) throw new Refuted(`the draw of ${attribute} was lost`);
      }
      const names = asked(folder, "", (state) => state.draws.map((draw) => draw.attribute));
      if (new Set(names).size !== names.length) throw new Refuted("an attribute with two draws");
    } catch (error) {
      throw error instanceof Refuted ? error : new Refuted(`the ledger is refused: ${error.message}`);
    }
  }
  /** After the next change there is nothing but the ledger; if `whole`, no part of a state lies about before. */
  async tidy(whole) {
    const folder = await this.start();
    for (const name of whole && real.existsSync(folder.path) ? real.readdirSync(folder.path) : []) {
      if (!name.startsWith("state.")) continue;
      const digest = createHash("sha256").update(real.readFileSync(join(folder.path, name))).digest("hex");
      if (!name.endsWith(digest)) throw new Refuted("a state that is not whole was left");
    }
    this.leaves("tidy", asked(folder, "tidy"));
    const left = [real.readdirSync(folder.path).length, real.readdirSync(this.root).filter((name) => name.endsWith(".new")).length];
    if (left[0] !== 2 || left[1] !== 0) throw new Refuted(`files were left: ${left}`);
  }
  end() {
    real.rmSync(this.root, { recursive: true, force: true });
  }
}

/** What a device may have behind it before it is asked about "a". */
async function scenes() {
  const made = { "a new ledger": new World() };
  const world = (name, from) => (made[name] = new World(from));
  const one = world("a first answer");
  one.leaves("b", asked(await one.start(), "b"));
  const again = world("an answer given before", one);
  again.leaves("a", asked(await again.start(), "a"));
  for (const [name, more] of [["an answer after one cut off before its swap", 0], ["an answer after one cut off before its guard", 1]]) {
    const calls = [], mine = await new World(one).start(), cut = world(name, one), its = await cut.start();
    disturbed(Infinity, null, () => asked(mine, "d"), (call) => calls.push(call));
    disturbed(1 + calls.indexOf("renameSync") + more, MANNERS["killed before"], () => asked(its, "d"));
  }
  return Object.entries(made);
}

/** Play every scene with each of `plays` at its first, second, … call, until it ends undisturbed. */
async function everywhere(plays) {
  for (const [scene, template] of await scenes()) {
    for (const [what, play] of Object.entries(plays)) {
      for (let at = 1 + first; ; at += stride) {
        const world = new World(template);
        try {
          const reached = await play(world, at);
          await world.check();
          if (!reached) break;
          count(what);
        } catch (error) {
          if (!(error instanceof Refuted)) throw error;
          throw new Refuted(`${scene}, ${what} at call ${at}: ${error.message}`);
        } finally {
          world.end();
        }
      }
    }
  }
}

const kills = () => everywhere(Object.fromEntries(KILLS.map((how) => [how, async (world, at) => {
  const folder = await world.start(), found = disturbed(at, MANNERS[how], () => asked(folder, "a"));
  world.after("a", found);
  await world.check();
  await world.tidy(false);
  return found.struck;
}])));

const faults = () => everywhere(Object.fromEntries(FAULTS.map((how) => [how, async (world, at) => {
  const folder = await world.start(), found = disturbed(at, MANNERS[how], () => asked(folder, "a"));
  world.after("a", found, ["LedgerUnavailable"]);
  if (found.error && !/nothing was answered/.test(found.error.message)) throw new Refuted(found.error.message);
  await world.check();
  await world.tidy(true);
  return found.struck;
}])));

/** Another program asks while this one stands; then the power is cut. */
const cuts = () => everywhere(Object.fromEntries(["lost", "named"].flatMap((kind) => [false, true].map((other) =>
  [`power cut, ${kind}${other ? ", beside another program" : ""}`, async (world, at) => {
    const disk = new Disk(world.root), seen = disk.seen.bind(disk);
    const [folder, second] = [await world.start(), await world.start()];
    const found = disturbed(at, (name, given, go, die) => {
      if (other) world.after("a", disturbed(Infinity, null, () => asked(second, "a"), seen));
      return die();
    }, () => asked(folder, "a"), seen);
    world.after("a", found);
    disk.cut(kind);
    return found.struck;
  }]))));

/** Other programs run while this one stands, and one of them may be killed; then this one goes on, or is killed. */
const meanwhile = () => {
  const others = { "another asks the same": ["a"], "another asks something else": ["x"], "others ask much": ["x", "a", "y", "z"] };
  const plays = {};
  for (const [what, attributes] of Object.entries(others)) {
    for (const goesOn of [true, false]) {
      plays[`${what}, this one ${goesOn ? "goes on" : "is killed"}`] = async (world, at) => {
        const [mine, other] = [await world.start(), await world.start()];
        const found = disturbed(at, (name, given, go, die, later) => {
          if (later === 0) for (const one of attributes) world.leaves(one, asked(other, one));
          return goesOn ? go() : die();
        }, () => asked(mine, "a"));
        world.after("a", found);
        return found.struck;
      };
    }
  }
  plays["another is killed"] = async (world, at) => { // at each of its calls, the first program standing at each of its own
    const stands = 1 + Math.floor((at - 1) / 40), falls = 1 + ((at - 1) % 40);
    const [mine, other, third] = await Promise.all([world.start(), world.start(), world.start()]);
    const found = disturbed(stands, (name, given, go, die, later) => {
      if (later === 0) {
        world.after("a", disturbed(falls, MANNERS["killed before"], () => asked(other, "a")));
        world.leaves("y", asked(third, "y"));
      }
      return go();
    }, () => asked(mine, "a"));
    world.after("a", found);
    return found.struck;
  };
  return everywhere(plays);
};

/** A life of steps in any order, under all names of the ledger. */
async function lives() {
  let random = seed;
  const below = (n) => { // mulberry32: the search can be repeated
    random = (random + 0x6d2b79f5) | 0;
    let t = Math.imul(random ^ (random >>> 15), 1 | random);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
  const pick = (list) => list[below(list.length)], home = process.cwd();
  for (let done = 0; done < steps; ) {
    const world = new World(), { root } = world, told = [];
    real.mkdirSync(join(root, "inner"));
    real.symlinkSync(root, join(root, "inner", "up"));
    real.symlinkSync(join(root, "ledger"), join(root, "alias")); // to nothing, at first
    const names = () => {
      const whole = [join(root, "ledger"), join(root, "inner", "up", "ledger"), join(root, "inner", "up", "inner", "..", "ledger")];
      if (real.existsSync(join(root, "ledger"))) whole.push(join(root, "alias"));
      process.chdir(pick([root, join(root, "inner"), home]));
      const name = pick(whole);
      return below(2) ? name : relative(process.cwd(), name) || ".";
    };
    const start = async () => {
      const folder = await new Ledger(names()).place;
      process.chdir(pick([root, home]));
      return folder;
    };
    let kept = null, old = await start();
    try {
      for (let step = 0; step < 60; step++, done++) {
        const kind = pick(["asked", "asked", "killed", "failed", "meanwhile", "meanwhile", "copied", "restored", "unguarded", "cut"]);
        const attribute = pick([..."abcdefghij"]), at = 1 + below(45), folder = below(3) ? await start() : old;
        told.push(`${kind} ${attribute} ${at}`);
        if (kind === "asked") world.leaves(attribute, asked(folder, attribute));
        if (kind === "killed") world.after(attribute, disturbed(at, MANNERS[pick(KILLS)], () => asked(folder, attribute)));
        if (kind === "failed") {
          world.after(attribute, disturbed(at, MANNERS[pick(FAULTS)], () => asked(folder, attribute)), ["LedgerUnavailable"]);
        }
        if (kind === "meanwhile") {
          const other = await start(), third = await start(), also = pick([..."abcdefghij"]), then = 1 + below(45);
          world.after(attribute, disturbed(at, (name, given, go, die, later) => {
            if (later > 0) return go();
            const second = disturbed(then, (its, given2, go2, die2, later2) => {
              if (later2 === 0 && below(2)) world.leaves("k", asked(third, "k"));
              return below(60) ? go2() : die2();
            }, () => asked(other, also));
            world.after(also, second);
            return below(4) ? go() : die();
          }, () => asked(folder, attribute)));
        }
        if (kind === "cut") {
          const disk = new Disk(root);
          world.after(attribute, disturbed(at, MANNERS["killed before"], () => asked(folder, attribute), disk.seen.bind(disk)));
          process.chdir(home);
          disk.cut(pick(["lost", "named"]));
        }
        const there = join(root, "ledger"), aside = join(root, "aside");
        if (kind === "copied" && real.existsSync(there)) {
          real.rmSync(join(root, "copy"), { recursive: true, force: true });
          real.cpSync(there, join(root, "copy"), { recursive: true });
          kept = real.readdirSync(there).find((name) => name.startsWith("now."));
        }
        const move = { restored: there, unguarded: `${there}.guard` }[kind];
        if (move && real.existsSync(there) && (kind === "unguarded" || kept)) {
          const same = kind === "restored" && real.existsSync(join(there, kept));
          real.renameSync(move, aside);
          if (kind === "restored" && below(3)) real.cpSync(join(root, "copy"), there, { recursive: true });
          const found = disturbed(Infinity, null, () => asked(folder, attribute));
          const used = same && real.existsSync(there);
          if (!used && found.error?.name !== "LedgerRestored") throw new Refuted(`${kind} ${attribute}: used, or ${found.error}`);
          if (used) world.after(attribute, found);
          if (used) real.rmSync(aside, { recursive: true });
          else {
            real.rmSync(move, { recursive: true, force: true });
            real.renameSync(aside, move);
          }
        }
        count(kind);
        await world.check();
        if (below(4) === 0) old = await start();
      }
    } catch (error) {
      if (!(error instanceof Refuted)) throw error;
      throw new Refuted(`${error.message} (seed ${seed}, step ${done}: ${told.slice(-6).join(", ")})`);
    } finally {
      process.chdir(home);
      world.end();
    }
  }
}

let fault = "";
try {
  await { kills, faults, cuts, meanwhile, lives }[search]();
} catch (error) {
  if (!(error instanceof Refuted)) throw error;
  fault = error.message;
} finally {
  real.rmSync(base, { recursive: true, force: true });
}
console.log(JSON.stringify({ counts, fault }));
