import { afterAll, afterEach } from 'bun:test';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { noteCookies } from '../secret-search.ts';
import type { Authenticator } from './authenticator.ts';
import { connectChromium } from './chromium.ts';

/**
 * Opens pages in the browser of the test run, in one window for each test, which is closed after it. If a test opens several
 * pages, each finds the window as new: it has another size and user, and no cookies, passkeys, errors or requests of the page
 * before. Call it outside tests. Names that end with `.example` resolve to this machine, and its certificate is not verified.
 */
export async function startBrowser(): Promise<OpenPage> {
  const browser = await connectChromium();
  let opened: Promise<Watched> | undefined;
  afterEach(async () => {
    const window = await opened;
    opened = undefined;
    await window?.page.context().close();
  });
  afterAll(() => browser.close());
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
export type Watched = { page: Page; requests: string[]; troubles: string[] };

/**
 * A window's size in CSS pixels (844 high by default), with its user's preferences and time zone, and the Cookie header with which
 * the user is signed in.
 */
export type Size = {
  width: number;
  height?: number;
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
  { width, height = 844, colorScheme, isWithoutScripts = false, timezoneId = 'UTC', cookie }: Size,
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
  await resize(page, width, height);
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

/** Adds a virtual authenticator with a passkey in software, as if the passkey had been created there. */
export async function addPasskey(page: Page, passkey: Authenticator): Promise<CDPSession> {
  const tools = await toolsOf(page);
  const authenticatorId = await addAuthenticator(tools);
  await tools.send('WebAuthn.addCredential', { authenticatorId, credential: passkey.exported() });
  return tools;
}
