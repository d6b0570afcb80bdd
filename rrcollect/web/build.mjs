/**
 * Makes `dist` of `src`: <rr-survey> and the client as pages load them, and the types of both.  `make element` runs it.
 *
 * Rules
 * 1. What is served is what is read, bundled and minified by esbuild, with source maps: nothing is left out, renamed or replaced.
 * 2. The same sources and tools make the same bytes: the tools are pinned in package.json.
 * 3. `dist/sources.txt` is the digest of what it was made of.  It is written last: without it `dist` is not used.
 */
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";

process.chdir(new URL(".", import.meta.url).pathname);
const sha256 = (data) => createHash("sha256").update(data).digest("hex");
const sources = ["build.mjs", "package.json", ...readdirSync("src", { recursive: true }).map((name) => `src/${name}`)]
  .filter((name) => /\.(mjs|json)$/.test(name)).sort();
const digest = sha256(sources.map((name) => `${sha256(readFileSync(name))} ${name}\n`).join(""));

rmSync("dist", { recursive: true, force: true });
const options = {
  outdir: "dist", outExtension: { ".js": ".mjs" }, bundle: true, minify: true, sourcemap: true, format: "esm", target: "es2022", charset: "utf8",
};
// What few need is loaded when they do.  `inject` lets it import the element, so that all that comes first is one file.
await build({ ...options, entryPoints: ["src/rr-survey.mjs"], inject: ["src/rr-survey.mjs"], splitting: true });
await build({ ...options, entryPoints: ["src/index.mjs", "src/element/entries.mjs"] }); // for pages of one's own: each file whole
mkdirSync("dist/words");
for (const name of readdirSync("src/words")) writeFileSync(`dist/words/${name}`, JSON.stringify(JSON.parse(readFileSync(`src/words/${name}`, "utf8"))));
execFileSync("npm", ["run", "--silent", "types"], { stdio: "inherit" });
writeFileSync("dist/sources.txt", `${digest}\n`);
