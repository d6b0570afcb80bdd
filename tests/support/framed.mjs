// What <rr-survey> shows inside frames, in Chromium or Firefox.
//
// On the input one JSON object: puppeteer (the module's address), browser ("chrome" or "firefox"), program, urls.
// On the output, for each address, "asks" or the state that the element shows instead.
import { readFileSync } from "node:fs";

const given = JSON.parse(readFileSync(0, "utf8"));
const { default: puppeteer } = await import(given.puppeteer);
const args = given.browser === "chrome" ? ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"] : [];
const browser = await puppeteer.launch({ browser: given.browser, executablePath: given.program, headless: given.browser === "chrome" ? "shell" : true, args });
const LOOK = `(() => {
  const root = document.querySelector("rr-survey")?.shadowRoot;
  return root?.querySelector("[role=radio]") ? "asks" : root?.querySelector("[data-state]")?.dataset.state ?? null;
})()`;
try {
  const said = [];
  for (const url of given.urls) {
    const page = await browser.newPage();
    await page.goto(url);
    let found = null;
    for (const end = Date.now() + 20_000; found === null && Date.now() < end;) {
      for (const frame of page.frames()) found ??= await frame.evaluate(LOOK).catch(() => null);
      if (found === null) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    said.push(found);
    await page.close();
  }
  process.stdout.write(JSON.stringify(said));
} finally {
  await browser.close();
}
