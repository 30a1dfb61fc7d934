import { expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Sqlite } from '../../../shared/db/connect.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { type CodeRequest, enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { importLines } from '../../support/import.ts';
import { CLIENT, countingCodes, testAccess } from '../../support/portal/access.ts';
import { testClock } from '../../support/world.ts';

// Typing a name and an e-mail address does not reveal whether they match: neither by the responses, nor by the rows
// written, nor by the statements run.

const PROFILES = [
  { id: 1, username: 'ada', aliases: ['countess'], email: 'ada@example.org' },
  { id: 2, username: 'bob', email: null },
  { id: 3, username: 'eve', email: 'eve@example.org', banned: true },
];

/** Names and e-mail addresses, some of which match. */
const INPUTS: readonly [string, string, string][] = [
  ['a name and its address', 'ada', 'ada@example.org'],
  ['an alias and the address in capitals', 'COUNTESS', 'ADA@EXAMPLE.ORG'],
  ['a wide name and its address with a space', ' ａｄａ ', ' aDa@Example.org\n'],
  ['a banned profile', 'eve', 'eve@example.org'],
  ['the address of another profile', 'ada', 'eve@example.org'],
  ['an unknown address', 'ada', 'nobody@example.org'],
  ['a profile without an address', 'bob', 'bob@example.org'],
  ['no address', 'bob', ''],
  ['a name that no profile has', 'nobody', 'ada@example.org'],
  ['an impossible name', '..', 'ada@example.org'],
  ['unpaired surrogates', '\ud800', '\udfff'],
  ['nothing', '', ''],
];

const TABLES = ['settings', 'sign_ins', 'tickets', 'known_browsers', 'mail_counts'];

/** Records every statement that a connection prepares or runs. */
function recordStatements(sqlite: Sqlite, statements: string[], name: string): void {
  for (const method of ['query', 'prepare', 'run'] as const) {
    const original = sqlite[method].bind(sqlite) as (...words: unknown[]) => unknown;
    Object.defineProperty(sqlite, method, {
      configurable: true,
      value: (text: string, ...more: unknown[]) => {
        statements.push(`${name} ${method} ${text.replace(/\s+/g, ' ')}`);
        return original(text, ...more);
      },
    });
  }
}

/** The shape of each table: the number of rows, the type of each value, and the lengths of texts and blobs. */
function shapeOf({ sessions: { sqlite } }: Access): unknown {
  return TABLES.map((table) =>
    (sqlite.prepare(`SELECT * FROM ${table}`).all() as Record<string, unknown>[]).map((row) =>
      Object.values(row).map((value) =>
        typeof value === 'object' && value !== null ? (value as Uint8Array).length : typeof value,
      ),
    ),
  );
}

/** Everything observable in two concurrent requests, a wrong code, and two later requests. */
async function observe(name: string, address: string) {
  const clock = testClock();
  const access = testAccess({ clock, random: countingCodes().random });
  await importLines(access, PROFILES);
  const statements: string[] = [];
  recordStatements(access.sessions.sqlite, statements, 'sessions');
  recordStatements(access.db.$client, statements, 'main');
  const seen: unknown[] = [];
  const note = (what: object) => {
    const parts = Object.entries(what).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.length : typeof value,
    ]);
    seen.push(parts, statements.splice(0), shapeOf(access));
    statements.splice(0);
  };
  const ask = (more: Partial<CodeRequest> = {}) => {
    const asked = requestCode(access, {
      name,
      address,
      browserSecret: null,
      knownBrowser: null,
      client: CLIENT,
      ...more,
    });
    note(asked);
    return asked;
  };
  const { browserSecret } = ask();
  const again = ask({ browserSecret });
  expect(again.browserSecret).not.toBe(browserSecret);
  note(enterCode(access, { browserSecret, knownBrowser: null, code: 'ZZZZ-ZZZZ', client: CLIENT }));
  ask();
  clock.advance(60_000);
  ask({ browserSecret, knownBrowser: 'x'.repeat(43) });
  return seen;
}

