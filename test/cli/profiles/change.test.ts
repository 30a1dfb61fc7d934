import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportProfile } from '../../../shared/profiles/export.ts';
import { checkDatabase } from '../../../shared/upkeep/check.ts';
import { exportText, importLines } from '../../support/import.ts';
import { runCommand } from '../../support/machine/command.ts';
import { drawHalf, seededRandom } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';

const ADA = {
  id: 7,
  username: 'Ada',
  aliases: ['lovelace', 'countess'],
  email: 'ada@example.org',
  authId: 'auth0|ada',
};
const chance = seededRandom('refused changes of profiles');

const BOB = { id: 8, username: 'bob', authId: 'auth0|bob' };

async function world() {
  const deps = testDeps();
  const { databasePath: db } = deps.config;
  await importLines(deps, [ADA, BOB]);
  const run = (words: string[], stdin?: string) =>
    runCommand(['profiles', ...words, '--db', db], stdin === undefined ? {} : { stdin });
  /** The profile that a command prints as JSON, as in an export. */
  const change = async (words: string[], stdin?: string) => {
    const { code, stdout, stderr } = await run([...words, '--json'], stdin);
    if (code !== 0) throw new Error(stderr);
    expect(stdout.trimEnd()).toBe(exportProfile(deps.db, { username: JSON.parse(stdout).username }));
    return JSON.parse(stdout);
  };
  const faults = () => checkDatabase(deps.db).faults;
  return { deps, run, change, faults };
}

