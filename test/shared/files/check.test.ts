import { expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../../../shared/clock.ts';
import { configWarnings } from '../../../shared/config/check.ts';
import { KEY_STATES } from '../../../shared/db/schema.ts';
import { checkDatabase } from '../../../shared/files/copy.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { readStatus } from '../../../shared/files/status.ts';
import { issue, keyIn } from '../../support/keys.ts';
import { testCertificate } from '../../support/network.ts';
import { eraseProfile, importLines, insertProfile } from '../../support/profiles.ts';
import { onBox, tempFolder, testClock, testDeps } from '../../support/world.ts';

/** A database with all kinds of rows, and its one Active key. */
async function world() {
  const deps = testDeps({ clock: testClock() });
  await importLines(deps, [
    {
      id: 1,
      username: 'Ada',
      aliases: ['lovelace'],
      email: 'ada@example.org',
      badges: [{ name: 'early', enabled: true }],
    },
    { id: 2, username: 'bob', links: [{ id: 'l', name: 'n', link: 'https://example.org' }] },
  ]);
  const { identifier } = await issue(deps, { profile: 'Ada' });
  const sqlite = deps.db.$client;
  /** Makes changes that the constraints of the schema forbid. */
  const force = (...statements: string[]) => {
    sqlite.run('PRAGMA ignore_check_constraints = ON');
    sqlite.run('PRAGMA foreign_keys = OFF');
    for (const statement of statements) sqlite.run(statement);
    sqlite.run('PRAGMA ignore_check_constraints = OFF');
    sqlite.run('PRAGMA foreign_keys = ON');
  };
  return { deps, sqlite, identifier, force, faults: () => checkDatabase(deps.db).faults };
}

test('a database in normal use, with keys in every state and an erased profile, has no faults', async () => {
  const { deps, faults } = await world();
  for (const [index, state] of KEY_STATES.entries()) {
    insertProfile(deps.db, { id: 10 + index });
    await keyIn(state, { ...deps, clock: testClock() }, `user${10 + index}`);
  }
  eraseProfile(deps, 'Ada', onBox('operator'));
  expect(faults()).toEqual([]);
});

test.each([
  [
    'a violated check',
    "UPDATE profiles SET profile = json_set(profile, '$.banned', 7) WHERE id = 2",
    /CHECK constraint failed in profiles/,
  ],
  [
    'a dangling reference',
    'UPDATE profile_names SET profile_id = 99 WHERE profile_id = 2',
    /a row of profile_names refers to a missing row/,
  ],
  ['an approved key without a secret', 'UPDATE api_keys SET secret_hash = NULL', /CHECK constraint failed in api_keys/],
])('%s is reported without private data', async (_what, statement, sentence) => {
  const { force, faults } = await world();
  force(statement);
  const found = faults();
  expect(found.some((fault) => sentence.test(fault)) ? 'found' : found).toBe('found');
  expect(found.join()).not.toMatch(/ada@|lovelace/);
});

test('overwritten pages are reported as faults, without an exception', async () => {
  const path = join(tempFolder(), 'profiles.db');
  const deps = { ...testDeps(), db: openDatabase(path, 'serve') };
  const many = Array.from({ length: 200 }, (_, index) => ({
    id: index + 1,
    username: `user${index}`,
    customize: { x: 'y'.repeat(500) },
  }));
  await importLines(deps, many);
  deps.db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
  deps.db.$client.close();
  const bytes = readFileSync(path);
  bytes.fill(0xa5, bytes.length - 40_000, bytes.length - 20_000);
  writeFileSync(path, bytes);
  const db = openDatabase(path, 'look');
  const { faults } = checkDatabase(db);
  db.$client.close();
  expect(faults.length).toBeGreaterThan(0);
});

test('the server and status warn about a certificate from 14 days before it expires', () => {
  const { certFile, keyFile, cert } = testCertificate();
  const endMs = Date.parse(new X509Certificate(cert).validTo);
  const clock = testClock(endMs - 14 * DAY_MS);
  const deps = testDeps({ clock, variables: { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } });
  const warnings = () =>
    [configWarnings(deps.config, clock.nowMs()), readStatus(deps).warnings].map((all) =>
      all.filter((text) => text.includes('certificate')),
    );
  expect(warnings()).toEqual([[], []]);
  for (const [ms, when] of [
    [1, 'expires in 13 days'],
    [14 * DAY_MS, 'has expired'],
  ] as const) {
    clock.advance(ms);
    const sentence = `The certificate in ${certFile} ${when}.`;
    expect(warnings()).toEqual([[sentence], [sentence]]);
  }
});
