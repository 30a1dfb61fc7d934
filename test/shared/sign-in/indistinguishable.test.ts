import { expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Sqlite } from '../../../shared/db/connect.ts';
import type { Deps } from '../../../shared/deps.ts';
import { type CodeRequest, createCodeDesk, enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { CLIENT, countingCodes } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';

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

/** Records every statement that a connection prepares or runs. */
function recordStatements(sqlite: Sqlite, statements: string[]): void {
  for (const method of ['query', 'prepare', 'run'] as const) {
    const original = sqlite[method].bind(sqlite) as (...words: unknown[]) => unknown;
    Object.defineProperty(sqlite, method, {
      configurable: true,
      value: (text: string, ...more: unknown[]) => {
        statements.push(`${method} ${text.replace(/\s+/g, ' ')}`);
        return original(text, ...more);
      },
    });
  }
}

/** The rows that strangers can cause: the type of each value, and the lengths of blobs. Only the owner's id differs. */
function shapeOf({ db: { $client } }: Deps): unknown {
  const rows = $client.prepare('SELECT * FROM tickets').all() as Record<string, unknown>[];
  return rows.map(({ profile_id: _, ...row }) =>
    Object.values(row).map((value) =>
      typeof value === 'object' && value !== null ? (value as Uint8Array).length : `${value === null} ${typeof value}`,
    ),
  );
}

/** Everything observable in requests up to a limit, and in wrong codes until no try is left. */
async function observe(name: string, address: string) {
  const clock = testClock();
  const access = testDeps({ clock, random: countingCodes().random });
  await importLines(access, PROFILES);
  const desk = createCodeDesk(clock);
  const statements: string[] = [];
  recordStatements(access.db.$client, statements);
  const seen: unknown[] = [];
  const note = (what: object) => {
    const parts = Object.entries(what).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.length : typeof value,
    ]);
    const run = statements.splice(0);
    seen.push(parts, run, shapeOf(access), readdirSync(access.folder).sort());
    statements.splice(0);
  };
  const ask = (browserSecret: string | null = null) => {
    const asked = requestCode(access, desk, { name, address, browserSecret, client: CLIENT });
    note(asked);
    return asked;
  };
  const { browserSecret } = ask();
  expect(ask(browserSecret).browserSecret).toBe(browserSecret);
  for (let n = 0; n < 6; n++) note(enterCode(access, { browserSecret, code: 'ZZZZ-ZZZZ', client: CLIENT }));
  for (let n = 0; n < 3; n++) ask();
  return seen;
}

test('responses, statements and rows are the same, whether or not name and address match', async () => {
  const [[, name, address] = ['', '', ''], ...others] = INPUTS;
  const known = await observe(name, address);
  expect(JSON.stringify(known)).toContain('INSERT INTO tickets');
  for (const [what, ...typed] of others)
    expect([what, await observe(...(typed as [string, string]))]).toEqual([what, known]);
}, 20_000);

test('a mail is sent, and its code works, only if name and address match', async () => {
  const isMatch = (what: string) => /and its|and the address in|banned/.test(what);
  for (const [what, name, address] of INPUTS) {
    const codes = countingCodes();
    const clock = testClock();
    const access = testDeps({ clock, random: codes.random });
    await importLines(access, PROFILES);
    const desk = createCodeDesk(clock);
    const ask: CodeRequest = { name, address, browserSecret: null, client: CLIENT };
    const sends = Array.from({ length: 5 }, () => requestCode(access, desk, ask));
    for (const { mail } of sends) expect(await mail()).toBeNull();
    const folder = join(access.folder, 'mail');
    expect([what, existsSync(folder) ? readdirSync(folder).length : 0]).toEqual([what, isMatch(what) ? 3 : 0]);
    clock.advance(3_600_001);
    const { browserSecret } = requestCode(access, desk, ask);
    const { isSignedIn } = enterCode(access, { browserSecret, code: codes.lastCode(), client: CLIENT });
    expect([what, isSignedIn]).toEqual([what, isMatch(what)]);
  }
}, 20_000);
