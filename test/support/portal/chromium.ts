import { existsSync } from 'node:fs';
import { type Browser, type BrowserServer, chromium } from 'playwright-core';

// The one without windows needs half the processor time of the whole browser, which starts processes for its own bars.
const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));

/** Whether this machine has one of Debian's Chromiums. */
export const hasChromium = CHROMIUM !== undefined;

const OPTIONS = {
  ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }),
  args: [
    '--no-sandbox',
    '--disable-gpu',
    // Nothing of its own on the network: whatever it asks for, the page has asked for.
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    '--no-proxy-server',
    '--host-resolver-rules=MAP *.example 127.0.0.1',
  ],
};

/** Starts the Chromium of a test run, at an address that the run's processes find in TEST_BROWSER. */
export function serveChromium(): Promise<BrowserServer> {
  return chromium.launchServer({ ...OPTIONS, host: '127.0.0.1' });
}

/** The Chromium of the test run; one of its own for a test file that is run alone. Closing it ends what was opened by it. */
export function connectChromium(): Promise<Browser> {
  const { TEST_BROWSER } = process.env;
  return TEST_BROWSER === undefined ? chromium.launch(OPTIONS) : chromium.connect(TEST_BROWSER);
}