describe('profiles set', () => {
  test('changes the given fields, reading texts as they are and other values as JSON, and prints the profile', async () => {
    const { run, change, faults } = await world();
    const done = await change([
      'set',
      'LOVELACE',
      'displayName=Ada = "Countess"',
      'viewsCount=12',
      'banned=true',
      'showOnLeaderboard=false',
      'customize={"theme":"dark"}',
      'createdAt=2024-05-01T00:00:00Z',
    ]);
    expect(done).toMatchObject({
      ...ADA,
      displayName: 'Ada = "Countess"',
      viewsCount: 12,
      banned: true,
      showOnLeaderboard: false,
      customize: { theme: 'dark' },
      createdAt: '2024-05-01T00:00:00.000Z',
    });
    expect((await run(['set', 'ada', 'followersCount=3'])).stdout).toMatch(/^Id +7\nUsername +Ada\n/);
    expect(faults()).toEqual([]);
  });

  test('"field=" clears fields that may be null, and is refused for all others', async () => {
    const { run, change } = await world();
    expect(await change(['set', 'ada', 'email=', 'authId='])).toMatchObject({ email: null, authId: null });
    expect(await run(['set', 'ada', 'displayName='])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'displayName may not be empty.\n',
    });
    expect((await run(['set', 'ada', 'viewsCount='])).code).toBe(2);
    expect((await run(['set', 'ada', 'username='])).stderr).toBe('username may not be empty.\n');
  });

  const refused: [string, string[], number, RegExp][] = [
    ['an unknown field', ['colour=red'], 2, /^colour can't be set; the fields are username, authId, /],
    ['a field without a value', ['displayName'], 2, /^Expected field=value; the fields are username/],
    ['two values for a field', ['viewsCount=1', 'viewsCount=2'], 2, /^viewsCount is given twice/],
    ['a value that is not JSON', ['viewsCount=many'], 2, /^The value of viewsCount must be JSON/],
    ['an invalid value', ['viewsCount=-1'], 2, /^viewsCount must be a whole number/],
    ['the name of another profile', ['username=BOB'], 1, /^The name "BOB" is held by profile 8/],
  ];
  /** The same checks of other fields. */
  const alike: typeof refused = [
    ['a change of the id', ['id=9'], 2, /^id can't be set/],
    [
      'an unknown field of a badge',
      ['badges=[{"name":"x","enabled":true,"colour":1}]'],
      2,
      /^There is no field badges.colour/,
    ],
  ];
  // Refused commands change nothing, so all of them can use the same database.
  const unchanged = world().then(async ({ deps, run }) => ({ deps, run, before: await exportText(deps) }));
  for (const [what, words, code, sentence] of [...refused, ...drawHalf(alike, chance)]) {
    test(`refuses ${what}, and does not change the other field either (exit code ${code})`, async () => {
      const { deps, run, before } = await unchanged;
      const done = await run(['set', 'ada', 'displayName=New', ...words]);
      expect(done.stderr).toMatch(sentence);
      expect({ code: done.code, stdout: done.stdout }).toEqual({ code, stdout: '' });
      expect(await exportText(deps)).toBe(before);
    });
  }

  test('refuses an unknown profile (exit code 1), and a command without fields (exit code 2)', async () => {
    const { run } = await world();
    expect(await run(['set', 'nobody', 'viewsCount=1'])).toMatchObject({ code: 1, stdout: '' });
    expect((await run(['set', 'ada'])).code).toBe(2);
  });
});

describe('profiles rename and alias', () => {
  test('rename frees the old name, or with --keep-alias keeps it as the first alias', async () => {
    const { run, change, faults } = await world();
    expect(await change(['rename', 'ada', 'Augusta'])).toMatchObject({
      username: 'Augusta',
      aliases: ['lovelace', 'countess'],
    });
    expect((await run(['show', 'ada'])).code).toBe(1);
    expect(await change(['rename', 'bob', 'ada', '--keep-alias'])).toMatchObject({ username: 'ada', aliases: ['bob'] });
    expect(faults()).toEqual([]);
  });

  test('an alias can become the username, and the case of a username can change', async () => {
    const { change, faults } = await world();
    const renamed = await change(['rename', 'ada', 'Countess', '--keep-alias']);
    expect(renamed).toMatchObject({ username: 'Countess', aliases: ['Ada', 'lovelace'] });
    const respelled = await change(['rename', 'countess', 'COUNTESS', '--keep-alias']);
    expect(respelled).toMatchObject({ username: 'COUNTESS', aliases: ['Ada', 'lovelace'] });
    expect(faults()).toEqual([]);
  });

  test('a name of another profile, or an invalid one, is refused', async () => {
    const { run } = await world();
    const taken = await run(['rename', 'bob', 'Lovelace']);
    expect(taken).toMatchObject({ code: 1, stderr: 'The name "Lovelace" is held by profile 7.\n' });
    expect(await run(['rename', 'bob', 'a/b'])).toMatchObject({
      code: 2,
      stderr: 'username may not contain a slash.\n',
    });
  });

  test('a new alias comes last, and an alias is removed in any letter case', async () => {
    const { run, change, faults } = await world();
    expect((await change(['alias', 'add', 'ada', 'Augusta'])).aliases).toEqual(['lovelace', 'countess', 'Augusta']);
    expect((await change(['alias', 'remove', 'ada', 'LOVELACE'])).aliases).toEqual(['countess', 'Augusta']);
    expect((await run(['alias', 'add', 'ada', 'COUNTESS'])).code).toBe(2);
    expect((await run(['alias', 'add', 'ada', 'BOB'])).stderr).toBe('The name "BOB" is held by profile 8.\n');
    expect((await run(['alias', 'remove', 'ada', 'lovelace'])).stderr).toBe('Ada has no such alias.\n');
    expect((await run(['alias', 'remove', 'ada', 'ADA'])).stderr).toContain('the username itself');
    expect(faults()).toEqual([]);
  });
});

test('profiles ban and unban change only "banned", and can be repeated', async () => {
  const { change } = await world();
  expect(await change(['ban', 'ada'])).toMatchObject({ banned: true, email: 'ada@example.org' });
  expect(await change(['ban', 'ada'])).toMatchObject({ banned: true });
  expect(await change(['unban', 'lovelace'])).toMatchObject({ banned: false });
});

describe('profiles links set', () => {
  const LINKS = [
    { id: 'b', name: 'site', link: 'https://b.example.org', clicksCount: 2 },
    { id: 'a', name: 'code', link: 'https://a.example.org', title: 'Code' },
  ];

  test('replaces all links, in their order, from a file or stdin', async () => {
    const { deps, change, faults } = await world();
    const file = join(deps.folder, 'links.json');
    writeFileSync(file, JSON.stringify(LINKS, null, 2));
    expect((await change(['links', 'set', 'ada', file])).links).toEqual(LINKS);
    expect((await change(['links', 'set', 'ada', '-'], JSON.stringify(LINKS.toReversed()))).links).toEqual(
      LINKS.toReversed(),
    );
    expect((await change(['links', 'set', 'ada', '-'], '[]')).links).toEqual([]);
    expect(faults()).toEqual([]);
  });

  test('refuses anything but a list of valid links, and a missing file', async () => {
    const { run } = await world();
    const texts = ['', '{}', '[', '[1]', '[{"id":"a"}]', '[{"id":"a","name":"b","link":"c","colour":"red"}]'];
    for (const text of drawHalf(texts, chance)) {
      expect(await run(['links', 'set', 'ada', '-'], text)).toMatchObject({ code: 2, stdout: '' });
    }
    expect((await run(['links', 'set', 'ada', '/none.json'])).stderr).toBe('There is no file /none.json.\n');
    const huge = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ ...LINKS[0], id: `${index}` })));
    expect(await run(['links', 'set', 'ada', '-'], huge)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('1 MiB'),
    });
  });
});
