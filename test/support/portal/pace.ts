import { expect } from 'bun:test';
import type { Page } from 'playwright-core';

// Estimates how long a person takes for a task, from what they read, type and press.

/** A person who reads 250 words a minute, types 40, and takes 1.5 s to find and press something. */
const PACE = { readMs: 60_000 / 250, typeMs: 60_000 / 40, tapMs: 1_500 };

/** In the page: its text, without text for screen readers only. */
const SHOWN = `(() => {
  const unseen = [...main.querySelectorAll('.unseen')];
  for (const one of unseen) one.hidden = true;
  const text = main.innerText;
  for (const one of unseen) one.hidden = false;
  return text;
})()`;

/** Counts what a person reads and does in a window. Pages are read whole, or up to and including some text. */
export function personAt(page: Page) {
  const did = { read: 0, typed: 0, taps: 0 };
  const wordsIn = (text: string) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
  const readText = (text: string) => {
    did.read += wordsIn(text);
  };
  return {
    did,
    readText,
    read: async (heading: string, upTo?: string) => {
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      const text = (await page.evaluate(SHOWN)) as string;
      if (upTo !== undefined) expect(text).toContain(upTo);
      readText(upTo === undefined ? text : text.slice(0, text.indexOf(upTo) + upTo.length));
    },
    tap: async (role: 'link' | 'button' | 'checkbox', name: string) => {
      await page.locator('main').getByRole(role, { name }).first().click();
      did.taps++;
    },
    type: async (label: string, text: string) => {
      await page.getByLabel(label, { exact: true }).fill(text);
      did.taps++;
      did.typed += wordsIn(text);
    },
    seconds: () => Math.round((did.read * PACE.readMs + did.typed * PACE.typeMs + did.taps * PACE.tapMs) / 1_000),
  };
}
