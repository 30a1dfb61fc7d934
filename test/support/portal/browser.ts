import { afterAll } from 'bun:test';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { noteCookies } from '../secret-search.ts';
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

/** A window's size in CSS pixels (844 high by default), with its user's preferences and time zone. */
export type Size = {
  width: number;
  height?: number;
  colorScheme: 'light' | 'dark';
  isWithoutScripts?: true;
  timezoneId?: string;
};

/** Opens a URL in a new window of this size, and records its errors and requests. */
export type OpenPage = (url: string, size: Size) => Promise<Watched>;

async function openPage(
  browser: Browser,
  url: string,
  { width, height = 844, colorScheme, isWithoutScripts, timezoneId = 'UTC' }: Size,
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
  const page = await context.newPage();
  const requests: string[] = [];
  const troubles: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('requestfailed', (request) => troubles.push(`failed: ${request.url()}`));
  page.on(
    'response',
    (response) => response.status() >= 400 && troubles.push(`${response.status()}: ${response.url()}`),
  );
  // A browser that is closing sends no more events.
  page.on('response', (response) => void response.headerValues('set-cookie').then(noteCookies, () => undefined));
  page.on('console', (message) => troubles.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  await page.goto(url);
  return { page, requests, troubles };
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
