import { afterAll } from 'bun:test';
import { existsSync } from 'node:fs';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { noteCookies } from './secret-search.ts';

const CHROMIUM = '/usr/bin/chromium';

/** Whether this machine has Debian's Chromium. */
export const hasChromium = existsSync(CHROMIUM);

/**
 * Opens pages in one browser, which is closed when the test file is done; call it outside any test. `hosts` are names that
 * lead to ports of this machine, whatever certificate is there.
 */
export async function startBrowser(hosts: Record<string, number> = {}): Promise<OpenPage> {
  const rules = Object.entries(hosts).map(([name, port]) => `MAP ${name} 127.0.0.1:${port}`);
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // Nothing of its own on the network: whatever it asks for, the page has asked for.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--no-proxy-server',
      ...(rules.length === 0 ? [] : [`--host-resolver-rules=${rules.join(',')}`, '--ignore-certificate-errors']),
    ],
  });
  afterAll(() => browser.close());
  return (url, size) => openPage(browser, url, size);
}

/** What a page has done that it should not have, or asked for at all. */
export type Watched = { page: Page; requests: string[]; troubles: string[] };

/** A window's width in CSS pixels, and what its owner prefers. */
export type Size = { width: number; colorScheme: 'light' | 'dark'; isWithoutScripts?: true };

/** Opens an address in a new window of this size, and watches what it does. */
export type OpenPage = (url: string, size: Size) => Promise<Watched>;

async function openPage(
  browser: Browser,
  url: string,
  { width, colorScheme, isWithoutScripts }: Size,
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width, height: 844 },
    colorScheme,
    javaScriptEnabled: isWithoutScripts !== true,
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
  // A browser that is being closed tells nothing any more.
  page.on('response', (response) => void response.headerValues('set-cookie').then(noteCookies, () => undefined));
  page.on('console', (message) => troubles.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  await page.goto(url, { waitUntil: 'networkidle' });
  return { page, requests, troubles };
}

/** A window's developer tools, with which it can be given authenticators. */
export async function toolsOf(page: Page): Promise<CDPSession> {
  const tools = await page.context().newCDPSession(page);
  await tools.send('WebAuthn.enable');
  return tools;
}

/** Gives a window an authenticator that keeps passkeys and answers for its owner. Returns its id. */
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
