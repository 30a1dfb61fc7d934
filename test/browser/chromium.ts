import { existsSync } from 'node:fs';
import { type Browser, type BrowserServer, chromium } from 'playwright-core';

// The headless shell needs half the processor time of the full browser, which starts processes for its own interface.
const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));

/** Whether a Chromium from Debian is installed. */
export const hasChromium = CHROMIUM !== undefined;

const OPTIONS = {
  ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }),
  args: [
    '--no-sandbox',
    '--disable-gpu',
    // Most scripts run once: axe takes half the processor time if none of it is optimised first.
    '--js-flags=--no-opt --no-maglev',
    // The browser itself sends no requests, so that all requests are the page's.
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    '--no-proxy-server',
    '--host-resolver-rules=MAP *.example 127.0.0.1',
  ],
};

/** Starts the Chromium of a test run; TEST_BROWSER passes its URL to the run's processes. */
export function serveChromium(): Promise<BrowserServer> {
  return chromium.launchServer({ ...OPTIONS, host: '127.0.0.1' });
}

/** The Chromium of the test run, or a new one for a file run alone. Closing it closes everything in it. */
export function connectChromium(): Promise<Browser> {
  const { TEST_BROWSER } = process.env;
  return TEST_BROWSER === undefined ? chromium.launch(OPTIONS) : chromium.connect(TEST_BROWSER);
}
