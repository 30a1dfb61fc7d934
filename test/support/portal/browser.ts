import { afterAll } from 'bun:test';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { noteCookies } from '../secret-search.ts';
import type { Authenticator } from './authenticator.ts';
import { connectChromium } from './chromium.ts';

/**
 * Opens pages in the browser of the test run, each in its own context; all are closed when the test file is done.
 * Call it outside tests. Names that end with `.example` resolve to this machine, and its certificate is not verified.
 */
export async function startBrowser(): Promise<OpenPage> {
  const browser = await connectChromium();
  afterAll(() => browser.close());
  return (url, size) => openPage(browser, url, size);
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
  isWithoutScripts?: true;
  timezoneId?: string;
  cookie?: string;
};

/** Opens a URL in a new window of this size, and records its errors and requests. */
export type OpenPage = (url: string, size: Size) => Promise<Watched>;

async function openPage(
  browser: Browser,
  url: string,
  { width, height = 844, colorScheme, isWithoutScripts, timezoneId = 'UTC', cookie }: Size,
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    // Scrolling smoothly through a long page takes longer than all else that a test does with it.
    reducedMotion: 'reduce',
    timezoneId,
    javaScriptEnabled: isWithoutScripts !== true,
    ignoreHTTPSErrors: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  if (cookie !== undefined) await keepCookie(context, cookie, url);
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
  await page.goto(url);
  return { page, requests, troubles };
}

/** Stores a Cookie header as the server at a URL does, from the next request on. */
export async function keepCookie(context: BrowserContext, cookie: string, url: string): Promise<void> {
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: new URL(url).origin, httpOnly: true, sameSite: 'Lax' }]);
}

/** A window's DevTools session, which can add virtual authenticators. */
export async function toolsOf(page: Page): Promise<CDPSession> {
  const tools = await page.context().newCDPSession(page);
  await tools.send('WebAuthn.enable');
  return tools;
}

/** Adds a virtual authenticator that stores passkeys and verifies its user automatically; returns its id. */
export async function addAuthenticator(tools: CDPSession): Promise<string> {
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
