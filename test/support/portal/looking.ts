import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { CDPSession, Page } from 'playwright-core';
import { resize, toolsOf } from './browser.ts';

/** Takes half as long to load as the text in the package's `source`. */
const AXE = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

type Window = { width: number; colorScheme: 'light' | 'dark' };

/** The axe rules that depend on colours. */
const OF_COLOURS = { runOnly: ['color-contrast'] };

/**
 * The windows in which pages must fit, and in which axe runs on them. A narrow one shows other parts of the document, and dark
 * pages differ in their colours only.
 */
const WINDOWS = [
  { width: 1280, colorScheme: 'light' },
  { width: 320, colorScheme: 'dark' },
] as const satisfies Window[];

/** Where else pages must fit: below the width at which the menu folds, and on a phone. */
const OTHER_WIDTHS = [641, 390];

/** The controls that must be at least 24 pixels high (WCAG 2.2, 2.5.8): all except links within text. */
const TARGETS =
  'a:not(p a, li a, .summary a, .skip), nav a, button, input:not([type=hidden]), select, textarea:not([hidden]), summary';

/**
 * Expects that the page is accessible and fits into windows of four widths: nothing is wider than its container, controls are at
 * least 24 pixels high, and axe finds no violations, wide and light, and narrow and dark. Afterwards the window is narrow and
 * dark, and all details in the page's main part are open. `within` selects the part to check if the rest is not ours.
 */
export async function expectUsable(page: Page, within = 'html'): Promise<void> {
  await loadAxe(await toolsOf(page));
  for (const width of OTHER_WIDTHS) await expectFitting(page, width, within);
  for (const window of WINDOWS) {
    await expectFitting(page, window.width, within);
    await expectNoViolation(page, window, within, {});
  }
}

async function expectFitting(page: Page, width: number, within: string): Promise<void> {
  await resize(page, width);
  await expectNone(page, { width }, `(${MISFITS})(${JSON.stringify({ width, within, targets: TARGETS })})`);
}

/** Expects that axe finds enough contrast on a page that {@link expectUsable} checks elsewhere, with other colours. */
export async function expectContrast(page: Page): Promise<void> {
  await loadAxe(await toolsOf(page));
  await resize(page, 1280);
  for (const colorScheme of ['light', 'dark'] as const) {
    await expectNoViolation(page, { width: 1280, colorScheme }, 'html', OF_COLOURS);
  }
}

/** Defines axe in the page. Playwright's own `evaluate` would send the script once more, from one process to another. */
async function loadAxe(tools: CDPSession): Promise<void> {
  const { exceptionDetails } = await tools.send('Runtime.evaluate', { expression: AXE });
  expect(exceptionDetails).toBeUndefined();
}

async function expectNoViolation(page: Page, window: Window, within: string, rules: object): Promise<void> {
  await page.emulateMedia({ colorScheme: window.colorScheme });
  await expectNone(page, window, `(${VIOLATIONS})(${JSON.stringify({ within, rules })})`);
}

async function expectNone(page: Page, window: Partial<Window>, script: string): Promise<void> {
  const faults = await page.evaluate(script);
  const where = { url: page.url(), ...window };
  expect({ ...where, faults }).toEqual({ ...where, faults: [] });
}

/** In the page: what axe finds. */
const VIOLATIONS = `async ({ within, rules }) => {
  const { violations } = await axe.run(within, { ...rules, resultTypes: ['violations'] });
  return violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' '));
}`;

/**
 * In the page: what does not fit into the present window. Tables, lists and figures may not be wider than their container. In
 * a narrow window the open menu covers the page, so it is checked in wide ones.
 */
const MISFITS = `async ({ width, within, targets }) => {
  while (innerWidth !== width) await new Promise(requestAnimationFrame);
  for (const details of document.querySelectorAll('details')) details.open = width > 640 || details.closest('main') !== null;
  const isWide = (one) => one.getBoundingClientRect().right > one.parentElement.getBoundingClientRect().right + 1;
  const isSmall = (one) => one.checkVisibility() && one.getBoundingClientRect().height < 24;
  const find = (selector, isFault) => [...document.querySelectorAll(selector)].filter(isFault).map((one) => one.outerHTML.slice(0, 120));
  const { scrollWidth } = document.documentElement;
  return [
    ...(scrollWidth === width ? [] : ['the page is ' + scrollWidth + ' pixels wide']),
    ...find('main :is(table, dl, figure, pre)', isWide).map((one) => 'wider than its container: ' + one),
    ...find(targets, (one) => one.closest(within) !== null && isSmall(one)).map((one) => 'too small: ' + one),
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
