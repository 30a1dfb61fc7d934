import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { connectChromium } from './browser/chromium.ts';
import { addAuthenticator, toolsOf } from './browser/window.ts';

// `bun run pictures` makes the README's pictures: it starts the demo, acts in Chromium as an owner and an admin, and
// takes screenshots of two pages, each in light and dark mode. Run it again after changing these pages.

const PROJECT = join(import.meta.dir, '..');
const PICTURES = join(PROJECT, 'docs/pictures');
const SIZE = { width: 1280, height: 800 };

/** Lookups with the owner's key, so that its page shows some: as many as the demo's key allows in a minute. */
const LOOKUPS = 60;

/** A request that an admin has to decide on. */
const REQUEST = {
  profile: 'grace',
  name: 'Discord role sync',
  description:
    'A Discord bot for our guild of 4,200 members. When somebody links their profile, the bot reads its badges and gives them the matching roles. It asks once a day for each member, keeps nothing but the roles, and forgets members who leave.',
  'expected-usage': 'About 4,500 lookups a day, most of them at night.',
  'project-url': 'https://role-sync.example.org',
};

type Demo = { url: string; invitation: string; profilectl: string[]; mails: string; end: () => Promise<number> };

/** Starts the demo and reads from its output what a newcomer would read. */
async function startDemo(): Promise<Demo> {
  const child = Bun.spawn([process.execPath, 'cli/main.ts', 'demo'], { cwd: PROJECT, stdout: 'pipe' });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk);
    if (text.includes('Ctrl-C stops it')) break;
  }
  const find = (pattern: RegExp) => {
    const found = pattern.exec(text)?.[1];
    if (found === undefined) throw new Error(`The demo printed nothing like ${pattern}.`);
    return found;
  };
  return {
    url: find(/running on (\S+)/),
    invitation: find(/^ {2}(http\S+\/enrol\S+)$/m),
    profilectl: [process.execPath, 'cli/main.ts', '--db', find(/--db (\S+) keys list/)],
    mails: find(/^ {2}(\S+)\/\*-approval/m),
    end: () => {
      child.kill('SIGTERM');
      return child.exited;
    },
  };
}

async function run(words: readonly string[]): Promise<string> {
  const child = Bun.spawn([...words], { cwd: PROJECT, stdout: 'pipe', stderr: 'inherit' });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error('A command of profilectl failed.');
  return text;
}

/** The first match in the latest mail of a kind. */
function inMail({ mails }: Demo, kind: string, pattern: RegExp): string {
  const file = readdirSync(mails)
    .filter((name) => name.includes(kind))
    .toSorted()
    .at(-1);
  const found = file === undefined ? null : pattern.exec(readFileSync(join(mails, file), 'utf8'));
  if (found === null)
    throw new Error(`The latest mail of the kind ${kind} is missing, or does not contain ${pattern}.`);
  return found[0];
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

/** Opens the page of the demo's key as its owner. */
async function openOwnersKey(demo: Demo, page: Page): Promise<void> {
  const secret = inMail(demo, '-approval-', /plk_\w{8}_\w{38}/);
  for (let count = 0; count < LOOKUPS; count++) {
    // One lookup in twelve is for a profile that does not exist.
    const name = count % 12 === 0 ? 'nobody-here' : 'Ada';
    const answer = await fetch(`${demo.url}/api/lookup/username/${name}`, {
      headers: { Authorization: `Bearer ${secret}` },
    });
    await answer.arrayBuffer();
  }
  await page.goto(`${demo.url}/developers/sign-in`);
  await page.getByLabel(/username/i).fill('Ada');
  await page.getByLabel(/address/i).fill('ada@example.org');
  await page.locator('main form button').click();
  await page.getByLabel(/code/i).waitFor();
  await page.waitForFunction(`document.readyState === 'complete'`);
  await eventually(() => inMail(demo, '-sign-in', /^[0-9A-Z]{4}-[0-9A-Z]{4}(?=\r?$)/m)).then((code) =>
    page.getByLabel(/code/i).fill(code),
  );
  await page.locator('main form button').first().click();
  await page.goto(`${demo.url}/developers/keys`);
  await page.locator('a[href*="/developers/keys/"]:not([href$="/new"])').first().click();
  // The server saves usage every second.
  await page.waitForFunction(
    `/not used yet|never used/.test(document.body.innerText) ? (location.reload(), false) : true`,
    null,
    {
      polling: 500,
    },
  );
}

/** Opens the page on which an admin decides on a request. */
async function openDecision(demo: Demo, page: Page): Promise<void> {
  const words = Object.entries(REQUEST).flatMap(([name, value]) => [`--${name}`, value]);
  const asked = await run([...demo.profilectl, 'keys', 'request', ...words, '--permission', 'api.lookup', '--json']);
  const { identifier } = JSON.parse(asked);
  await page.goto(`${demo.url}/developers`);
  await addAuthenticator(await toolsOf(page));
  await page.goto(demo.invitation);
  await button(page, 'Continue').click();
  await page.getByLabel('Name of the passkey').fill('Laptop');
  await button(page, /create a passkey/i).click();
  await page.waitForURL(/\/developers\/admin/);
  await page.goto(`${demo.url}/developers/admin/sign-in`);
  await button(page, /sign in with a passkey/i).click();
  await page.waitForURL(/\/developers\/admin$/);
  await page.goto(`${demo.url}/developers/admin/keys/${identifier}`);
}

/** Polls until reading succeeds. */
async function eventually(read: () => string): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      return read();
    } catch (error) {
      if (tries === 200) throw error;
      await Bun.sleep(25);
    }
  }
}

async function take(context: BrowserContext, name: string, open: (page: Page) => Promise<void>): Promise<void> {
  const page = await context.newPage();
  await page.setViewportSize(SIZE);
  await open(page);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const path = join(PICTURES, `${name}-${colorScheme}.png`);
    await page.screenshot({ path });
  }
}

mkdirSync(PICTURES, { recursive: true });
const demo = await startDemo();
const browser = await connectChromium();
try {
  // Separate contexts, because a browser is signed in as one person.
  await take(await browser.newContext(), 'decision', (page) => openDecision(demo, page));
  await take(await browser.newContext(), 'key', (page) => openOwnersKey(demo, page));
} finally {
  await browser.close();
  process.exitCode = await demo.end();
}
