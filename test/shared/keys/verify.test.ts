import { expect, spyOn, test } from 'bun:test';
import { openDatabase } from '../../../shared/db/open.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { revokeKey } from '../../../shared/keys/lifecycle.ts';
import { readKey } from '../../../shared/keys/record.ts';
import { newSecret } from '../../../shared/keys/secret.ts';
import { prepareVerifier } from '../../../shared/keys/verify.ts';
import { keyHistory } from '../../../shared/keys/view.ts';
import { systemRandom } from '../../../shared/random.ts';
import { onBox } from '../../support/actors.ts';
import { importLines } from '../../support/import.ts';
import { issue } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/reading.ts';
import { testClock, testDeps } from '../../support/world.ts';

async function world(expiresInMs?: number) {
  const clock = testClock();
  const deps = { ...testDeps(), clock };
  insertProfile(deps.db);
  const grant = { rateLimits: [{ quota: 5, windowSeconds: 60 }] };
  const expiry = expiresInMs === undefined ? {} : { expiresAtMs: clock.nowMs() + expiresInMs };
  const { secret, identifier } = await issue(deps, {}, { ...grant, ...expiry });
  return { clock, deps, secret, identifier, ...readingOf(deps) };
}

test('an Active key is known by its secret, with what it was granted', async () => {
  const { verify, secret, identifier } = await world();
  expect(verify(secret)).toEqual({
    identifier,
    name: 'Bot',
    permissions: ['api.lookup'],
    rateLimits: [{ quota: 5, windowSeconds: 60 }],
    expiresAt: null,
  });
});

test('any other text is nobody’s', async () => {
  const { verify, secret, identifier } = await world();
  const others = [
    '',
    'plk_',
    identifier,
    `${secret} `,
    secret.toLowerCase(),
    secret.slice(1),
    `${secret}\n`,
    newSecret(identifier, systemRandom),
  ];
  for (const text of others) expect(verify(text)).toBeNull();
});

test('a mistyped secret does not touch the database', async () => {
  const { clock, deps, reader, secret } = await world();
  const verify = prepareVerifier(reader, deps.db, clock);
  expect(verify(`${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`)).toBeNull();
  expect(reader.reads).toBe(0);
  expect(verify(secret)).not.toBeNull();
  expect(reader.reads).toBe(1);
});

test('a revocation by another process works from its commit on', async () => {
  const { deps, verify, secret, identifier } = await world();
  expect(verify(secret)).not.toBeNull();
  const other = { ...deps, db: withTables(openDatabase(deps.config.databasePath, 'use')) };
  await revokeKey(other, { identifier, reason: 'Leaked.', by: onBox('admin') });
  expect(verify(secret)).toBeNull();
  other.db.$client.close();
});

test('amid an import’s commits a key is what it was, and what changes it holds from its commit on, by hand too', async () => {
  const { deps, verify, secret, identifier } = await world();
  const other = { ...deps, db: withTables(openDatabase(deps.config.databasePath, 'use')) };
  const batch = (id: number) => importLines(other, [{ id, username: `name${id}` }]);
  const before = verify(secret);
  await batch(100);
  expect(verify(secret)).toBe(before);
  await batch(101);
  other.db.$client.run("UPDATE api_keys SET name = 'By hand' WHERE identifier = ?", [identifier]);
  await batch(102);
  expect(verify(secret)?.name).toBe('By hand');
  other.db.$client.run('UPDATE api_keys SET rate_limits = json(\'[{"quota":6,"windowSeconds":60}]\')');
  await batch(103);
  expect(verify(secret)?.rateLimits).toEqual([{ quota: 6, windowSeconds: 60 }]);
  await batch(104);
  await revokeKey(other, { identifier, reason: 'Leaked.', by: onBox('admin') });
  await batch(105);
  expect(verify(secret)).toBeNull();
  other.db.$client.close();
});

test('an expired key is refused from that millisecond on, and who notices stores the move, once', async () => {
  const { clock, deps, verify, secret, identifier } = await world(10_000);
  clock.advance(9_999);
  expect(verify(secret)?.expiresAt).toBe(clock.nowMs() + 1);
  expect(readKey(deps.db, identifier).state).toBe('Active');
  clock.advance(1);
  expect(verify(secret)).toBeNull();
  expect(readKey(deps.db, identifier)).toMatchObject({ state: 'expired', secretHash: null });
  expect(verify(secret)).toBeNull();
  expect(keyHistory(deps, identifier).filter(({ event }) => event === 'expired')).toMatchObject([{ by: 'system' }]);
});

test('while the database is locked an expired key is refused all the same; to store it is tried once, without a wait', async () => {
  const { clock, deps, verify, secret, identifier } = await world(1_000);
  const other = openDatabase(deps.config.databasePath, 'use');
  other.$client.run('BEGIN IMMEDIATE');
  clock.advance(1_000);
  const sqlite = deps.db.$client;
  const transaction = sqlite.transaction.bind(sqlite);
  const waits: unknown[] = [];
  const tries = spyOn(sqlite, 'transaction').mockImplementation((act) => {
    waits.push(sqlite.query('PRAGMA busy_timeout').get());
    return transaction(act);
  });
  for (let turn = 0; turn < 100; turn++) expect(verify(secret)).toBeNull();
  expect(waits).toEqual([{ timeout: 0 }]);
  tries.mockRestore();
  other.$client.run('ROLLBACK');
  other.$client.close();
  expect(readKey(deps.db, identifier).state).toBe('Active');
  clock.advance(10_000);
  expect(verify(secret)).toBeNull();
  expect(readKey(deps.db, identifier).state).toBe('expired');
});
