// One person's visit to a survey's page, in Chromium or Firefox, with a profile that stays behind.
//
// On the input one JSON object: puppeteer (the module's address), browser ("chrome" or "firefox"), program, profile, url,
// away (another page), truths (question id -> true for the first option, false for the second, the number of an option, or the
// digits of a number as text), send (the ids that are sent; the others are entered only).
// On the output what the page showed: how many choices and numbers it still held after going away and back, and whether the
// browser had kept the page as it was.
import { readFileSync } from "node:fs";

const given = JSON.parse(readFileSync(0, "utf8"));
const { default: puppeteer } = await import(given.puppeteer);
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
const CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage"];
const PREFS = { // as a person's Firefox has them; puppeteer turns these off.  The interval is shortened.
  "browser.sessionstore.resume_from_crash": true, "browser.sessionstore.interval": 500, "browser.startup.page": 3,
  "browser.sessionstore.privacy_level": 0, "fission.bfcacheInParent": true, "browser.sessionhistory.max_total_viewers": -1,
};

const browser = await puppeteer.launch({
  browser: given.browser, executablePath: given.program, userDataDir: given.profile, headless: true,
  args: given.browser === "chrome" ? CHROMIUM : [], extraPrefsFirefox: PREFS,
});
try {
  const page = (await browser.pages())[0] ?? (await browser.newPage());
  await page.goto(given.url);
  const choices = ':is([role="radio"], input[type="radio"])'; // in the element's shadow, or (planted) in the page itself
  const of = (id, what) => `rr-survey >>> [data-question="${id}"] ${what}, fieldset[slot="text-${id}"] ${what}`;
  await page.waitForSelector(`rr-survey >>> ${choices}, ${choices}`);
  await page.evaluate(() => addEventListener("pageshow", (event) => { document.body.dataset.kept = String(event.persisted); }));
  const questions = Object.entries(given.truths);
  const real = new Set([...questions.slice(0, 4), ...questions.filter(([, truth]) => typeof truth !== "boolean")].map(([id]) => id));
  await page.evaluate((choices, entries) => { // most by clicks of a script, some of each kind by the mouse and the keyboard
    const places = [document, document.querySelector("rr-survey").shadowRoot];
    for (const [id, truth] of entries) {
      const found = places.flatMap((place) => [...place.querySelectorAll(`[data-question="${id}"] ${choices}, fieldset[slot="text-${id}"] ${choices}`)]);
      found[truth ? 0 : 1].click();
    }
  }, choices, questions.filter(([id]) => !real.has(id)));
  for (const [id, truth] of questions.filter(([id]) => real.has(id))) {
    if (typeof truth === "string") {
      await page.focus(of(id, ':is([role="spinbutton"], input)'));
      await page.keyboard.type(truth);
    } else {
      const options = await page.$$(of(id, choices));
      await options[typeof truth === "number" ? truth : truth ? 0 : 1].click();
    }
  }
  const held = () => page.evaluate(() => {
    const places = [document, document.querySelector("rr-survey").shadowRoot], all = (what) => places.flatMap((place) => [...place.querySelectorAll(what)]);
    return all("[aria-checked=true], input[type=radio]:checked, [aria-valuenow]").length + all("fieldset input:not([type=radio])").filter((field) => field.value).length;
  });
  const before = await held();
  await pause(2); // a person reads on, and the browser saves its session
  await page.evaluate((ids) => { // the page moves meanwhile: found by id
    const place = document.querySelector("rr-survey").shadowRoot;
    for (const id of ids) place.querySelector(`[data-question="${id}"] .actions button`).click();
  }, given.send);
  await page.waitForFunction((many) => document.querySelector("rr-survey").shadowRoot.querySelectorAll(".sent").length === many, { timeout: 60_000 }, given.send.length);
  await pause(2);
  await page.goto(given.away);
  await pause(2);
  await page.evaluate(() => { setTimeout(() => history.back()); }); // goBack() waits for a load event, which a kept page has not
  await pause(1);
  await page.waitForSelector(`rr-survey >>> ${choices}, ${choices}`);
  const kept = await page.evaluate(() => document.body.dataset.kept ?? "loaded again");
  const after = await held();
  await pause(2);
  console.log(JSON.stringify({ before, after, kept }));
} finally {
  await browser.close();
}
