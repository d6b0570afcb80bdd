// @ts-check
/**
 * How <rr-survey> looks.  The page around sets --rr-… and ::part(…).
 */
/** A sheet that any content security policy allows. @param {string} text */
export function sheet(text) {
  const made = new CSSStyleSheet();
  made.replaceSync(text);
  return made;
}

export const STYLE = sheet([
  `:host { display: block; --ink: var(--rr-ink, light-dark(#16202c, #e8edf2)); --quiet: var(--rr-quiet, light-dark(#51606f, #a9b6c3)); --card: var(--rr-card, light-dark(#ffffff, #1b222b)); --line: var(--rr-line, light-dark(#d7dde4, #323d49)); --accent: var(--rr-accent, light-dark(#0067a1, #7cc4ee)); --accent-ink: var(--rr-accent-ink, light-dark(#ffffff, #0b1c28)); --warn: var(--rr-warn, light-dark(#8a4b00, #ffcf8f)); --warn-paper: var(--rr-warn-paper, light-dark(#fff4e3, #33260f)); --bad: var(--rr-bad, light-dark(#a3202b, #ff9aa2)); --good: var(--rr-good, light-dark(#1c6b3c, #8fdcae)); --radius: var(--rr-radius, 14px); }`,
  `:host([hidden]), [hidden] { display: none !important; }`,
  `*, ::before { box-sizing: border-box; }`,
  `.survey { font: max(16px, 1.0625rem)/1.55 var(--rr-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif); color: var(--ink); }`,
  `.h0 { font-size: 1.6em; line-height: 1.2; margin: 0 0 .25rem; }`,
  `.h1 { font-size: 1.22em; line-height: 1.35; margin: 0 0 .25rem; }`,
  `.h2 { font-size: 1.05em; margin: 1.2rem 0 .4rem; }`,
  `.h0:focus, .h1:focus { outline: none; }`,
  `p, ul { margin: .4rem 0; }`,
  `a { color: var(--accent); }`,
  `.quiet { color: var(--quiet); }`,
  `.small { font-size: .88em; }`,
  `.card { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); padding: 1.2rem 1.35rem; margin: 1.1rem 0; }`,
  `.logo { width: fit-content; max-width: 100%; margin: 0 0 .8rem; padding: .5rem .7rem .2rem; border: 1px dotted var(--quiet); border-radius: var(--radius); }`,
  `.logo img { display: block; max-width: min(100%, 14rem); max-height: 4.5rem; }`,
  `.foreign { font-family: var(--rr-foreign-font, Georgia, "Liberation Serif", "Noto Serif", serif); unicode-bidi: isolate; white-space: pre-line; overflow-wrap: anywhere; text-decoration-line: underline; text-decoration-style: dotted; text-decoration-color: var(--quiet); text-decoration-thickness: 1px; text-underline-offset: .25em; }`,
  `p.foreign { border-inline-start: 3px solid var(--line); padding-inline-start: .8rem; }`,
  `.promise { border-inline-start: 4px solid var(--accent); }`,
  `.short { margin: .6rem 0 .3rem; } .promise .short { font-size: 1.06em; font-weight: 600; }`,
  `.notice { background: var(--warn-paper); color: var(--warn); border-radius: 10px; padding: .6rem .9rem; }`,
  `.bad { color: var(--bad); font-weight: 600; }`,
  `.good { color: var(--good); font-weight: 600; }`,
  `details { margin-block-start: .9rem; }`,
  `summary { cursor: pointer; color: var(--accent); font-weight: 600; min-height: 1.75rem; }`,
  `.dots, .slope { display: block; width: 100%; max-width: 22rem; margin: .3rem 0 .6rem; }`,
  `.full { fill: var(--accent); } .hollow { fill: none; stroke: var(--quiet); stroke-width: 1.6; }`,
  `.slope path { fill: none; stroke: var(--quiet); } .slope .line { stroke: var(--accent); stroke-width: 3; } [dir=rtl] .slope { transform: scaleX(-1); }`,
  `.bar { height: 6px; border-radius: 3px; background: var(--line); overflow: hidden; margin: 1.2rem 0 .3rem; } .bar div { height: 100%; background: var(--accent); }`,
  `.choices { display: grid; grid-template-columns: 1fr 1fr; gap: .7rem; margin: .9rem 0 .6rem; }`,
  `.choices.many { grid-template-columns: 1fr; gap: .5rem; max-height: min(62vh, 24.5rem); overflow-y: auto; padding: 5px; margin-inline: -5px; }`,
  `button { font: inherit; font-weight: 600; border-radius: 12px; border: 2px solid var(--accent); padding: .6rem 1.2rem; min-height: 2.9rem; cursor: pointer; background: var(--accent); color: var(--accent-ink); }`,
  `button.plain { background: transparent; color: var(--accent); }`,
  `details button { margin-block: .4rem .8rem; }`,
  `button:disabled { opacity: .55; cursor: default; }`,
  `button.choice { display: flex; align-items: center; gap: .6rem; border-color: var(--line); padding: .8rem 1rem; min-height: 3.2rem; background: transparent; color: inherit; text-align: start; }`,
  `.many button.choice { font-weight: 400; }`,
  `button.choice::before { content: ""; flex: none; width: 1.2rem; height: 1.2rem; border: 2px solid var(--quiet); border-radius: 50%; }`,
  `button.choice[aria-checked="true"] { border-color: var(--accent); background: color-mix(in srgb, var(--accent) 9%, var(--card)); }`,
  `button.choice[aria-checked="true"]::before { border: .38rem solid var(--accent); }`,
  `.number { max-width: 22rem; margin: .9rem 0 .6rem; }`,
  `.number .row { display: flex; gap: .5rem; }`,
  `.dial { flex: 1; display: flex; align-items: baseline; gap: .5rem; overflow: hidden; border: 2px solid var(--quiet); border-radius: 12px; padding: .5rem 1rem; min-height: 3.2rem; font-size: 1.3em; font-variant-numeric: tabular-nums; }`,
  `.digits { overflow-wrap: anywhere; } .empty .digits::before { content: "–"; color: var(--quiet); }`,
  `.unit { font-size: .75em; color: var(--quiet); }`,
  `.keypad { display: grid; grid-template-columns: repeat(3, 1fr); gap: .5rem; }`,
  `button.key { border-color: var(--line); background: transparent; color: inherit; font-size: 1.15em; min-width: 3.2rem; padding: .3rem; touch-action: manipulation; }`,
  `label.field { display: block; margin: .7rem 0; font-weight: 600; }`,
  `select, input { display: block; width: 100%; font: inherit; font-weight: 400; color: inherit; background: var(--card); border: 1px solid var(--quiet); border-radius: 10px; padding: .6rem .7rem; padding-inline-end: 1.5rem; margin-block-start: .25rem; min-height: 2.9rem; }`,
  `.actions { display: flex; flex-wrap: wrap; gap: .7rem; margin-block-start: 1rem; }`,
  `:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }`,
  `@media (max-width: 34rem) { .card { padding: 1rem; } .actions button { flex: 100%; } }`,
  `@media print { .actions, .ask, .bar { display: none; } .card { break-inside: avoid; } }`,
].join("\n"));
