// @ts-check
/**
 * The survey's colour, made readable.
 *
 * Rules
 * 1. A colour is one that was checked (#rrggbb).  It is brought towards black or white until it can be read on its ground, and
 *    letters on it are black or white, whichever is read better: at least 4.5 to 1, as WCAG 2 asks.
 */
import { sheet } from "./style.mjs";

/** The relative luminance of WCAG 2. @param {number[]} rgb of 0 to 255 */
function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {number[]} one @param {number[]} other */
function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** The colour, as far towards black or white as it takes to be read on a ground. @param {number[]} rgb @param {number[]} ground */
function legible(rgb, ground) {
  const end = luminance(ground) > 0.2 ? 0 : 255;
  let made = rgb;
  for (let step = 1; step <= 20 && contrast(made, ground) < 4.8; step++) made = rgb.map((c) => Math.round(c + ((end - c) * step) / 20));
  return made;
}

/** A sheet with the survey's colour: each scheme gets one that is read on its cards, and letters that are read on it.
 * @param {string} colour as #rrggbb */
export function coloured(colour) {
  const rgb = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)), css = (/** @type {number[]} */ c) => `rgb(${c.join(" ")})`;
  const pair = [[255, 255, 255], [27, 34, 43]].map((card) => legible(rgb, card));
  const ink = pair.map((ground) => [[255, 255, 255], [0, 0, 0]].sort((a, b) => contrast(b, ground) - contrast(a, ground))[0]);
  const both = (/** @type {number[][]} */ [light, dark]) => `light-dark(${css(light)}, ${css(dark)})`;
  return sheet(`:host { --accent: var(--rr-accent, ${both(pair)}); --accent-ink: var(--rr-accent-ink, ${both(ink)}); }`);
}
