import { expect, test } from 'bun:test';
import { systemClock } from '../../../shared/clock.ts';
import type { KeyChanges } from '../../../shared/db/schema.ts';
import { changeKey } from '../../../shared/keys/life.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { formatRateLimit, parseRateLimits } from '../../../shared/limits/rate-limit.ts';
import { profilectl } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { issue, keyFor } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { insertProfile } from '../../support/profiles.ts';
import { leftIn } from '../../support/storage.ts';
import { eventually, onBox, testDeps } from '../../support/world.ts';

// Changes of Active keys by real processes: made at the same time, and applied by a server that counts requests.

test('simultaneous changes build on each other, or are refused because they were confirmed for an older version of the key', async () => {
  const deps = testDeps();
  insertProfile(deps.db);
  const { identifier } = await issue(deps, {}, { rateLimits: parseRateLimits(['60/1m']) });
  const variables = { DATABASE_PATH: deps.config.databasePath, MAIL_URL: `file:${deps.folder}/mail` };
  const limits = ['7/1h', '8/1h', '9/1h'];
  const runs = await Promise.all(
    limits.map((limit) => profilectl(['keys', 'change', identifier, '--rate-limit', limit], { variables })),
  );
  for (const { code } of runs) expect([0, 1]).toContain(code);
  // Each change continues from the one before, the last one to the current key.
  let standing = '60/1m';
  const found: string[] = [];
  for (const { event, detail } of keyHistory(deps, identifier)) {
    if (event !== 'changed') continue;
    const { from = [], to = [] } = (detail?.changes as KeyChanges | undefined)?.rateLimits ?? {};
    expect(from.map(formatRateLimit).join()).toBe(standing);
    standing = to.map(formatRateLimit).join();
    found.push(standing);
  }
  expect(showKey(deps, identifier).rateLimits.map(formatRateLimit)).toEqual([standing]);
  expect(found.toSorted()).toEqual(limits.filter((_, at) => runs[at]?.code === 0));
  expect(found.length).toBeGreaterThan(0);
}, 60_000);

/** A change applies on a server at most this long after its commit. */
const TAKES_EFFECT_MS = 10;

test('a running server applies a changed limit exactly from 10 ms after the commit, also after a restart and a crash', async () => {
  const deps = testDeps();
  const { secret, identifier } = await keyFor(deps, ['30/1h']);
  const start = () => startServerProcess({ DATABASE_PATH: deps.config.databasePath });
  let server = await start();
  /** Looks up many profiles at once. Returns whether that was admitted. */
  const isAdmitted = async (count: number) => {
    const query = Array.from({ length: count }, (_, at) => `uid=${at + 1}`).join('&');
    const { status } = await get(server, `/api/lookup?${query}`, secret);
    expect([200, 429]).toContain(status);
    return status === 200;
  };
  /** Changes the limits, of which this much is then left. */
  const change = async (room: number, ...limits: string[]) => {
    await changeKey(deps, { identifier, change: { rateLimits: parseRateLimits(limits) }, by: onBox('admin') });
    await Bun.sleep(TAKES_EFFECT_MS);
    let spent = 0;
    for (const step of [100, 10, 1]) while (spent + step <= room && (await isAdmitted(step))) spent += step;
    expect([spent, await isAdmitted(1)]).toEqual([room, false]);
  };
  for (let at = 0; at < 20; at++) expect(await isAdmitted(1)).toBe(true);
  await change(5, '25/1h');
  await change(0, '10/1h');
  await change(1, '26/1h');
  await change(974, '1000/1h');
  await change(0, '500/1h');
  // A limit for another window starts empty.
  await change(40, '1100/1h', '40/1d');
  expect(await server.end('SIGTERM')).toBe(0);
  server = await start();
  await change(10, '1100/1h', '50/1d');
  const key = { identifier, rateLimits: [{ quota: 1_100, windowSeconds: 3_600 }] };
  await eventually(() => leftIn(deps.db.$client, key, systemClock)[0] === 50);
  await server.end('SIGKILL');
  server = await start();
  await change(0, '1010/1h', '100/1d');
  await change(10, '1060/1h', '100/1d');
  expect(await server.end()).toBe(0);
}, 60_000);
