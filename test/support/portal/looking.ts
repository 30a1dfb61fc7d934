import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

/** Takes half as long to load as the text in the package's `source`. */
const AXE = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The axe rules that depend on colours. */
const OF_COLOURS = { runOnly: ['color-contrast'] };

/** Windows, and the axe rules to check in them, if any. Light and dark pages differ in their colours only. */
const WINDOWS = [
  { width: 1280, colorScheme: 'light', rules: {} },
  { width: 1280, colorScheme: 'dark', rules: OF_COLOURS },
  { width: 960, colorScheme: 'dark', rules: null },
  { width: 700, colorScheme: 'dark', rules: null },
  { width: 641, colorScheme: 'dark', rules: null },
  { width: 390, colorScheme: 'light', rules: OF_COLOURS },
  // A narrow window shows other parts of the document, so all rules are checked there too.
  { width: 320, colorScheme: 'dark', rules: {} },
] as const;

/** The controls that must be at least 24 pixels high (WCAG 2.2, 2.5.8): all except links within text. */
const TARGETS =
  'a:not(p a, li a, .summary a, .skip), nav a, button, input:not([type=hidden]), select, textarea:not([hidden]), summary';

/**
 * Expects that the page is accessible and fits into windows of six widths, in light and dark mode: axe finds no violations,
 * nothing is wider than its container, and controls are at least 24 pixels high. Afterwards the window is narrow and dark, and
 * all details in the page's main part are open. `within` selects the part to check if the rest is not ours.
 */
export async function expectUsable(page: Page, within = 'html'): Promise<void> {
  await expectNoFaults(page, within, WINDOWS);
}

/** Expects that axe finds enough contrast on a page that {@link expectUsable} checks elsewhere, with other colours. */
export async function expectContrast(page: Page): Promise<void> {
  const colours = WINDOWS.filter(({ width }) => width === 1280).map((window) => ({ ...window, rules: OF_COLOURS }));
  await expectNoFaults(page, 'html', colours);
}

type Window = { width: number; colorScheme: 'light' | 'dark'; rules: object | null };

async function expectNoFaults(page: Page, within: string, windows: readonly Window[]): Promise<void> {
  await page.evaluate(AXE);
  for (const { width, colorScheme, rules } of windows) {
    await page.setViewportSize({ width, height: 844 });
    await page.emulateMedia({ colorScheme });
    const faults = await page.evaluate(`(${FAULTS})(${JSON.stringify({ width, rules, within, targets: TARGETS })})`);
    expect({ url: page.url(), width, colorScheme, faults }).toEqual({
      url: page.url(),
      width,
      colorScheme,
      faults: [],
    });
  }
}

/**
 * In the page: what is wrong in the present window. Tables, lists and figures may not be wider than their container. In a
 * narrow window the open menu covers the page, so it is checked in wide ones.
 */
const FAULTS = `async ({ width, rules, within, targets }) => {
  for (const details of document.querySelectorAll('details')) details.open = width > 640 || details.closest('main') !== null;
  const { violations } = rules === null ? { violations: [] } : await axe.run(within, { ...rules, resultTypes: ['violations'] });
  const isWide = (one) => one.getBoundingClientRect().right > one.parentElement.getBoundingClientRect().right + 1;
  const isSmall = (one) => one.checkVisibility() && one.getBoundingClientRect().height < 24;
  const find = (selector, isFault) => [...document.querySelectorAll(selector)].filter(isFault).map((one) => one.outerHTML.slice(0, 120));
  const { scrollWidth } = document.documentElement;
  return [
    ...(scrollWidth === width ? [] : ['the page is ' + scrollWidth + ' pixels wide']),
    ...find('main :is(table, dl, figure, pre)', isWide).map((one) => 'wider than its container: ' + one),
    ...find(targets, (one) => one.closest(within) !== null && isSmall(one)).map((one) => 'too small: ' + one),
    ...violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')),
  ];
}`;

/**
 * Focuses each control of the page, in order and back, as Tab and Shift+Tab do, and returns those that
 * other elements then hide entirely, or whose middle a sticky bar hides. Focusing by script scrolls just as a key does, but takes a hundredth of the time.
 */
export function hiddenInFocus(page: Page): Promise<string[]> {
  return page.evaluate(HIDDEN_IN_FOCUS);
}

const HIDDEN_IN_FOCUS = `(() => {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')];
  const isSeen = (one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    const at = (x, y) => document.elementFromPoint(left + width * x, top + height * y);
    const bar = at(0.5, 0.5)?.closest('.top, .bar');
    return (!bar || bar.contains(one)) && [0.02, 0.5, 0.98].some((x) => [0.05, 0.5, 0.95].some((y) => {
      const found = at(x, y);
      return found !== null && (one.contains(found) || found.contains(one));
    }));
  };
  return [...all, ...all.reverse()].flatMap((one) => {
    one.focus();
    return document.activeElement !== one || isSeen(one) ? [] : [one.outerHTML.slice(0, 120)];
  });
})()`;
