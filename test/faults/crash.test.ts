import { expect, test } from 'bun:test';
import { get } from '../support/http.ts';
import { remainingInFile } from '../support/quota-file.ts';
import { keyFor } from '../support/requests.ts';
import { startServerProcess } from '../support/server-process.ts';
import { testDeps } from '../support/world.ts';

const CREWS = [
  ['1', '1'],
  ['2', '1'],
  ['1', '2'],
] as const;

test.each(CREWS)(
  'a server that is killed forgets at most the last second of what was used, with %s workers and then %s',
  async (before, after) => {
    const deps = testDeps();
    const { secret, identifier } = await keyFor(deps, ['10/1d']);
    const variables = { DATABASE_PATH: deps.config.databasePath };
    const first = await startServerProcess({ ...variables, WORKERS: before });
    for (let turn = 0; turn < 7; turn++) await get(first, '/api/lookup/uid/1', secret);

    const limit = { quota: 10, windowSeconds: 86_400 };
    const usedAt = performance.now();
    while (remainingInFile(deps.config.databasePath, identifier, limit) !== 3) {
      await Bun.sleep(10);
      expect(performance.now() - usedAt).toBeLessThan(10_000);
    }
    await first.end('SIGKILL');

    const second = await startServerProcess({ ...variables, WORKERS: after });
    expect((await get(second, '/api/key', secret)).headers.get('ratelimit')).toStartWith('"1d";r=3;t=');
    expect(await second.end('SIGTERM')).toBe(0);
  },
  60_000,
);
