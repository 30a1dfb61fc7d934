import { expect } from 'bun:test';
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** The axe rules that depend on colours, and those that depend on a narrow window. */
const OF_COLOURS = { runOnly: ['color-contrast'] };
const OF_NARROWNESS = { runOnly: ['target-size', 'scrollable-region-focusable'] };

/** The controls that must be at least 24 pixels high (WCAG 2.2, 2.5.8): all except links within text. */
const TARGETS =
  'a:not(p a, li a, .summary a, .skip), nav a, button, input:not([type=hidden]), select, textarea:not([hidden]), summary';

/**
 * Expects that the page is accessible and fits into windows of six widths, in light and dark mode: axe finds no violations,
 * nothing is wider than its container, and controls are at least 24 pixels high. Afterwards the window is narrow and dark, and
 * all details in the page's main part are open. `within` selects the part to check if the rest is not ours.
 */
export async function expectUsable(page: Page, within = 'html'): Promise<void> {
  await page.evaluate(axe.source);
  // A narrow window shows other parts of the document, so all rules are checked there too.
  for (const [width, colorScheme, rules] of [
    [1280, 'light', {}],
    [1280, 'dark', OF_COLOURS],
    [390, 'light', {}],
    [390, 'dark', OF_COLOURS],
    // At the widths in between, axe is not run.
    [960, 'dark', null],
    [700, 'dark', null],
    [641, 'dark', null],
    [320, 'dark', OF_NARROWNESS],
  ] as const) {
    await look(page, width, colorScheme, rules, within);
  }
}

/** In the page: tables, lists and figures that are wider than their container, with both widths. */
const WIDE = `[...document.querySelectorAll('main :is(table, dl, figure, pre)')].flatMap((one) => {
  const [own, around] = [one, one.parentElement].map((each) => each.getBoundingClientRect());
  return own.right > around.right + 1 ? [[one.outerHTML.slice(0, 80), own.width, around.width]] : [];
})`;

async function look(
  page: Page,
  width: number,
  colorScheme: 'light' | 'dark',
  rules: object | null,
  within: string,
): Promise<void> {
  await page.setViewportSize({ width, height: 844 });
  await page.emulateMedia({ colorScheme });
  // In a narrow window the open menu covers the page, so it is checked in wide ones.
  const isWide = width > 640;
  await page.evaluate(
    `for (const details of document.querySelectorAll('details')) details.open = ${isWide} || details.closest('main') !== null`,
  );
  const { violations } =
    rules === null
      ? { violations: [] }
      : ((await page.evaluate(
          `axe.run(${JSON.stringify(within)}, ${JSON.stringify({ ...rules, resultTypes: ['violations'] })})`,
        )) as AxeResults);
  const seen = {
    url: page.url(),
    width: await page.evaluate('document.documentElement.scrollWidth'),
    wide: await page.evaluate(WIDE),
    violations: violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
    small: await page
      .locator(within)
      .locator(TARGETS)
      .evaluateAll((all) =>
        all
          .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 24)
          .map((one) => one.outerHTML),
      ),
  };
  expect(seen).toEqual({ url: page.url(), width, wide: [], violations: [], small: [] });
}
