import { afterAll, expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { noteCookies } from '../support/secret-search.ts';
import { connectChromium } from './chromium.ts';

/**
 * Opens pages in the browser of the test run, in one window for the test file, because a new one takes as long as several pages.
 * Each page finds the window as new: it has another size and user, and no cookies, passkeys, errors or requests of the page
 * before. Call it outside tests. Names that end with `.example` resolve to this machine, and its certificate is not verified.
 */
export async function startBrowser(): Promise<OpenPage> {
  const browser = await connectChromium();
  afterAll(() => browser.close());
  let opened: Promise<Watched> | undefined;
  return async (url, size) => {
    opened ??= openWindow(browser);
    const window = await opened;
    await renew(window.page, url, size);
    window.requests.length = 0;
    window.troubles.length = 0;
    await window.page.goto(url);
    return window;
  };
}

/** A page with its errors and all its requests. */
type Watched = { page: Page; requests: string[]; troubles: string[] };

/**
 * A window's width in CSS pixels (it is 844 high), with its user's preferences and time zone, and the Cookie header with which
 * the user is signed in.
 */
type Size = {
  width: number;
  colorScheme: 'light' | 'dark';
  isWithoutScripts?: boolean;
  timezoneId?: string;
  cookie?: string;
};

/** Opens a URL in a window of this size, and records its errors and requests. */
export type OpenPage = (url: string, size: Size) => Promise<Watched>;

async function openWindow(browser: Browser): Promise<Watched> {
  const context = await browser.newContext({
    // Set by `renew`.
    viewport: null,
    // Scrolling smoothly through a long page takes longer than all else that a test does with it.
    reducedMotion: 'reduce',
    ignoreHTTPSErrors: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  const requests: string[] = [];
  const troubles: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('requestfailed', (request) => troubles.push(`failed: ${request.url()}`));
  page.on(
    'response',
    (response) => response.status() >= 400 && troubles.push(`${response.status()}: ${response.url()}`),
  );
  page.on('response', (response) => {
    if (['script', 'stylesheet'].includes(response.request().resourceType())) return;
    // A browser that is closing sends no more events.
    void response.headerValues('set-cookie').then(noteCookies, () => undefined);
  });
  page.on('console', (message) => troubles.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  return { page, requests, troubles };
}

/** Makes a window as new, of this size and with this user, for a page with this URL. */
async function renew(
  page: Page,
  url: string,
  { width, colorScheme, isWithoutScripts = false, timezoneId = 'UTC', cookie }: Size,
): Promise<void> {
  // Otherwise only the hash would change.
  if (new URL(url).hash !== '' && page.url() !== 'about:blank') await page.goto('about:blank');
  const context = page.context();
  await context.clearCookies();
  if (cookie !== undefined) await keepCookie(context, cookie, url);
  const tools = await toolsOf(page);
  await tools.send('WebAuthn.disable');
  await tools.send('Emulation.setTimezoneOverride', { timezoneId });
  await tools.send('Emulation.setScriptExecutionDisabled', { value: isWithoutScripts });
  await resize(page, width);
  await page.emulateMedia({ colorScheme });
}

/** Gives a window this size in CSS pixels. Playwright's own method takes twice the time. */
export async function resize(page: Page, width: number, height = 844): Promise<void> {
  const tools = await toolsOf(page);
  await tools.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
}

/** Stores a Cookie header as the server at a URL does, from the next request on. */
export async function keepCookie(context: BrowserContext, cookie: string, url: string): Promise<void> {
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: new URL(url).origin, httpOnly: true, sameSite: 'Lax' }]);
}

/** A window's DevTools session. The end of one would remove the window's virtual authenticators. */
export async function toolsOf(page: Page): Promise<CDPSession> {
  const tools = TOOLS.get(page) ?? (await page.context().newCDPSession(page));
  TOOLS.set(page, tools);
  return tools;
}

const TOOLS = new WeakMap<Page, CDPSession>();

/** Adds a virtual authenticator that stores passkeys and verifies its user automatically; returns its id. */
export async function addAuthenticator(tools: CDPSession): Promise<string> {
  await tools.send('WebAuthn.enable');
  const { authenticatorId } = await tools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      ctap2Version: 'ctap2_1',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return authenticatorId;
}

/** Takes half as long to load as the text in the package's `source`. */
export const AXE = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Where pages must fit: wide, below the width at which the menu folds, and where axe runs on the whole page. */
const WIDTHS = [1280, 641, 320];

/** The controls that must be at least 24 pixels high (WCAG 2.2, 2.5.8): all except links within text. */
const TARGETS =
  'a:not(p a, li a, .summary a, .skip), nav a, button, input:not([type=hidden]), select, textarea:not([hidden]), summary';

/**
 * Expects that the page, to which {@link AXE} was added as an initial script, is accessible and fits into windows of three widths:
 * nothing is wider than its container, controls are at least 24 pixels high, and axe finds no violations, and in a wide and light
 * window no colours that are too alike. Afterwards the window is narrow and dark, and all details in the page's main part are open.
 */
export async function expectUsable(page: Page): Promise<void> {
  for (const width of WIDTHS) {
    await resize(page, width);
    await expectNone(page, `(${MISFITS})(${JSON.stringify({ width, targets: TARGETS })})`);
    if (width === 1280) await expectNoViolation(page, 'light', ['color-contrast']);
  }
  await expectNoViolation(page, 'dark');
}

async function expectNoViolation(page: Page, colorScheme: 'light' | 'dark', runOnly?: string[]) {
  await page.emulateMedia({ colorScheme });
  await expectNone(page, `(${VIOLATIONS})(${JSON.stringify({ runOnly })})`);
}

async function expectNone(page: Page, script: string): Promise<void> {
  const url = page.url();
  expect({ url, faults: await page.evaluate(script) }).toEqual({ url, faults: [] });
}

/** In the page: what axe finds. */
const VIOLATIONS = `async ({ runOnly }) => {
  const { violations } = await axe.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) });
  return violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' '));
}`;

/**
 * In the page: what does not fit into the present window. Tables, lists and figures may not be wider than their container, and
 * the menu may not cover the name of the site. In a narrow window the open menu covers the page, so it is checked in wide ones.
 */
const MISFITS = `async ({ width, targets }) => {
  while (innerWidth !== width) await new Promise(requestAnimationFrame);
  for (const details of document.querySelectorAll('details')) details.open = width > 640 || details.closest('main') !== null;
  const isWide = (one) => one.getBoundingClientRect().right > one.parentElement.getBoundingClientRect().right + 1;
  const isSmall = (one) => one.checkVisibility() && (one.closest('label') ?? one).getBoundingClientRect().height < 24;
  const find = (selector, isFault) => [...document.querySelectorAll(selector)].filter(isFault).map((one) => one.outerHTML.slice(0, 120));
  const { scrollWidth } = document.documentElement;
  const brand = new Range();
  brand.selectNodeContents(document.querySelector('.brand'));
  const last = document.querySelector('.nav .last')?.getBoundingClientRect();
  const isBehind = ({ top, right, bottom, left }) => last && left < last.right && right > last.left && top < last.bottom && bottom > last.top;
  return [
    ...([...brand.getClientRects()].some(isBehind) ? ['the menu covers the name of the site'] : []),
    ...(scrollWidth === width ? [] : ['of ' + width + ' pixels, the page has ' + scrollWidth]),
    ...find('main :is(table, dl, figure, pre)', isWide).map((one) => 'wider than its container: ' + one),
    ...find(targets, isSmall).map((one) => 'too small: ' + one),
  ];
}`;