test('responses, statements and rows are the same, whether or not name and address match', async () => {
  const [[, name, address] = ['', '', ''], ...others] = INPUTS;
  const known = await observe(name, address);
  expect(JSON.stringify(known)).toContain('insert into \\"tickets\\"');
  for (const [what, ...typed] of others)
    expect([what, await observe(...(typed as [string, string]))]).toEqual([what, known]);
}, 20_000);

/**
 * Everything observable for the owner of eve's profile, who requests codes for one name and then for another with an
 * unknown address, in several browsers at several times: the cookies, and whether the owner's own open codes survive.
 */
async function observeTwo(first: string, second: string) {
  const clock = testClock();
  const codes = countingCodes();
  const access = testAccess({ clock, random: codes.random });
  await importLines(access, PROFILES);
  const cookies = new Set<string>();
  const seen: unknown[] = [];
  let from = 0;
  const ask = (name: string, browserSecret: string | null, address = 'junk@example.org') => {
    // Each from its own IP address, so that only the limit of the pair is reached.
    const client = { ...CLIENT, address: `198.51.100.${from++}` };
    const asked = requestCode(access, { name, address, browserSecret, knownBrowser: null, client });
    seen.push([asked.browserSecret.length, cookies.has(asked.browserSecret)]);
    cookies.add(asked.browserSecret);
    return asked.browserSecret;
  };
  const enter = (browserSecret: string, code: string) =>
    seen.push(enterCode(access, { browserSecret, knownBrowser: null, code, client: CLIENT }).isSignedIn);
  for (const pauseMs of [0, 10_000, 70_000, 0, 3_600_000]) {
    clock.advance(pauseMs);
    const own = ask('eve', null, 'eve@example.org');
    const code = codes.lastCode();
    const a = ask(first, null);
    const b = ask(second, a);
    const again = [ask(first, a), ask(second, b), ask(second, own)];
    for (const browser of [own, a, b, ...again]) enter(browser, code);
  }
  return seen;
}

test('neither cookies nor one’s own codes reveal whether two names belong to the same profile', async () => {
  const others: [string, string][] = [
    ['ada', 'bob'],
    ['ada', 'nobody'],
    ['nobody', 'somebody'],
  ];
  const seen = await observeTwo('ada', 'countess');
  expect(seen.filter((one) => one === true)).toEqual([]);
  for (const other of others) expect([other, await observeTwo(...other)]).toEqual([other, seen]);
}, 20_000);

test('a mail is composed for every request within the limits; only if name and address match it is sent, and its code works', async () => {
  const isMatch = (what: string) => /and its|and the address in|banned/.test(what);
  for (const [what, name, address] of INPUTS) {
    const codes = countingCodes();
    const access = testAccess({ clock: testClock(), random: codes.random });
    await importLines(access, PROFILES);
    const written: (boolean | undefined)[] = [];
    const mailer = await access.mailer();
    if (mailer === null) throw new Error('no mailer');
    access.mailer = async () => ({
      ...mailer,
      send: (mail, options) => {
        written.push(options?.isRehearsal);
        return mailer.send(mail, options);
      },
    });
    const ask: CodeRequest = { name, address, browserSecret: null, knownBrowser: null, client: CLIENT };
    const { browserSecret, mail } = requestCode(access, ask);
    const code = codes.lastCode();
    for (const send of [mail, requestCode(access, ask).mail, requestCode(access, ask).mail]) {
      expect(await send()).toBeNull();
    }
    expect([what, written]).toEqual([what, [!isMatch(what)]]);
    const folder = join(access.folder, 'mail');
    expect([what, existsSync(folder) ? readdirSync(folder).length : 0]).toEqual([what, isMatch(what) ? 1 : 0]);
    const { isSignedIn } = enterCode(access, { browserSecret, knownBrowser: null, code, client: CLIENT });
    expect([what, isSignedIn]).toEqual([what, isMatch(what)]);
  }
}, 20_000);
