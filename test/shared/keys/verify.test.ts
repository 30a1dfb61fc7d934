import { expect, test } from 'bun:test';
import { openDatabase } from '../../../shared/files/open.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { newSecret } from '../../../shared/keys/secret.ts';
import { prepareVerifier } from '../../../shared/keys/verify.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { systemRandom } from '../../../shared/random.ts';
import { issue } from '../../support/keys.ts';
import { importLines, insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/storage.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';

async function world(expiresInMs?: number) {
  const clock = testClock();
  const deps = { ...testDeps(), clock };
  insertProfile(deps.db);
  const grant = { rateLimits: [{ quota: 5, windowSeconds: 60 }] };
  const expiry = expiresInMs === undefined ? {} : { expiresAtMs: clock.nowMs() + expiresInMs };
  const { secret, identifier } = await issue(deps, {}, { ...grant, ...expiry });
  return { clock, deps, secret, identifier, ...readingOf(deps) };
}

test('an Active key is found by its secret, with its grant', async () => {
  const { verify, secret, identifier } = await world();
  expect(verify(secret)).toEqual({
    identifier,
    name: 'Bot',
    permissions: ['api.lookup'],
    rateLimits: [{ quota: 5, windowSeconds: 60 }],
    expiresAt: null,
  });
});

test('no other text finds a key', async () => {
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

test('a mistyped secret is refused without reading the database', async () => {
  const { clock, reader, secret } = await world();
  const verify = prepareVerifier(reader, clock);
  expect(verify(`${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`)).toBeNull();
  expect(reader.isOpen).toBe(false);
  expect(verify(secret)).not.toBeNull();
  expect(reader.isOpen).toBe(true);
});

test('a revocation by another process takes effect with its commit', async () => {
  const { deps, verify, secret, identifier } = await world();
  expect(verify(secret)).not.toBeNull();
  const other = { ...deps, db: openDatabase(deps.config.databasePath, 'use') };
  await moveAndNotify(other, 'revoke', { identifier, reason: 'Leaked.', by: onBox('admin') });
  expect(verify(secret)).toBeNull();
  other.db.$client.close();
});

test('commits of an import do not change a key; any change of it, also by SQL, takes effect with its commit', async () => {
  const { deps, verify, secret, identifier } = await world();
  const other = { ...deps, db: openDatabase(deps.config.databasePath, 'use') };
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
  await moveAndNotify(other, 'revoke', { identifier, reason: 'Leaked.', by: onBox('admin') });
  await batch(105);
  expect(verify(secret)).toBeNull();
  other.db.$client.close();
});

test('a key is refused from the millisecond of its expiry on, even while another process holds the lock', async () => {
  const { clock, deps, verify, secret, identifier } = await world(10_000);
  const other = openDatabase(deps.config.databasePath, 'use');
  other.$client.run('BEGIN IMMEDIATE');
  clock.advance(9_999);
  expect(verify(secret)?.expiresAt).toBe(clock.nowMs() + 1);
  clock.advance(1);
  for (let turn = 0; turn < 100; turn++) expect(verify(secret)).toBeNull();
  expect(showKey(deps, identifier).state).toBe('expired');
  other.$client.run('ROLLBACK');
  other.$client.close();
});
